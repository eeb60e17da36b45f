/**
 * One hop, built purely: what was loaded and what happened go in, one commit comes out. The state of every
 * actor it touches, its records, its calls, timers and hand-overs change together or not at all.
 */
import type { Commit, RawRecord } from '../db/contract.ts';
import { canonicalJson } from '../ledger/json.ts';
import { type HopContext, type Place, stepActor } from './actor.ts';
import { type ClosedTurn, closeTurn, type EventHop } from './close.ts';
import type { CommitBuilder } from './commit-builder.ts';
import { editsContext } from './context-calls.ts';
import { answerInHop, viewOf } from './in-hop.ts';
import { stateAnswer } from './statement.ts';

export interface CommitHop {
  readonly kind: 'commit';
  readonly commit: Commit;
  readonly closed: ClosedTurn | null;
}

/** `needs-items`: a call reads or edits what the requests of the head carry. */
export type BuiltHop = CommitHop | { readonly kind: 'needs-records' | 'needs-items' };

/** Adds the event's consequences to `builder`, which may hold a worker's own records already. */
export function buildHop(builder: CommitBuilder, context: HopContext, hop: EventHop): BuiltHop {
  const { actor, turn, session } = hop.loaded;
  const place: Place = {
    actor: actor.actor,
    turn: actor.turn,
    head: turn?.head ?? session.liveHead,
    priority: turn?.priority ?? 0,
  };
  // The call that brings the event has settled: it is no child to stop.
  const openChildren = actor.openChildren.filter((child) => child !== hop.event.id);
  const { answers, states, closes } = stepActor(
    builder,
    context,
    { ...actor, openChildren },
    hop.event,
    place,
  );
  if (actor.turn === null) return { kind: 'commit', commit: builder.build(), closed: null };
  const { records, config } = hop;
  if ((answers ?? states ?? closes) !== null && records === null) return { kind: 'needs-records' };
  if (answers !== null && config === null) return { kind: 'needs-records' };
  const own = { ...place, turn: actor.turn };
  if (
    answers !== null &&
    hop.items === null &&
    editsContext(viewOf(records ?? [], builder, own.turn), answers)
  )
    return { kind: 'needs-items' };
  if (answers !== null && config !== null)
    answerInHop(builder, { ...context, config, items: hop.items }, records ?? [], own, answers);
  if (states !== null) stateAnswer(builder, viewOf(records ?? [], builder, actor.turn), own, states);
  const closed = closes === null ? null : closeTurn(builder, context, hop, own, closes);
  return { kind: 'commit', commit: builder.build(), closed };
}

/** A parked turn is ended without its machine, which cannot read it: only a cancellation does that. */
export function endParked(
  builder: CommitBuilder,
  context: HopContext,
  hop: EventHop & { readonly records: readonly RawRecord[] },
): CommitHop {
  const { actor, turn, session } = hop.loaded;
  if (actor.turn === null) throw new Error(`actor ${actor.actor} has no turn to end`);
  const place = {
    actor: actor.actor,
    turn: actor.turn,
    head: turn?.head ?? session.liveHead,
    priority: turn?.priority ?? 0,
  };
  const { machine, version, revision, snapshot } = actor;
  builder.lists.actors.push({
    actor: actor.actor,
    turn: actor.turn,
    machine,
    version,
    base: revision,
    revision: revision + 1,
    snapshot,
    status: 'done',
  });
  builder.lists.events.push({
    actor: actor.actor,
    id: hop.event.id,
    event: canonicalJson(hop.event.event),
    revision: revision + 1,
    digest: null,
  });
  builder.lists.cancels.push(...actor.openChildren.map((child) => ({ actor: actor.actor, child })));
  builder.lists.clearedTimers.push({ actor: actor.actor, timer: null });
  const closed = closeTurn(builder, context, hop, place, {
    outcome: 'cancelled',
    reason: 'cancelled_while_parked',
    steps: 0,
  });
  return { kind: 'commit', commit: builder.build(), closed };
}
