/** Drives the turn machine as the runtime does: stored text in, one event, effects and stored text out. */
import { initialTransition, transition } from 'xstate';
import type { CalledTools } from '../../../src/checks/facts.ts';
import { blake3Hex } from '../../../src/ledger/chain.ts';
import { canonicalJson, type Json } from '../../../src/ledger/json.ts';
import type { Check } from '../../../src/ledger/kinds.ts';
import { MACHINES } from '../../../src/machines/registry.ts';
import { TURN_MACHINE, TURN_VERSION, turnMachine } from '../../../src/machines/turn.ts';
import type { AnswerParams, TurnInput } from '../../../src/machines/turn-context.ts';
import { type Effect, readEffects } from '../../../src/runtime/effects.ts';
import type { AppliedEvent } from '../../../src/runtime/replay.ts';
import { findMachine, persist, restore } from '../../../src/runtime/snapshot.ts';

export type Fact = Readonly<Record<string, Json>>;
export const ANSWER: Fact = { kind: 'answer', degraded: false, findings: [] };
/** An answer in which checks found something, in the order in which it counts. */
export const found = (...checks: readonly Check[]): Fact => ({
  kind: 'answer',
  degraded: false,
  findings: checks.map((check) => ({ check })),
});
/** It rests on a packet that no summariser wrote. */
export const DEGRADED: Fact = { kind: 'answer', degraded: true, findings: [] };
export const EMPTY: Fact = { kind: 'empty', shown: false };
export const OVER_LENGTH: Fact = { kind: 'over-length' };
export const RESET_WANTED: Fact = { kind: 'reset-wanted' };
export const RESET_MADE: Fact = { kind: 'reset-made' };
export const NO_HORIZON: Fact = { kind: 'no-horizon' };
export const PACKET_WANTED: Fact = { kind: 'packet-wanted', from: 1, to: 8, bytes: 900 };
/** What a summary that was written answers. */
export const REACHED: Fact = { to: 8 };
export const calls = (
  admitted: number,
  approvals = 0,
  inHop: readonly number[] = [],
  rest: Partial<CalledTools> = {},
): Fact => ({
  kind: 'calls',
  admitted,
  approvals: Array.from({ length: admitted }, (_, index) => index)
    .filter((index) => !inHop.includes(index))
    .slice(0, approvals),
  inHop: [...inHop],
  byClient: [],
  withheld: [],
  unfit: [],
  idle: false,
  shown: false,
  ...(rest as Fact),
});

const LIMITS: TurnInput = { stepBudget: 40, deadlineMs: 60_000, escalate: false, weak: false };

interface Stored {
  readonly value: string;
  readonly context: Readonly<Record<string, Json>>;
  readonly status: string;
}

export class TurnRun {
  /** Canonical JSON, as the actor's row holds it. */
  snapshot: string;
  effects: readonly Effect[] = [];
  readonly children = new Set<string>();
  readonly timers = new Map<string, { readonly event: Json; readonly delayMs: number }>();
  readonly history: AppliedEvent[] = [];
  /** Of all steps so far. */
  readonly answers: AnswerParams[] = [];

  constructor(limits: Partial<TurnInput> = {}) {
    const input = { ...LIMITS, ...limits };
    const [snapshot, actions] = initialTransition(turnMachine, input);
    this.snapshot = persist(snapshot);
    this.#took({ type: 'xstate.init', input: { ...input } }, readEffects(actions));
  }

  /** A turn whose first step runs. */
  static started(limits: Partial<TurnInput> = {}): TurnRun {
    return new TurnRun(limits).send({ type: 'turn.start' });
  }

  send(event: { readonly type: string; readonly [member: string]: Json }): this {
    const machine = findMachine(MACHINES, TURN_MACHINE, TURN_VERSION);
    if (machine === null) throw new Error('the turn machine is not registered');
    const child = /^xstate\.(?:done|error)\.actor\.(.*)$/u.exec(event.type)?.[1];
    if (child !== undefined && !this.children.delete(child)) throw new Error(`${child} does not run`);
    const stored = { machine: TURN_MACHINE, version: TURN_VERSION, snapshot: this.snapshot };
    const restored = restore(machine, { ...stored, openChildren: [...this.children] });
    const [snapshot, actions] = transition(machine, restored, event);
    this.snapshot = persist(snapshot);
    this.#took(event, readEffects(actions));
    return this;
  }

  done(child: string, output: Json = null): this {
    return this.send({ type: `xstate.done.actor.${child}`, output });
  }

  /** Ends a tool call whose outcome is unknown and whose tool asks a person. */
  undecided(child: string, index: number): this {
    return this.done(child, { index, status: 'undecided' });
  }

  failed(child: string, code = 'transport_exhausted'): this {
    return this.send({ type: `xstate.error.actor.${child}`, error: { code } });
  }

  /** The client answers a call of the running step. */
  clientResult(index: number, failed = false): this {
    return this.send({ type: 'turn.client-result', step: Number(this.stored.context.step), index, failed });
  }

  /** Ends a call of the running step as its worker does. */
  tool(index: number, status = 'ok'): this {
    const step = Number(this.stored.context.step);
    return this.done(`tool-${step}-${index}`, { index, status, failed: status === 'error' });
  }

  /** The newest summary was written. */
  summarised(): this {
    const child = [...this.children].find((id) => id.startsWith('summary-') || id.startsWith('handoff-'));
    if (child === undefined) throw new Error(`no summary runs in ${this.state}`);
    return this.done(child, REACHED as Json);
  }

  /** Ends the running step with this fact. */
  step(fact: Fact): this {
    const child = [...this.children].find((id) => id.startsWith('step-'));
    if (child === undefined) throw new Error(`no step runs in ${this.state}`);
    return this.done(child, fact as Json);
  }

  get stored(): Stored {
    return JSON.parse(this.snapshot) as Stored;
  }
  get state(): string {
    return this.stored.value;
  }
  get ended(): boolean {
    return this.stored.status !== 'active';
  }
  get closed() {
    return this.effects.flatMap((effect) => (effect.kind === 'close' ? [effect.params] : []));
  }
  get spawned() {
    return this.effects.flatMap((effect) =>
      effect.kind === 'spawn' ? [{ child: effect.child, src: effect.src, input: effect.input }] : [],
    );
  }
  /** Calls that are answered without a job. */
  get answered() {
    return this.effects.flatMap((effect) => (effect.kind === 'answer' ? [effect.params] : []));
  }
  /** What the system says in the place of an answer. */
  get stated() {
    return this.effects.flatMap((effect) => (effect.kind === 'state' ? [effect.params] : []));
  }
  get stopped() {
    return this.effects.flatMap((effect) => (effect.kind === 'stop' ? [effect.child] : []));
  }
  get records() {
    return this.effects.flatMap((effect) => (effect.kind === 'record' ? [effect.draft] : []));
  }

  #took(event: Json, effects: readonly Effect[]): void {
    this.effects = effects;
    this.answers.push(...this.answered);
    for (const effect of effects) {
      if (effect.kind === 'spawn') this.children.add(effect.child);
      if (effect.kind === 'stop') this.children.delete(effect.child);
      if (effect.kind === 'timer') this.timers.set(effect.timer, effect);
      if (effect.kind === 'clear-timer') this.timers.delete(effect.timer);
    }
    const id = String(this.history.length);
    this.history.push({ id, event: canonicalJson(event), digest: blake3Hex(this.snapshot) });
  }
}
