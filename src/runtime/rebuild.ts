/**
 * Makes a session's projections anew of its originals, compares them with what is stored, and writes them where they
 * differ. It may run beside the session: a ledger that grew meanwhile is read again.
 */
import type {
  Restoration,
  SessionRef,
  SessionState,
  Store,
  StoredEvent,
  UpkeepStore,
} from '../db/contract.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import type { StoredRecord } from '../ledger/verify.ts';
import type { MachineRegistry } from '../machines/registry.ts';
import { type Difference, differences, type Projected } from './differences.ts';
import { type ProjectedActor, projectActor } from './project-actors.ts';
import { type FromRecords, RecordProjector } from './project-records.ts';

/** Commits to the session between a reading and the writing. */
const MAX_RACES = 20;

export interface Reading {
  readonly stored: SessionState | null;
  readonly projected: Projected;
}

/**
 * null where there is no record of the session. The state is that of a moment no commit falls into. `onRecord` sees
 * each record before it is projected, and ends the reading with false; `onReading` says that one begins anew.
 */
export async function readProjections(
  store: Store,
  registry: MachineRegistry,
  ref: SessionRef,
  onReading: () => void = () => {},
  onRecord: (record: StoredRecord) => boolean = () => true,
): Promise<Reading | null> {
  let lastSeq = -1;
  for (let race = 0; race < MAX_RACES; race++) {
    onReading();
    const projector = new RecordProjector(ref.session);
    for await (const record of store.records(ref)) {
      if (!onRecord(record)) break;
      projector.add(record);
    }
    const records = projector.end();
    if (records.session.nextSeq === 1) return null;
    const stored = await store.sessionState(ref);
    // A row that runs ahead of the ledger reading after reading is a wrong row, not a moving one.
    const { nextSeq } = records.session;
    const moved = stored !== null && stored.session.nextSeq > nextSeq && nextSeq !== lastSeq;
    lastSeq = nextSeq;
    if (moved) continue;
    return { stored, projected: { records, actors: actorsOf(registry, stored) } };
  }
  throw new TurnwrightError('busy', `Session ${ref.session} is written to all the time. Try again.`);
}

export interface Rebuilt {
  readonly differences: readonly Difference[];
  /** False when nothing was to be written. */
  readonly restored: boolean;
}

/** @throws TurnwrightError `session_not_found`, `ledger_corrupt`, or `busy` when the session never rests. */
export async function rebuildSession(
  { store, upkeep, registry }: { store: Store; upkeep: UpkeepStore; registry: MachineRegistry },
  ref: SessionRef,
): Promise<Rebuilt> {
  const all: Difference[] = [];
  // Until nothing differs: what hangs on a row that was gone shows once it is back.
  for (let race = 0; race < MAX_RACES; race++) {
    const reading = await readProjections(store, registry, ref);
    if (reading === null)
      throw new TurnwrightError('session_not_found', `There is no session ${ref.session}.`);
    const found = differences(reading.stored, reading.projected);
    if (found.length === 0) return { differences: all, restored: all.length > 0 };
    if (await upkeep.restore(restoration(ref, reading, found))) all.push(...found);
  }
  throw new TurnwrightError('busy', `Session ${ref.session} is written to all the time. Try again.`);
}

function actorsOf(registry: MachineRegistry, stored: SessionState | null): Projected['actors'] {
  const events = new Map<string, StoredEvent[]>();
  for (const event of stored?.events ?? []) push(events, event);
  const made = new Map<string, ProjectedActor>();
  for (const [actor, own] of events) {
    const projected = projectActor(registry, actor, own);
    if (projected !== null) made.set(actor, projected);
  }
  return made;
}

function restoration(
  ref: SessionRef,
  { stored, projected: { records, actors } }: Reading,
  found: readonly Difference[],
): Restoration {
  const keys = (table: Difference['table']) =>
    new Set(found.flatMap((difference) => (difference.table === table ? [difference.key] : [])));
  const [wrongActors, wrongCalls, wrongTimers] = [keys('actors'), keys('side_calls'), keys('timers')];
  const made = [...actors.values()];
  const calls = made.flatMap((actor) => callsOf(actor, records));
  const timers = made.flatMap(({ row, awaited }) =>
    (awaited?.timers ?? []).map(({ dueMs, ...timer }) => ({ ...timer, actor: row.actor, dueInMs: dueMs })),
  );
  const callKey = ({ actor, child }: { actor: string; child: string }) => `${actor}~${child}`;
  const timerKey = ({ actor, timer }: { actor: string; timer: string }) => `${actor}~${timer}`;
  const [awaitedCalls, awaitedTimers] = [new Set(calls.map(callKey)), new Set(timers.map(timerKey))];
  return {
    ...ref,
    row: records.session,
    heads: records.heads,
    turns: records.turns,
    keys: records.keys,
    evidence: records.evidence,
    packets: records.packets,
    evictions: records.evictions,
    segments: records.segments,
    edges: records.edges,
    presentations: records.presentations,
    prefixes: records.prefixes,
    vectors: records.vectors,
    usage: records.usage,
    actors: made.map(({ row }) => row).filter(({ actor }) => wrongActors.has(actor)),
    calls: calls.filter((call) => wrongCalls.has(callKey(call))),
    surplusCalls: (stored?.calls ?? []).filter(
      (call) => wrongCalls.has(callKey(call)) && !awaitedCalls.has(callKey(call)),
    ),
    timers: timers.filter((timer) => wrongTimers.has(timerKey(timer))),
    surplusTimers: (stored?.timers ?? []).filter(
      (timer) => wrongTimers.has(timerKey(timer)) && !awaitedTimers.has(timerKey(timer)),
    ),
  };
}

function callsOf({ row: { actor, turn }, awaited }: ProjectedActor, { turns, retries }: FromRecords) {
  const priority = turns.find((candidate) => candidate.turn === turn)?.priority ?? 0;
  return (awaited?.calls ?? []).map((call) => ({
    ...call,
    actor,
    priority,
    attempt: 1 + (retries.get(`${turn}~${call.child}`) ?? 0),
  }));
}

function push(events: Map<string, StoredEvent[]>, event: StoredEvent): void {
  const own = events.get(event.actor);
  if (own === undefined) events.set(event.actor, [event]);
  else own.push(event);
}
