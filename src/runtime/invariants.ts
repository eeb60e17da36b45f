/**
 * What always holds of a session between two commits, numbered. 1 to 12, which records and requests must keep, are
 * `src/ledger/invariants.ts`; these join the records to what is stored beside them. Pure: one reading goes in. 21, that
 * each part of what a fork goes on from ends with the record its link names, is `verify-session.ts`.
 *
 * 13 an actor's events are numbered 1, 2, 3 … without a gap   17 a head is held by its running turn, or by none
 * 14 running its events again gives every stored snapshot     18 something moves every turn that has not ended
 * 15 a call is settled once, by the event that brought it     19 what has ended waits for nothing
 * 16 a result that came too late changed nothing              20 projections are those the originals make
 */
import type { CallRow, SessionState } from '../db/contract.ts';
import type { BodyOf } from '../ledger/kinds.ts';
import type { StoredRecord } from '../ledger/verify.ts';
import type { MachineRegistry } from '../machines/registry.ts';
import { type Difference, differences, type Projected } from './differences.ts';
import { replay, unfold } from './replay.ts';
import { findMachine } from './snapshot.ts';

export interface SessionReading {
  readonly registry: MachineRegistry;
  readonly state: SessionState;
  readonly projected: Projected;
  /** `late-result` records; no others are needed here. */
  readonly late: readonly StoredRecord[];
}

type Answer = string | null;

const SESSION_INVARIANTS: ReadonlyMap<number, (reading: SessionReading) => Answer> = new Map([
  [13, eventsCounted],
  [14, snapshotsReplay],
  [15, settledOnce],
  [16, lateChangesNothing],
  [17, headsHeld],
  [18, nothingStuck],
  [19, endedAtRest],
  [20, projectionsMatch],
]);

/** The first broken law of a session at rest or in motion, as `<number>: <reason>`. */
export function brokenSessionLaw(reading: SessionReading): Answer {
  for (const [number, law] of SESSION_INVARIANTS) {
    const reason = law(reading);
    if (reason !== null) return `${number}: ${reason}`;
  }
  return null;
}

const eventsOf = ({ events }: SessionState, actor: string) => events.filter((event) => event.actor === actor);
const isOpen = ({ status }: Pick<CallRow, 'status'>) => status === 'queued' || status === 'running';

/** A parked actor counts its parking and its return too. */
function eventsCounted({ state, projected }: SessionReading): Answer {
  return first(state.actors, ({ actor, revision, compacted }) => {
    if (compacted || projected.records.parked.has(actor)) return null;
    const applied = eventsOf(state, actor).filter((event) => event.digest !== null);
    const wrong = applied.findIndex((event, index) => event.revision !== index + 1);
    if (wrong !== -1)
      return `event ${wrong + 1} of ${actor} (${applied[wrong]?.id}) has the number ${applied[wrong]?.revision}`;
    return applied.length === revision
      ? null
      : `${actor} stands at revision ${revision} after ${applied.length} events`;
  });
}

function snapshotsReplay({ registry, state }: SessionReading): Answer {
  return first(state.actors, ({ actor, machine, version, snapshot }) => {
    if (findMachine(registry, machine, version) === null) return null;
    const applied = eventsOf(state, actor).filter((event) => event.revision !== null);
    const steps = replay(registry, machine, version, unfold(applied));
    const wrong = steps.find(({ matches }) => !matches);
    if (wrong !== undefined) return `${actor} had another snapshot after ${wrong.id}`;
    return steps.at(-1)?.snapshot === snapshot ? null : `the row of ${actor} holds another snapshot`;
  });
}

/** A settled call's row may be folded away; while it stands, its event stands too, once. */
function settledOnce({ state }: SessionReading): Answer {
  return first(state.calls, ({ actor, child, status }) => {
    const brought = eventsOf(state, actor).filter((event) => event.id === child);
    const settled = status === 'done' || status === 'failed';
    if (settled && brought.length !== 1) return `${actor}~${child} is ${status} by ${brought.length} events`;
    return !settled && brought.some((event) => event.revision !== null)
      ? `${actor}~${child} is ${status} though its result was applied`
      : null;
  });
}

/** Whoever was superseded held another claim than the one that settled the call. */
function lateChangesNothing({ state, late }: SessionReading): Answer {
  return first(late, ({ seq, turnId, body }) => {
    const { child, fence, token } = JSON.parse(body ?? '{}') as BodyOf<'late-result'>;
    const call = state.calls.find((row) => row.actor === turnId && row.child === child);
    const accepted =
      call?.fence === fence && call.token === token && (call.status === 'done' || call.status === 'failed');
    return accepted
      ? `record ${seq} calls the result of ${child} late, whose fence ${fence} settled it`
      : null;
  });
}

function headsHeld({ state }: SessionReading): Answer {
  return first(state.heads, ({ head, openTurn }) => {
    const running = state.turns.filter((turn) => turn.head === head && turn.status === 'running');
    if (running.length > 1) return `${running.length} turns run on head ${head}`;
    if (openTurn !== (running[0]?.turn ?? null)) return `head ${head} names ${openTurn} as its open turn`;
    const waiting = state.turns.find((turn) => turn.head === head && turn.status === 'accepted');
    return openTurn === null && waiting !== undefined
      ? `${waiting.turn} waits though head ${head} is free`
      : null;
  });
}

/** A deadline alone moves nothing: it only ends the turn. A parked actor is told of elsewhere. */
function nothingStuck({ state }: SessionReading): Answer {
  return first(state.actors, ({ actor, status }) => {
    const turn = state.turns.find((row) => row.turn === actor);
    if (status !== 'active' || turn?.status === 'accepted') return null;
    const mine = (row: { readonly actor: string }) => row.actor === actor;
    const moves =
      state.calls.some((call) => mine(call) && isOpen(call)) ||
      state.outbox.some(mine) ||
      state.timers.some((timer) => mine(timer) && timer.timer !== 'deadline') ||
      eventsOf(state, actor).some((event) => event.revision === null);
    return moves ? null : `nothing moves ${actor}`;
  });
}

function endedAtRest({ state }: SessionReading): Answer {
  const ended = new Set(state.actors.filter(({ status }) => status === 'done').map(({ actor }) => actor));
  const left = (rows: readonly { readonly actor: string }[], what: string): Answer =>
    first(rows, ({ actor }) => (ended.has(actor) ? `${actor} has ended and still has ${what}` : null));
  return (
    left(state.calls.filter(isOpen), 'a call') ??
    left(state.timers, 'a timer') ??
    left(
      state.outbox.filter(({ child }) => child !== 'drain'),
      'a call to hand over',
    )
  );
}

function projectionsMatch({ state, projected }: SessionReading): Answer {
  return first(differences(state, projected), describe);
}

function describe({ table, key, stored, rebuilt }: Difference): string {
  return `${table} ${key} is ${stored ?? 'missing'}, and should be ${rebuilt ?? 'gone'}`;
}

function first<Row>(rows: readonly Row[], ask: (row: Row) => Answer): Answer {
  for (const row of rows) {
    const reason = ask(row);
    if (reason !== null) return reason;
  }
  return null;
}
