/** Stuck turns as the answers show them. */
import type { z } from 'zod';
import type { Services } from '../app/services.ts';
import { countStuck, listStuck } from '../db/queries/list-stuck.ts';
import { explainStuck, stuckLimits } from '../runtime/stuck-reasons.ts';
import type { ApiContext } from './contract.ts';
import type { stuckTurn } from './schemas.ts';

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
    ...explainStuck(row),
    stuck_seconds: Math.max(0, row.sinceSeconds),
  }));
}

export function countStuckTurns(upkeepPool: Services['pool'], leaseMs: number): Promise<number> {
  return countStuck(upkeepPool, { ...stuckLimits(leaseMs), limit: Number.MAX_SAFE_INTEGER });
}
