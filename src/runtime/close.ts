/** The close of a turn and the start of the one behind it, in the commit of the event that ends it. */
import { type Rendered, rendered, renderTurn } from '../context/assemble/turn.ts';
import type { ActorState, Loaded, RawRecord } from '../db/contract.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import { canonicalJson } from '../ledger/json.ts';
import { foldTurn } from '../ledger/view.ts';
import type { CloseParams } from '../machines/turn-context.ts';
import { type HopContext, type MachineEvent, type Place, stepActor } from './actor.ts';
import type { CommitBuilder } from './commit-builder.ts';
import { findMachine } from './snapshot.ts';

/** `records` are the turn's, as stored; null when they were not loaded, and a close then asks for them. */
export interface EventHop {
  readonly loaded: Loaded;
  readonly event: { readonly id: string; readonly event: MachineEvent };
  readonly records: readonly RawRecord[] | null;
}

/** A turn as it renders from its close on. */
export interface ClosedTurn {
  readonly head: string;
  readonly number: number;
  readonly piece: Rendered;
}

/** Writes the outcome, weighs the turn as it will render from now on, and starts the turn that waits behind it. */
export function closeTurn(
  builder: CommitBuilder,
  context: HopContext,
  hop: EventHop,
  place: Place & { readonly turn: string },
  closes: CloseParams,
): ClosedTurn {
  const { outcome, reason, steps } = closes;
  builder.append(place.head, { kind: 'turn-closed', turnId: place.turn, body: { outcome, reason, steps } });
  const piece = renderClosed(hop.records ?? [], builder, place.turn);
  builder.lists.turnChanges.push({
    turn: place.turn,
    status: 'closed',
    outcome,
    reason,
    steps,
    bytes: piece.bytes,
  });
  const closed = { head: place.head, number: hop.loaded.turn?.number ?? 0, piece };
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

/** From canonical text, as every later reading will render it: the same members in the same order. */
function renderClosed(stored: readonly RawRecord[], builder: CommitBuilder, turnId: string): Rendered {
  const before = stored.map((record) => ({ ...record, body: JSON.parse(record.body) as unknown }));
  const added = builder.draftsOf(turnId).map(({ seq, draft }) => {
    const body: unknown = JSON.parse(canonicalJson(draft.body));
    return { seq, kind: draft.kind, class: 'protocol', turnId, body };
  });
  return rendered(renderTurn(foldTurn([...before, ...added]), null));
}
