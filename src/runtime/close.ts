/** The close of a turn and the start of the one behind it, in the commit of the event that ends it. */
import type { Rendered } from '../context/assemble/weigh.ts';
import type { IndexedTurn } from '../context/plan/contract.ts';
import type { ActorState, EvictionRow, Loaded, RawRecord } from '../db/contract.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import { canonicalJson } from '../ledger/json.ts';
import type { BodyOf } from '../ledger/kinds.ts';
import type { TurnCard } from '../ledger/turn-card.ts';
import type { TurnView } from '../ledger/view.ts';
import type { CloseParams } from '../machines/turn-context.ts';
import { type HopContext, type MachineEvent, type Place, stepActor } from './actor.ts';
import { recordClosing } from './closing.ts';
import type { CommitBuilder } from './commit-builder.ts';
import { type HeadItems, type TurnItems, turnItems } from './head-items.ts';
import { presentAnswer, viewOf } from './in-hop.ts';
import { lastMeasure } from './pressure.ts';
import type { SessionConfig } from './sessions.ts';
import { findMachine } from './snapshot.ts';

/** `records` are the turn's, as stored; null when they were not loaded, and a close then asks for them. */
export interface EventHop {
  readonly loaded: Loaded;
  readonly event: { readonly id: string; readonly event: MachineEvent };
  readonly records: readonly RawRecord[] | null;
  /** The session's settings; null when they were not at hand, and calls without a job then ask for them. */
  readonly config: SessionConfig | null;
  /** What the requests of the head carry; null when it was not read, and calls that edit it then ask for it. */
  readonly items: HeadItems | null;
}

/** A turn as it renders from its close on. */
export interface ClosedTurn {
  readonly head: string;
  readonly number: number;
  readonly piece: Rendered;
  readonly card: TurnCard;
  readonly indexed: IndexedTurn;
  /** Spans that left the requests while it ran. */
  readonly evictions: readonly EvictionRow[];
  /** Its items, where the session sends them on; else null. */
  readonly items: TurnItems | null;
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
  const ended = { outcome, reason, steps, ...measured(answered, hop) };
  const { view, ...made } = recordClosing(builder, place.head, answered, ended);
  const closed = { ...made, head: place.head, evictions: view.evictions, items: sentOn(view, hop) };
  if (hop.loaded.turn?.status === 'running') startNext(builder, context, hop, place.head);
  return closed;
}

/** The turn that waits behind one that ran. */
function startNext(builder: CommitBuilder, context: HopContext, { loaded }: EventHop, head: string): void {
  const { next } = loaded;
  builder.lists.heads.push({ head, openTurn: next?.turn ?? null });
  if (next === null) return;
  const { actor, turn, priority } = next;
  startTurn(builder, context, next, { actor, turn, head, priority });
}

/** A session that sends its turns on as they were keeps what this one comes to. */
function sentOn(view: TurnView, { config }: EventHop): TurnItems | null {
  if (view.plan?.policy !== 'evict' || config === null) return null;
  return turnItems(view, config.workContract ?? null);
}

/** Where its newest request stood, and whether the model knows. */
function measured(view: TurnView, { loaded }: EventHop): Pick<BodyOf<'turn-closed'>, 'measure'> {
  const measure = view.plan?.policy === 'evict' ? lastMeasure(view, loaded.session.leg) : null;
  return measure === null ? {} : { measure };
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
