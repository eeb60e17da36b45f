/** Brings a parked or stuck turn back. What moves by itself is left alone. */

import type { TurnRow } from '../db/queries/find-turn.ts';
import { listStuck } from '../db/queries/list-stuck.ts';
import { redispatchTurn, unpark } from '../db/queries/redispatch-turn.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import { MACHINES } from '../machines/registry.ts';
import { startTurn } from '../runtime/close.ts';
import { CommitBuilder } from '../runtime/commit-builder.ts';
import { findMachine, restore } from '../runtime/snapshot.ts';
import type { ApiContext } from './contract.ts';
import { stuckLimits } from './stuck.ts';

/** @throws TurnwrightError `turn_closed`, `turn_not_stuck`, or `turn_parked` when it cannot be moved here. */
export async function retryTurn({ services }: ApiContext, tenant: string, row: TurnRow): Promise<void> {
  const ref = { tenant, session: row.session, actor: row.turn };
  if (row.status === 'closed')
    throw new TurnwrightError('turn_closed', `Turn ${row.turn} has ended. Send its input as a new turn.`);
  if (row.actor.status === 'parked') {
    refuseUnreadable(row);
    if (!(await unpark(services.pool, ref, row.actor.revision))) throw moving(row.turn);
  } else {
    const limits = stuckLimits(services.config.leaseMs);
    const stuck = await listStuck(services.pool, tenant, { ...limits, limit: Number.MAX_SAFE_INTEGER });
    const found = stuck.find((each) => each.turn === row.turn);
    if (found === undefined) throw moving(row.turn);
    if (found.cause === 'not_started') await start(services, ref);
    else if ((await redispatchTurn(services.pool, ref)) === 0) throw immovable(row.turn);
  }
  // With room it goes to the queue now; without, and when the queue is away, the sweep hands it over.
  await services.engine.admission.refresh().catch((error: unknown) => {
    services.logger.warn({ err: error }, 'a retried turn waits for the sweep');
  });
}

function refuseUnreadable(row: TurnRow): void {
  const { machine, version, snapshot } = row.actor;
  const known = findMachine(MACHINES, machine, version);
  try {
    if (known !== null) {
      restore(known, { machine, version, snapshot });
      return;
    }
  } catch (error) {
    if (!(error instanceof TurnwrightError)) throw error;
  }
  throw new TurnwrightError(
    'turn_parked',
    `Turn ${row.turn} stays parked: this version cannot read its snapshot of ${machine} version ${version}. Retry it with one that can.`,
  );
}

/** Starts an accepted turn whose head is free. A race with anybody else who starts it is lost harmlessly. */
async function start(
  services: ApiContext['services'],
  ref: { readonly tenant: string; readonly session: string; readonly actor: string },
): Promise<void> {
  const { engine } = services;
  const loaded = await engine.store.load(ref);
  if (loaded?.turn?.status !== 'accepted') throw moving(ref.actor);
  const builder = new CommitBuilder(loaded.session);
  const { head, priority } = loaded.turn;
  builder.lists.heads.push({ head, openTurn: ref.actor });
  startTurn(builder, engine.hopContext(), loaded.actor, {
    actor: ref.actor,
    turn: ref.actor,
    head,
    priority,
  });
  if ((await engine.commit(builder.build())) !== 'applied') throw moving(ref.actor);
}

function moving(turn: string): TurnwrightError {
  return new TurnwrightError(
    'turn_not_stuck',
    `Turn ${turn} is moving, or was brought back a moment ago. GET /v1/turns/${turn} shows where it stands.`,
  );
}

function immovable(turn: string): TurnwrightError {
  return new TurnwrightError(
    'turn_not_stuck',
    `Turn ${turn} has nothing that could be handed over again. Cancel it and send its input as a new turn.`,
  );
}
