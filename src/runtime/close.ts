/** The close of a turn and the start of the one behind it, in the commit of the event that ends it. */
import { renderFull } from '../context/assemble/full-record.ts';
import { type Rendered, rendered } from '../context/assemble/weigh.ts';
import type { IndexedTurn } from '../context/plan/contract.ts';
import { termsOfCard } from '../context/relevance/terms.ts';
import { buildCard } from '../context/turn-card.ts';
import type { ActorState, Loaded, RawRecord } from '../db/contract.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import { canonicalJson } from '../ledger/json.ts';
import type { TurnCard } from '../ledger/turn-card.ts';
import type { CloseParams } from '../machines/turn-context.ts';
import { type HopContext, type MachineEvent, type Place, stepActor } from './actor.ts';
import type { CommitBuilder } from './commit-builder.ts';
import { presentAnswer, viewOf } from './in-hop.ts';
import type { SessionConfig } from './sessions.ts';
import { findMachine } from './snapshot.ts';

/** `records` are the turn's, as stored; null when they were not loaded, and a close then asks for them. */
export interface EventHop {
  readonly loaded: Loaded;
  readonly event: { readonly id: string; readonly event: MachineEvent };
  readonly records: readonly RawRecord[] | null;
  /** The session's settings; null when they were not at hand, and calls without a job then ask for them. */
  readonly config: SessionConfig | null;
}

/** A turn as it renders from its close on. */
export interface ClosedTurn {
  readonly head: string;
  readonly number: number;
  readonly piece: Rendered;
  readonly card: TurnCard;
  readonly indexed: IndexedTurn;
}

/** Writes the outcome and the turn's card, and starts the turn that waits behind it. */
export function closeTurn(
  builder: CommitBuilder,
  context: HopContext,
  hop: EventHop,
  place: Place & { readonly turn: string },
  closes: CloseParams,
): ClosedTurn {
  const { outcome, reason, steps } = closes;
  const before = viewOf(hop.records ?? [], builder, place.turn);
  const answered = presentAnswer(builder, context.cards, before, place);
  const view = { ...answered, closed: { outcome, reason, steps } };
  const piece = rendered(renderFull(view));
  const card = buildCard(view, piece.bytes);
  const closedSeq = builder.append(place.head, {
    kind: 'turn-closed',
    turnId: place.turn,
    body: { outcome, reason, steps, card },
  });
  const terms = termsOfCard(card);
  const { fullBytes, cardBytes, links, number } = card;
  builder.lists.turnChanges.push({
    turn: place.turn,
    status: 'closed',
    outcome,
    reason,
    steps,
    closedSeq,
    fullBytes,
    cardBytes,
    terms: Buffer.from(terms).toString('base64'),
  });
  builder.lists.edges.push(...links.map((link, ordinal) => ({ ...link, turn: place.turn, ordinal })));
  const indexed = { number, fullBytes, cardBytes, terms, links };
  const closed = { head: place.head, number, piece, card, indexed };
  if (hop.loaded.turn?.status !== 'running') return closed;
  const { next } = hop.loaded;
  builder.lists.heads.push({ head: place.head, openTurn: next?.turn ?? null });
  if (next !== null)
    startTurn(builder, context, next, {
      actor: next.actor,
      turn: next.turn,
      head: place.head,
      priority: next.priority,
    });
  return closed;
}

/** A turn of a version that is not known here is started, and its machine's first event left for a worker that knows it. */
export function startTurn(
  builder: CommitBuilder,
  context: HopContext,
  actor: Omit<ActorState, 'openChildren'>,
  place: Place & { readonly turn: string },
): void {
  builder.append(place.head, {
    kind: 'turn-context',
    turnId: place.turn,
    body: { utc: context.nowUtc, timezone: context.timezone },
  });
  builder.lists.turnChanges.push({ turn: place.turn, status: 'running' });
  const start = { id: 'start', event: { type: 'turn.start' } };
  const pending = {
    actor: actor.actor,
    id: start.id,
    event: canonicalJson(start.event),
    revision: null,
    digest: null,
  };
  if (findMachine(context.registry, actor.machine, actor.version) === null) {
    builder.lists.events.push(pending);
    return;
  }
  try {
    stepActor(builder, context, actor, start, place);
  } catch (error) {
    if (!(error instanceof TurnwrightError) || error.code !== 'snapshot_refused') throw error;
    // The turn that ends here is sound; only the one behind it can not be read.
    builder.append(place.head, {
      kind: 'actor-parked',
      turnId: place.turn,
      body: { actor: actor.actor, reason: error.message },
    });
    builder.lists.events.push(pending);
    builder.lists.actors.push({
      ...actor,
      base: actor.revision,
      revision: actor.revision + 1,
      status: 'parked',
      parkedReason: error.message,
    });
  }
}
