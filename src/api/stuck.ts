/** Why a turn is stuck, and what to do, in words. */
import type { z } from 'zod';
import type { Services } from '../app/services.ts';
import { countStuck, listStuck, type StuckLimits, type StuckRow } from '../db/queries/list-stuck.ts';
import type { ApiContext } from './contract.ts';
import type { stuckTurn } from './schemas.ts';

/** The sweep takes a dead worker's call up within one lease; after two, nobody sweeps. */
const LEASES_UNTIL_GONE = 2;
/** With room, a row is taken up in milliseconds; so many leases allow for a queue that is full. */
const LEASES_UNTIL_UNCLAIMED = 10;
const LISTED = 200;

export function stuckLimits(leaseMs: number): StuckLimits {
  return {
    goneMs: leaseMs * LEASES_UNTIL_GONE,
    unclaimedMs: leaseMs * LEASES_UNTIL_UNCLAIMED,
    limit: LISTED,
  };
}

export async function stuckTurns(
  { services }: Pick<ApiContext, 'services'>,
  tenant: string,
): Promise<readonly z.infer<typeof stuckTurn>[]> {
  const rows = await listStuck(services.pool, tenant, stuckLimits(services.config.leaseMs));
  return rows.map((row) => ({
    id: row.turn,
    session: row.session,
    number: row.number,
    cause: row.cause,
    ...explain(row),
    stuck_seconds: Math.max(0, row.sinceSeconds),
  }));
}

export function countStuckTurns(upkeepPool: Services['pool'], leaseMs: number): Promise<number> {
  return countStuck(upkeepPool, { ...stuckLimits(leaseMs), limit: Number.MAX_SAFE_INTEGER });
}

export function explain(row: Omit<StuckRow, 'tenant'>): { readonly reason: string; readonly action: string } {
  const retry = `POST /v1/turns/${row.turn}/retry`;
  const of = `${row.machine} version ${row.version}`;
  switch (row.cause) {
    case 'parked':
      return {
        reason: `It was parked: ${row.parkedReason ?? 'no reason was kept'}`,
        action: `Run a version that can read ${of}, then ${retry}.`,
      };
    case 'worker_gone':
      return {
        reason: `The worker that ran ${row.child ?? 'its call'} is gone and no other took it over.`,
        action: `Start a worker: it takes over by itself. Or ${retry}.`,
      };
    case 'unclaimed':
      return row.slots === 0
        ? {
            reason: `${row.child ?? 'A job'} waits for the pool ${row.pool ?? ''}, which no live worker serves.`,
            action: `Start a worker with --pools ${row.pool ?? ''}.`,
          }
        : {
            reason: `${row.child ?? 'A job'} waits for the pool ${row.pool ?? ''}; its ${row.slots} slots have not taken it.`,
            action: `Raise the concurrency of ${row.pool ?? ''}, or ${retry} if the pool is idle.`,
          };
    case 'event_pending':
      return {
        reason: `The event ${row.child ?? ''} waits for a worker that knows ${of}.`,
        action: `Run a worker of a version that knows ${of} on the pool turn.`,
      };
    case 'not_started':
      return {
        reason: 'Its head is free and nothing started it.',
        action: `${retry}, or cancel it.`,
      };
    case 'nothing_pending':
      return {
        reason: 'No call, job, timer or event of it is open; only its deadline would end it.',
        action: `${retry}, or cancel it.`,
      };
  }
}
