/** What the sweep brings back, duty by duty in the order of `turnwright.sweep` (drizzle/0003_upkeep.sql). */
import type { ActorRef, SweepResult, UnclaimedRow } from '../../../src/db/contract.ts';
import { DRAIN_CHILD } from '../../../src/ledger/ids.ts';
import { receive } from './events.ts';
import { isUnfolded } from './fold.ts';
import { handOut, handOverOf, wake } from './outbox.ts';
import type { CallRow, EventRow, Tables } from './rows.ts';

/** Timers fired, and unclaimed rows told, by one sweep. */
const BATCH = 500;
/** A worker is remembered for so many leases after its last beat, and as long as a call names it. */
const FORGET_AFTER_LEASES = 10;

export function sweep(
  tables: Tables,
  { leaseMs, readmitMs }: { readonly leaseMs: number; readonly readmitMs: number },
  nowMs: number,
): SweepResult {
  const taken = takeOver(tables, leaseMs, nowMs);
  const fired = fireTimers(tables, nowMs);
  cancelChildren(tables, nowMs);
  const drains = wakeForgotten(tables, nowMs);
  markLateEvents(tables);
  forgetWorkers(tables, leaseMs, nowMs);
  const unfolded = tables.actors.all().some(isUnfolded);
  return { taken, fired, drains, unfolded, unclaimed: unclaimedRows(tables, readmitMs, nowMs) };
}

/** Hands out again what a worker claimed a lease ago and does not run. Returns what it keeps. */
export function handOutLost(
  tables: Tables,
  workerId: string,
  held: readonly string[],
  leaseMs: number,
  nowMs: number,
): ReadonlySet<string> {
  const kept = new Set<string>();
  for (const call of tables.calls.all()) {
    if (call.status !== 'running' || call.worker !== workerId) continue;
    const name = `${call.actor}~${call.child}`;
    const old = (call.claimedMs ?? nowMs) < nowMs - leaseMs;
    if (old && !held.includes(name)) queueAgain(tables, call, 'its claim was lost', nowMs);
    else kept.add(name);
  }
  return kept;
}

/** Calls that run on a worker which is not heard of any more. */
function takeOver(tables: Tables, leaseMs: number, nowMs: number): number {
  const lives = (worker: string | null): boolean =>
    (tables.workers.get(worker ?? '')?.beatMs ?? Number.NEGATIVE_INFINITY) > nowMs - leaseMs;
  const orphaned = tables.calls.all().filter(({ status, worker }) => status === 'running' && !lives(worker));
  for (const call of orphaned) queueAgain(tables, call, 'its worker died', nowMs);
  return orphaned.length;
}

/** The fence stays until the next claim bumps it, so a late result still finds the call not running. */
function queueAgain(tables: Tables, call: CallRow, lastError: string, nowMs: number): void {
  const counted = { dispatch: call.dispatch + 1, deaths: call.deaths + 1 };
  const queued: CallRow = { ...call, ...counted, status: 'queued', worker: null, lastError };
  tables.calls.put(queued);
  handOut(tables, { ...queued, dueMs: nowMs, admittedMs: null });
}

/** A timer leaves its event once: its id names the revision that set it. */
function fireTimers(tables: Tables, nowMs: number): number {
  const due = tables.timers
    .all()
    .filter(({ dueMs }) => dueMs <= nowMs)
    .sort((a, b) => a.dueMs - b.dueMs)
    .slice(0, BATCH);
  let fired = 0;
  for (const timer of due) {
    tables.timers.remove(timer);
    const id = `timer.${timer.timer}.${timer.revision}`;
    if (receive(tables, { ...timer, id, revision: null, digest: null }, nowMs)) fired += 1;
  }
  return fired;
}

/** The first turn of a session that another turn made ends with that one: it is told to, once. */
function cancelChildren(tables: Tables, nowMs: number): void {
  for (const session of tables.sessions.all()) {
    const { tenant, parent } = session;
    if (parent === null || tables.turns.get({ tenant, ...parent })?.status !== 'closed') continue;
    const [first] = [...tables.turns.of(session)].sort((a, b) => a.number - b.number);
    if (first === undefined || first.status === 'closed') continue;
    const event = JSON.stringify({ type: 'turn.cancel', reason: 'parent_ended' });
    const told = {
      tenant,
      session: first.session,
      actor: first.turn,
      id: 'cancel',
      event,
      revision: null,
      digest: null,
    };
    receive(tables, told, nowMs);
  }
}

/** Asks for a drain of every actor with a pending event and none asked for. */
function wakeForgotten(tables: Tables, nowMs: number): number {
  const seen = new Set<string>();
  let woken = 0;
  for (const event of tables.events.all().filter(isPending)) {
    const key = `${event.tenant}/${event.session}/${event.actor}`;
    const actor = tables.actors.get(event);
    if (seen.has(key) || actor?.status !== 'active' || drainIsAskedFor(tables, event)) continue;
    seen.add(key);
    wake(tables, actor, { dueMs: nowMs, admittedMs: null });
    woken += 1;
  }
  return woken;
}

/** An event that reached an actor after its end changes nothing, and must not keep it from being folded. */
function markLateEvents(tables: Tables): void {
  for (const event of tables.events.all().filter(isPending)) {
    const actor = tables.actors.get(event);
    if (actor?.status === 'done') tables.events.put({ ...event, revision: actor.revision });
  }
}

function forgetWorkers(tables: Tables, leaseMs: number, nowMs: number): void {
  const busy = new Set(
    tables.calls.all().flatMap(({ status, worker }) => (status === 'running' ? [worker] : [])),
  );
  for (const { id, beatMs } of tables.workers.values())
    if (beatMs < nowMs - FORGET_AFTER_LEASES * leaseMs && !busy.has(id)) tables.workers.delete(id);
}

/** What the queue was given long ago and no worker claimed, the oldest first. */
function unclaimedRows(tables: Tables, readmitMs: number, nowMs: number): readonly UnclaimedRow[] {
  return tables.outbox
    .all()
    .flatMap((row) => (row.admittedMs === null ? [] : [{ row, heldMs: nowMs - row.admittedMs }]))
    .filter(({ heldMs }) => heldMs > readmitMs)
    .sort((a, b) => b.heldMs - a.heldMs)
    .slice(0, BATCH)
    .map(({ row, heldMs }) => ({ ...handOverOf(row), pool: row.pool, heldMs }));
}

function isPending({ revision }: EventRow): boolean {
  return revision === null;
}

function drainIsAskedFor(tables: Tables, ref: ActorRef): boolean {
  return tables.outbox.of(ref).some(({ actor, child }) => actor === ref.actor && child === DRAIN_CHILD);
}
