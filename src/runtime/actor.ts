/** One actor in a hop: its transition, and what the transition asks for, as rows of the commit. Pure. */
import { type AnyMachineSnapshot, type AnyStateMachine, initialTransition, transition } from 'xstate';
import type { Cards } from '../context/cards/registry.ts';
import type { ActorState } from '../db/contract.ts';
import { blake3Hex } from '../ledger/chain.ts';
import { canonicalJson, type Json } from '../ledger/json.ts';
import type { RecordDraft } from '../ledger/kinds.ts';
import type { MachineRegistry } from '../machines/registry.ts';
import type { AnswerParams, CloseParams, StateParams } from '../machines/turn-context.ts';
import type { ToolSurface } from '../tools/surface.ts';
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
  /** What card calls and card fences are checked against. */
  readonly cards: Cards;
  readonly surface: ToolSurface;
}

/** Where an actor's rows go, and what they carry. */
export interface Place {
  readonly actor: string;
  readonly turn: string | null;
  readonly head: string;
  readonly priority: number;
}

export const INIT_EVENT = 'init';

export type Step = {
  readonly actor: Omit<ActorState, 'openChildren'>;
  /** Calls to answer in this commit. */
  readonly answers: AnswerParams | null;
  readonly states: StateParams | null;
  readonly closes: CloseParams | null;
};

/** Creates an actor: its first event says what it is and what it was given, so its row can be made again of its events. */
export function beginActor(
  builder: CommitBuilder,
  context: HopContext,
  created: NewActor,
  place: Place,
): Step {
  const { machine, version } = created;
  const [snapshot, actions] = initialTransition(machineOf(context.registry, machine, version), created.input);
  const row = { ...created, revision: 0, snapshot: '', status: 'active' as const };
  return advance(
    builder,
    row,
    {
      id: INIT_EVENT,
      event: { type: 'xstate.init', machine, version, turn: created.turn, input: created.input },
    },
    snapshot,
    actions,
    place,
  );
}

/** Applies one event to a running actor. */
export function stepActor(
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
  const effects = readEffects(actions);
  for (const effect of effects) perform(builder, effect, place, revision);
  if (status === 'done') clearTimer(builder, actor, null);
  return {
    actor: { actor, turn, machine, version, revision, snapshot: text, status },
    answers: effects.find((effect) => effect.kind === 'answer')?.params ?? null,
    states: effects.find((effect) => effect.kind === 'state')?.params ?? null,
    closes: effects.findLast((effect) => effect.kind === 'close')?.params ?? null,
  };
}

function perform(builder: CommitBuilder, effect: Effect, place: Place, revision: number): void {
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
      return;
    }
    case 'stop':
      builder.lists.cancels.push({ actor, child: effect.child });
      return;
    case 'timer':
      builder.lists.timers.push({
        actor,
        timer: effect.timer,
        event: canonicalJson(effect.event),
        revision,
        delayMs: effect.delayMs,
      });
      return;
    case 'clear-timer':
      clearTimer(builder, actor, effect.timer);
      return;
    case 'record':
      builder.append(head, { ...effect.draft, turnId: turn } as RecordDraft);
      return;
    case 'answer':
    case 'state':
    case 'close':
      // They stand on the turn's records: the hop does them once the transition is written.
      return;
  }
}

/** `null` clears all. One that was set in this hop is not set at all: a commit clears before it sets. */
function clearTimer(builder: CommitBuilder, actor: string, timer: string | null): void {
  const { timers, clearedTimers } = builder.lists;
  const kept = timers.filter((row) => row.actor !== actor || (timer !== null && row.timer !== timer));
  timers.splice(0, timers.length, ...kept);
  clearedTimers.push({ actor, timer });
}
