/**
 * Keeps calls to a provider within what its account is allowed, over every process, and away from a provider that
 * asked to be left alone. A key is either silent (no limits configured, no refusal heard of: calls go without a
 * question) or watched (each call asks the shared limiter first). A refusal makes it watched in every process that
 * hears the notice; the limiter's own answer makes it silent again.
 */
import { promptTokens } from '../context/request.ts';
import type { RateAllowance, RateCause, RateLimitStore } from '../db/rate-limits.ts';
import { blake3Hex } from '../ledger/chain.ts';
import type { Clock } from '../ledger/clock.ts';
import { canonicalJson, storableText } from '../ledger/json.ts';
import type { CallOutcome, Leg, MetadataOutcome, ProviderFailure } from '../providers/contract.ts';
import type { JobRef } from '../queues/contract.ts';
import type { CallResult } from './side-call.ts';

/** A worker sits out a wait up to this long; for a longer one it gives the call back, and its slot with it. */
const IN_PLACE_MS = 250;
/** A refusal that names no time. */
const UNSTATED_PAUSE_MS = 1_000;
/** Notices may be lost with the connection that brings them. */
const REFRESH_MS = 10_000;
const MINUTE_MS = 60_000;
const SECOND_MS = 1_000;

/** Legs with the same key are counted together. It names the credential, and never holds it. */
export function limitKey({ provider, baseUrl, apiKeyEnv, model }: Leg): string {
  return blake3Hex(canonicalJson([provider, baseUrl ?? null, apiKeyEnv ?? null, model]));
}

export interface LimitedCall {
  readonly leg: Leg;
  readonly ref: JobRef;
  /** Prompt and reply, estimated. */
  readonly tokens: number;
  readonly signal: AbortSignal;
}

/** `delayed`: the call was not made, and comes back later. */
export type Ran<Outcome> =
  | { readonly kind: 'ran'; readonly outcome: Outcome }
  | Extract<CallResult, { kind: 'delayed' | 'aborted' }>;

export interface RateLimiterOptions {
  readonly store: RateLimitStore;
  readonly workerId: string;
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

/** What the shared limiter was asked for, and has to be told the end of. */
interface Taken extends RateAllowance {
  readonly key: string;
  readonly call: string;
  readonly tokens: number;
}

const CAUSE_WORDS: Readonly<Record<RateCause, string>> = {
  pause: 'the provider asked to be left alone for a while',
  spacing: 'the provider refused calls lately, so they go one after the other',
  requests: 'its requests per minute are used up',
  tokens: 'its tokens per minute are used up',
  concurrent: 'as many calls as it allows are under way',
  line: 'others came before it',
};

export class RateLimiter {
  readonly #options: RateLimiterOptions;
  readonly #watched = new Set<string>();
  /** Keys named by a notice since the last question for all of them: its answer may be older. */
  readonly #heard = new Set<string>();
  readonly #paces = new Map<string, Pace>();
  readonly #pending = new Set<Promise<void>>();
  #stopRefresh: (() => void) | null = null;
  #stopped = false;

  constructor(options: RateLimiterOptions) {
    this.#options = options;
  }

  /** Learns which keys are limited now, and goes on asking now and then. */
  async start(): Promise<void> {
    await this.#refresh();
    this.#refreshLater();
  }

  /** Waits for what still has to be told. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#stopRefresh?.();
    this.#stopRefresh = null;
    await Promise.all(this.#pending);
  }

  /** A payload of `LIMITS_CHANNEL`. */
  hear(key: string): void {
    if (key === '') {
      this.#later(this.#refresh());
      return;
    }
    this.#watched.add(key);
    this.#heard.add(key);
  }

  /** Makes one call to the leg's provider when its limits allow, at once or after a short wait; else not at all. */
  async run<Outcome extends CallOutcome | MetadataOutcome>(
    limited: LimitedCall,
    call: () => Promise<Outcome>,
  ): Promise<Ran<Outcome>> {
    const key = limitKey(limited.leg);
    const entered = this.#silent(key, limited.leg) ? null : await this.#enter(key, limited);
    if (entered !== null && 'kind' in entered) return entered;
    const sentAtMs = this.#options.clock.monotonicMs();
    let outcome: Outcome | null = null;
    try {
      outcome = await call();
      return { kind: 'ran', outcome };
    } finally {
      if (entered !== null) this.#settle(entered, outcome === null ? null : spentTokens(outcome));
      if (outcome?.ok === true) this.#pace(key).answered(this.#options.clock.monotonicMs());
      if (outcome?.ok === false) await this.#refused(key, outcome.failure, sentAtMs);
    }
  }

  #silent(key: string, { limits }: Leg): boolean {
    return !this.#watched.has(key) && Object.keys(limits ?? {}).length === 0;
  }

