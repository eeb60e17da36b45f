/** Drives the probe machine as the runtime does: stored text in, one event, effects and stored text out. */
import { initialTransition, transition } from 'xstate';
import { blake3Hex } from '../../../src/ledger/chain.ts';
import { canonicalJson, type Json } from '../../../src/ledger/json.ts';
import { PROBE_MACHINE, PROBE_VERSION, probeMachine } from '../../../src/machines/probe.ts';
import type {
  ProbeCallInput,
  ProbeContext,
  ProbeInput,
  ProbeOutput,
} from '../../../src/machines/probe-context.ts';
import { type Effect, readEffects } from '../../../src/runtime/effects.ts';
import type { AppliedEvent } from '../../../src/runtime/replay.ts';
import { persist, restore } from '../../../src/runtime/snapshot.ts';
import { PROBE_INPUT } from '../../support/probe-input.ts';

export type Answer = (call: ProbeCallInput) => ProbeOutput | 'failed';

export class ProbeRun {
  /** Canonical JSON, as the actor's row holds it. */
  snapshot: string;
  effects: readonly Effect[] = [];
  readonly history: AppliedEvent[] = [];
  /** Every call asked for, in order. */
  readonly asked: ProbeCallInput[] = [];
  /** Every state it rested in. */
  readonly states: string[] = [];
  readonly timers = new Map<string, { readonly event: Json; readonly delayMs: number }>();
  open: string | null = null;

  constructor(input: Partial<ProbeInput> = {}) {
    const whole = { ...PROBE_INPUT, ...input };
    const [snapshot, actions] = initialTransition(probeMachine, whole);
    this.snapshot = persist(snapshot);
    this.#took({ type: 'xstate.init', input: { ...whole } }, readEffects(actions));
  }

  get stored(): { readonly value: string; readonly status: string; readonly context: ProbeContext } {
    return JSON.parse(this.snapshot) as ReturnType<() => ProbeRun['stored']>;
  }
  get state(): string {
    return this.stored.value;
  }
  get ended(): boolean {
    return this.stored.status !== 'active';
  }
  get last(): ProbeCallInput {
    const call = this.asked.at(-1);
    if (call === undefined) throw new Error(`nothing was asked in ${this.state}`);
    return call;
  }
  get stopped(): readonly string[] {
    return this.effects.flatMap((effect) => (effect.kind === 'stop' ? [effect.child] : []));
  }

  send(event: { readonly type: string; readonly [member: string]: Json }): this {
    const stored = { machine: PROBE_MACHINE, version: PROBE_VERSION, snapshot: this.snapshot };
    const openChildren = this.open === null ? [] : [this.open];
    if (/^xstate\.(?:done|error)\.actor\./u.test(event.type)) this.open = null;
    const [snapshot, actions] = transition(
      probeMachine,
      restore(probeMachine, { ...stored, openChildren }),
      event as never,
    );
    this.snapshot = persist(snapshot);
    this.#took(event, readEffects(actions));
    return this;
  }

  done(output: ProbeOutput): this {
    return this.send({ type: `xstate.done.actor.${this.open}`, output: output as unknown as Json });
  }

  failed(code = 'transport_exhausted'): this {
    return this.send({ type: `xstate.error.actor.${this.open}`, error: { code } });
  }

  /** Answers the open call. */
  answer(by: Answer): this {
    const said = by(this.last);
    return said === 'failed' ? this.failed() : this.done(said);
  }

  /** Answers every call until the machine rests in that state, or has ended. */
  until(state: string, by: Answer): this {
    while (!this.ended && this.state !== state) this.answer(by);
    return this;
  }

  #took(event: Json, effects: readonly Effect[]): void {
    this.effects = effects;
    this.states.push(this.state);
    for (const effect of effects) {
      if (effect.kind === 'spawn') {
        this.open = effect.child;
        this.asked.push(effect.input as unknown as ProbeCallInput);
      }
      if (effect.kind === 'stop' && effect.child === this.open) this.open = null;
      if (effect.kind === 'timer') this.timers.set(effect.timer, effect);
      if (effect.kind === 'clear-timer') this.timers.delete(effect.timer);
    }
    this.history.push({
      id: String(this.history.length),
      event: canonicalJson(event),
      digest: blake3Hex(this.snapshot),
    });
  }
}

export interface Truth {
  readonly window: number | null;
  readonly horizon: number;
  /** A longer prompt is refused. */
  readonly refusedAbove?: number;
  readonly tokensPerByte?: number;
  readonly prefillTokensPerSecond?: number;
  readonly tookMs?: number;
  readonly microUsd?: number;
}

export const METADATA = { declaredWindow: 32_768, maxOutputTokens: 4_096, quantisation: 'Q4_K_M' } as const;

/** A model that always does what it can. */
export function model(truth: Truth): (call: ProbeCallInput) => ProbeOutput {
  const { window, horizon, refusedAbove = Number.POSITIVE_INFINITY, tokensPerByte = 0.3 } = truth;
  const { prefillTokensPerSecond = 0, tookMs = 100, microUsd = 0 } = truth;
  const spent = { tookMs, microUsd };
  let caches = 0;
  return (call) => {
    switch (call.kind) {
      case 'metadata':
        return {
          kind: 'metadata',
          metadata: { ...METADATA, declaredWindow: window },
          window,
          tokensPerByte: 0.25,
          prefillTokensPerSecond,
        };
      case 'prefix':
        return { kind: 'prefix', digest: 'ab'.repeat(32), tokens: 1_200, tokensPerByte, ...spent };
      case 'sample': {
        const { targetTokens } = call;
        const answered = { promptTokens: targetTokens, tokensPerByte, signal: null, ...spent };
        if (targetTokens > refusedAbove)
          return {
            kind: 'sample',
            verdict: 'rejected',
            ...answered,
            promptTokens: null,
            tokensPerByte: null,
          };
        return {
          kind: 'sample',
          verdict: targetTokens <= horizon ? 'followed' : 'not-followed',
          ...answered,
        };
      }
      case 'cache': {
        caches += 1;
        const cacheReadTokens = caches === 1 ? 0 : 4_000;
        return { kind: 'cache', seen: { cacheReadTokens, firstTokenMs: 50, failed: false }, ...spent };
      }
      case 'store':
        return { kind: 'stored' };
    }
  };
}
