/** Puts projections that were made of the records in the place of those that stand (drizzle/0007_rebuild.sql). */
import type { Restoration, SessionRef } from '../../../src/db/contract.ts';
import { DRAIN_CHILD } from '../../../src/ledger/ids.ts';
import { handOut } from './outbox.ts';
import type { Tables } from './rows.ts';

/** Numbers of rows that were lost count from here: seconds, so above every number such a row gave out. */
const NUMBERS_SINCE_MS = 1_700_000_000_000;

/** False when the ledger grew since `restoration` was made of it. */
export function restore(tables: Tables, restoration: Restoration, nowMs: number): boolean {
  const { tenant, session, row } = restoration;
  const ref = { tenant, session };
  const lastSeq = Math.max(0, ...tables.records.of(ref).map(({ seq }) => seq));
  if (lastSeq + 1 !== row.nextSeq) return false;
  const watchedUntilMs = tables.sessions.get(ref)?.watchedUntilMs ?? null;
  tables.sessions.put({ ...row, ...ref, watchedUntilMs });
  tables.heads.replace(ref, restoration.heads);
  tables.turns.replace(ref, restoration.turns);
  tables.keys.replace(ref, restoration.keys);
  tables.evidence.replace(ref, restoration.evidence);
  tables.packets.replace(ref, restoration.packets);
  tables.evictions.replace(ref, restoration.evictions);
  tables.segments.replace(ref, restoration.segments);
  tables.edges.replace(ref, restoration.edges);
  tables.presentations.replace(ref, restoration.presentations);
  tables.prefixes.replace(ref, restoration.prefixes);
  tables.vectors.replace(ref, restoration.vectors);
  tables.usage.replace(ref, restoration.usage);
  for (const actor of restoration.actors) {
    const drains = tables.actors.get({ ...ref, ...actor })?.drains ?? 0;
    tables.actors.put({ ...actor, ...ref, parkedReason: null, drains });
  }
  restoreCalls(tables, restoration, ref, nowMs);
  for (const timer of restoration.surplusTimers) tables.timers.remove({ ...ref, ...timer });
  for (const { dueInMs, ...timer } of restoration.timers)
    tables.timers.put({ ...timer, ...ref, dueMs: nowMs + dueInMs });
  restoreHandOvers(tables, ref, nowMs);
  return true;
}

function restoreCalls(
  tables: Tables,
  { calls, surplusCalls }: Restoration,
  ref: SessionRef,
  nowMs: number,
): void {
  for (const name of surplusCalls) {
    const call = tables.calls.get({ ...ref, ...name });
    if (call !== undefined) tables.calls.put({ ...call, status: 'cancelled', worker: null });
  }
  const number = Math.ceil((nowMs - NUMBERS_SINCE_MS) / 1_000);
  for (const made of calls) {
    const { src, pool, input } = made;
    // Whether a tool whose row is gone was let loose is not known: it counts as started.
    const queued = { src, pool, input, status: 'queued', worker: null, started: src === 'tool' } as const;
    const known = tables.calls.get({ ...ref, ...made });
    if (known === undefined)
      tables.calls.put({
        ...made,
        ...ref,
        ...queued,
        fence: number,
        dispatch: number,
        lastError: null,
        claimedMs: null,
        deaths: 0,
        token: 0,
      });
    else {
      const dispatch = Math.max(known.dispatch + 1, number);
      tables.calls.put({ ...known, ...queued, fence: Math.max(known.fence, number), dispatch });
    }
  }
}

/** A queued call has its one hand-over, and nothing but a drain has any beside it. */
function restoreHandOvers(tables: Tables, ref: SessionRef, nowMs: number): void {
  for (const row of tables.outbox.of(ref)) {
    const call = tables.calls.get(row);
    if (row.child !== DRAIN_CHILD && (call?.status !== 'queued' || call.dispatch !== row.dispatch))
      tables.outbox.remove(row);
  }
  for (const call of tables.calls.of(ref)) {
    if (call.status === 'queued' && tables.outbox.get(call) === undefined)
      handOut(tables, { ...call, dueMs: nowMs, admittedMs: null });
  }
}