  async #enter(key: string, { leg, ref, tokens, signal }: LimitedCall): Promise<Taken | NotMade> {
    const { store, workerId: worker, leaseMs, clock } = this.#options;
    const taken: Taken = { ...NO_ALLOWANCE, ...leg.limits, key, call: `${ref.actor}~${ref.child}`, tokens };
    const answer = await store.take({
      ...taken,
      tenant: ref.tenant,
      worker,
      inPlaceMs: IN_PLACE_MS,
      leaseMs,
    });
    if (!answer.granted) {
      const reason = storableText(`rate_limited: leg "${leg.name}" waits: ${CAUSE_WORDS[answer.cause]}`);
      return { kind: 'delayed', delayMs: Math.ceil(answer.waitMs), reason };
    }
    if (!answer.limited) this.#watched.delete(key);
    if (answer.waitMs > 0) await pause(clock, Math.ceil(answer.waitMs), signal);
    if (!signal.aborted) return taken;
    this.#settle(taken, 0);
    return { kind: 'aborted', drafts: [] };
  }

  /** Told beside the commit of the call, which does not wait for it. `spent` null: the estimate stands. */
  #settle({ key, call, tokens, tokensPerMinute, concurrent }: Taken, spent: number | null): void {
    const { store, workerId: worker } = this.#options;
    const usedTokens = spent ?? tokens;
    if (concurrent === null && (tokensPerMinute === null || usedTokens === tokens)) return;
    this.#later(store.settle({ key, call, worker, reservedTokens: tokens, usedTokens, tokensPerMinute }));
  }

  /** The limiter knows of the refusal before the call is given back, so that nobody takes its place. */
  async #refused(key: string, failure: ProviderFailure, sentAtMs: number): Promise<void> {
    const pauseMs = pauseOf(failure);
    if (pauseMs === null) return;
    this.hear(key);
    const nowMs = this.#options.clock.monotonicMs();
    const pacedMs = this.#pace(key).between(nowMs);
    const refusal = { key, pauseMs, sentAgoMs: nowMs - sentAtMs, pacedMs };
    await this.#options.store.penalise(refusal).catch(this.#options.onError);
  }

  #pace(key: string): Pace {
    const known = this.#paces.get(key) ?? new Pace();
    this.#paces.set(key, known);
    return known;
  }

  async #refresh(): Promise<void> {
    this.#heard.clear();
    const keys = await this.#options.store.limited();
    this.#watched.clear();
    for (const key of [...keys, ...this.#heard]) this.#watched.add(key);
  }

  #refreshLater(): void {
    if (this.#stopped) return;
    this.#stopRefresh = this.#options.clock.after(REFRESH_MS, () => {
      this.#later(this.#refresh().finally(() => this.#refreshLater()));
    });
  }

  #later(work: Promise<void>): void {
    const settled = work.catch(this.#options.onError);
    this.#pending.add(settled);
    void settled.finally(() => this.#pending.delete(settled));
  }
}

type NotMade = Extract<CallResult, { kind: 'delayed' | 'aborted' }>;

const NO_ALLOWANCE: RateAllowance = { requestsPerMinute: null, tokensPerMinute: null, concurrent: null };

/** What a call took from its tokens per minute; null where nobody knows. */
function spentTokens(outcome: CallOutcome | MetadataOutcome): number | null {
  if (!outcome.ok) return refusedUnread(outcome.failure) ? 0 : null;
  if (!('reply' in outcome)) return 0;
  const { usage } = outcome.reply;
  return usage === null ? null : promptTokens(usage) + usage.outputTokens;
}

function refusedUnread(failure: ProviderFailure): boolean {
  if (failure.kind === 'retryable') return failure.code === 'rate_limited' || failure.code === 'overloaded';
  return failure.kind === 'auth' || failure.kind === 'bad_request' || failure.kind === 'over_length';
}

/** How long the whole key is left alone; null for a failure that says nothing about the others. */
function pauseOf(failure: ProviderFailure): number | null {
  if (failure.kind !== 'retryable') return null;
  if (failure.code === 'rate_limited') return failure.retryAfterMs ?? UNSTATED_PAUSE_MS;
  return failure.code === 'overloaded' ? (failure.retryAfterMs ?? null) : null;
}

async function pause(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((resolve) => {
    const end = (): void => {
      disarm();
      signal.removeEventListener('abort', end);
      resolve();
    };
    const disarm = clock.after(delayMs, end);
    signal.addEventListener('abort', end, { once: true });
  });
}

/** How fast answers came in the last minute, kept by the second. */
class Pace {
  readonly #bySecond = new Map<number, number>();

  answered(nowMs: number): void {
    const second = Math.floor(nowMs / SECOND_MS);
    this.#bySecond.set(second, (this.#bySecond.get(second) ?? 0) + 1);
    this.#forget(nowMs);
  }

  /** Milliseconds from one answer to the next; null without one. */
  between(nowMs: number): number | null {
    this.#forget(nowMs);
    const [first] = this.#bySecond.keys();
    if (first === undefined) return null;
    const count = [...this.#bySecond.values()].reduce((sum, one) => sum + one, 0);
    return ((Math.floor(nowMs / SECOND_MS) + 1 - first) * SECOND_MS) / count;
  }

  #forget(nowMs: number): void {
    for (const second of this.#bySecond.keys())
      if (second * SECOND_MS <= nowMs - MINUTE_MS) this.#bySecond.delete(second);
  }
}
