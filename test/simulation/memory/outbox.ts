/** Rows that say what the queue is to be given. One lives from the commit that asks until the claim that takes it. */
import type { ActorRef, HandOver } from '../../../src/db/contract.ts';
import { DRAIN_CHILD } from '../../../src/ledger/ids.ts';
import type { ActorRow, OutboxRow, Tables } from './rows.ts';

export type Call = ActorRef & { readonly child: string };

export function handOut(tables: Tables, row: Omit<OutboxRow, 'position'>): void {
  const { tenant, session, actor, child, dispatch, pool, priority, dueMs, admittedMs } = row;
  const position = tables.nextSerial();
  tables.outbox.insert({
    tenant,
    session,
    actor,
    child,
    dispatch,
    pool,
    priority,
    position,
    dueMs,
    admittedMs,
  });
}

/** Asks for a drain of the actor's pending events; returns its dispatch. */
export function wake(
  tables: Tables,
  actor: ActorRow,
  times: Pick<OutboxRow, 'dueMs' | 'admittedMs'>,
): number {
  const dispatch = actor.drains + 1;
  tables.actors.put({ ...actor, drains: dispatch });
  handOut(tables, { ...actor, ...times, child: DRAIN_CHILD, dispatch, pool: 'turn', priority: 0 });
  return dispatch;
}

/** Gives a row whose job the queue will not take again the next dispatch; null when the row moved on. */
export function redispatch(tables: Tables, row: HandOver, nowMs: number): number | null {
  if (!tables.outbox.remove(row)) return null;
  const times = { dueMs: nowMs, admittedMs: nowMs };
  if (row.child === DRAIN_CHILD) {
    const actor = tables.actors.get(row);
    if (actor === undefined) return null;
    return wake(tables, { ...actor, drains: Math.max(actor.drains, row.dispatch) }, times);
  }
  const call = tables.calls.get(row);
  if (call?.dispatch !== row.dispatch || call.status !== 'queued') return null;
  const next = { ...call, dispatch: call.dispatch + 1 };
  tables.calls.put(next);
  handOut(tables, { ...next, ...times });
  return next.dispatch;
}

/** Drops what was handed out for a call up to a dispatch. */
export function dropHandOuts(tables: Tables, call: Call, upTo = Number.POSITIVE_INFINITY): void {
  for (const row of tables.outbox.of(call))
    if (row.actor === call.actor && row.child === call.child && row.dispatch <= upTo)
      tables.outbox.remove(row);
}

export function handOverOf(row: OutboxRow): HandOver {
  const { tenant, session, actor, child, dispatch, priority } = row;
  return { tenant, session, actor, child, dispatch, priority };
}
