/**
 * One hop, built purely: what was loaded and what happened go in, one commit comes out. The state of every
 * actor it touches, its records, its calls, timers and hand-overs change together or not at all.
 */
import { type AnyMachineSnapshot, type AnyStateMachine, initialTransition, transition } from 'xstate';
import { type Rendered, rendered, renderTurn } from '../context/assemble/turn.ts';
import type { ActorState, Commit, Loaded, RawRecord } from '../db/contract.ts';
import { blake3Hex } from '../ledger/chain.ts';
import { canonicalJson, type Json } from '../ledger/json.ts';
import type { RecordDraft } from '../ledger/kinds.ts';
import { foldTurn } from '../ledger/view.ts';
import type { MachineRegistry } from '../machines/registry.ts';
import type { CloseParams } from '../machines/turn.ts';
import { CALL_POLICY, isCallSource } from './calls.ts';
import type { CommitBuilder } from './commit-builder.ts';
import { type ActionData, type Effect, readEffects } from './effects.ts';
import { findMachine, persist, restore } from './snapshot.ts';

export interface MachineEvent {
  readonly type: string;
  readonly [member: string]: Json;
}

export interface NewActor {
  readonly actor: string;
  readonly turn: string | null;
  readonly machine: string;
  readonly version: number;
  readonly input: Json;
}

export interface HopContext {
  readonly registry: MachineRegistry;
  /** The clock of this hop, for the turn context of a turn that starts in it. */
  readonly nowUtc: string;
  readonly timezone: string;
}

/** Where an actor's rows go, and what they carry. */
interface Place {
  readonly actor: string;
  readonly turn: string | null;
  readonly head: string;
  readonly priority: number;
}

export type Step = { readonly actor: Omit<ActorState, 'openChildren'>; readonly closes: CloseParams | null };

/** Creates an actor: its first event is its input, so a replay needs nothing else. */
export function beginActor(
  builder: CommitBuilder,
  context: HopContext,
  created: NewActor,
  place: Place,
): Step {
  const machine = machineOf(context.registry, created.machine, created.version);
  const [snapshot, actions] = initialTransition(machine, created.input);
  const row = { ...created, revision: 0, snapshot: '', status: 'active' as const };
  return advance(
    builder,
    row,
    { id: 'init', event: { type: 'xstate.init', input: created.input } },
    snapshot,
    actions,
    place,
  );
}

/** Applies one event to a running actor. */
function stepActor(
  builder: CommitBuilder,
  context: HopContext,
  actor: Omit<ActorState, 'openChildren'> & { readonly openChildren?: readonly string[] },
  event: { readonly id: string; readonly event: MachineEvent },
  place: Place,
): Step {
  const machine = machineOf(context.registry, actor.machine, actor.version);
  const [snapshot, actions] = transition(machine, restore(machine, actor), event.event);
  return advance(builder, actor, event, snapshot, actions, place);
}

function machineOf(registry: MachineRegistry, name: string, version: number): AnyStateMachine {
  const machine = findMachine(registry, name, version);
  if (machine === null) throw new Error(`machine ${name} version ${version} is not known here`);
  return machine;
}

function advance(
  builder: CommitBuilder,
  before: Omit<ActorState, 'openChildren'>,
  { id, event }: { readonly id: string; readonly event: MachineEvent },
  snapshot: AnyMachineSnapshot,
  actions: readonly ActionData[],
  place: Place,
): Step {
  const text = persist(snapshot);
  const revision = before.revision + 1;
  const status = snapshot.status === 'active' ? 'active' : 'done';
  const { actor, turn, machine, version } = before;
  const earlier = builder.lists.actors.findIndex((change) => change.actor === actor);
  const base = earlier === -1 ? before.revision : (builder.lists.actors[earlier]?.base ?? 0);
  if (earlier !== -1) builder.lists.actors.splice(earlier, 1);
  builder.lists.actors.push({ actor, turn, machine, version, base, revision, snapshot: text, status });
  builder.lists.events.push({ actor, id, event: canonicalJson(event), revision, digest: blake3Hex(text) });
  let closes: CloseParams | null = null;
  for (const effect of readEffects(actions)) closes = perform(builder, effect, place, revision) ?? closes;
  if (status === 'done') builder.lists.clearedTimers.push({ actor, timer: null });
  return { actor: { actor, turn, machine, version, revision, snapshot: text, status }, closes };
}

function perform(builder: CommitBuilder, effect: Effect, place: Place, revision: number): CloseParams | null {
  const { actor, turn, head, priority } = place;
  switch (effect.kind) {
    case 'spawn': {
      if (!isCallSource(effect.src)) throw new Error(`no pool runs the side call "${effect.src}"`);
      const { pool } = CALL_POLICY[effect.src];
      builder.lists.calls.push({
        actor,
        child: effect.child,
        src: effect.src,
        pool,
        input: canonicalJson(effect.input),
        priority,
      });
      builder.lists.outbox.push({
        actor,
        child: effect.child,
        dispatch: 1,
        pool,
        priority,
        delayMs: 0,
        admitted: false,
      });
      return null;
    }
    case 'stop':
      builder.lists.cancels.push({ actor, child: effect.child });
      return null;
    case 'timer':
      builder.lists.timers.push({
        actor,
        timer: effect.timer,
        event: canonicalJson(effect.event),
        revision,
        delayMs: effect.delayMs,
      });
      return null;
    case 'clear-timer':
      builder.lists.clearedTimers.push({ actor, timer: effect.timer });
      return null;
    case 'record':
      builder.append(head, { ...effect.draft, turnId: turn } as RecordDraft);
      return null;
    case 'close':
      return effect.params;
  }
}

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

export type BuiltHop =
  | { readonly kind: 'commit'; readonly commit: Commit; readonly closed: ClosedTurn | null }
  | { readonly kind: 'needs-records' };

/** Adds the event's consequences to `builder`, which may hold a worker's own records already. */
export function buildHop(
  builder: CommitBuilder,
  context: HopContext,
  hop: EventHop,
  onClose: readonly NewActor[] = [],
): BuiltHop {
  const { actor, turn, session } = hop.loaded;
  const place: Place = {
    actor: actor.actor,
    turn: actor.turn,
    head: turn?.head ?? session.liveHead,
    priority: turn?.priority ?? 0,
  };
  // The call that brings the event has settled: it is no child to stop.
  const openChildren = actor.openChildren.filter((child) => child !== hop.event.id);
  const { closes } = stepActor(builder, context, { ...actor, openChildren }, hop.event, place);
  let closed: ClosedTurn | null = null;
  if (closes !== null && actor.turn !== null) {
    if (hop.records === null) return { kind: 'needs-records' };
    closed = closeTurn(builder, context, hop, { ...place, turn: actor.turn }, closes);
    for (const created of onClose)
      beginActor(builder, context, created, {
        ...place,
        actor: created.actor,
        turn: created.turn,
        priority: 0,
      });
  }
  return { kind: 'commit', commit: builder.build(), closed };
}

/** Writes the outcome, weighs the turn as it will render from now on, and starts the turn that waits behind it. */
function closeTurn(
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
  stepActor(builder, context, actor, { id: 'start', event: { type: 'turn.start' } }, place);
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
