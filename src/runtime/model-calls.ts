/**
 * One call to a model, for whatever purpose: asked of the cache, held against budgets, limited, made, receipted. Every
 * way out names its receipt, so nothing that was billed goes unwritten.
 */
import type { BudgetName } from '../checks/facts.ts';
import { costOf, estimateMicroUsd } from '../context/pricing/cost.ts';
import type { Rate } from '../context/pricing/rate.ts';
import type { ChatReply, ChatRequest } from '../context/request.ts';
import { type RequestKey, requestKey } from '../context/request-key.ts';
import { blake3Hex } from '../ledger/chain.ts';
import type { Clock } from '../ledger/clock.ts';
import { canonicalJson } from '../ledger/json.ts';
import type { BodyOf, CallPurpose, RecordDraft } from '../ledger/kinds.ts';
import type { CallOutcome, Delta, Leg, Provider } from '../providers/contract.ts';
import type { JobRef } from '../queues/contract.ts';
import type { Budgets, Spending } from './budgets.ts';
import type { ProbeWatch } from './probe-watch.ts';
import type { RateLimiter } from './rate-limiter.ts';
import { type CacheLookup, type CacheProbe, probeOf, type ResponseCache } from './response-cache.ts';
import type { CallResult } from './side-call.ts';

export interface BoundLeg {
  readonly leg: Leg;
  readonly provider: Provider;
}

export interface ModelCall {
  readonly ref: JobRef;
  readonly turnId: string | null;
  readonly step: number;
  readonly purpose: CallPurpose;
  readonly attempt: number;
  readonly bound: BoundLeg;
  readonly request: ChatRequest;
  readonly requestDigest: string;
  readonly requestBytes: number;
  readonly prefixDigest: string | null;
  /** Estimates: what is reserved of limits, and held against budgets. */
  readonly promptTokens: number;
  readonly replyTokens: number;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** What the turn may cost and has cost; null for a call that no turn asks for. */
  readonly spending: Spending | null;
  readonly onDelta?: (delta: Delta) => void;
  /** The limits let it through: it is sent now. */
  readonly onSend?: () => void;
}

/** `budget-spent`: not made, since it could pass a budget. `not-cached`: only kept replies are wanted, and there is none. */
export type Called =
  | {
      readonly kind: 'called';
      readonly outcome: CallOutcome;
      readonly receipt: RecordDraft;
      readonly microUsd: number | null;
      readonly cached: boolean;
      readonly tookMs: number;
    }
  | { readonly kind: 'budget-spent'; readonly budget: BudgetName }
  | { readonly kind: 'not-cached'; readonly receipt: RecordDraft }
  | Extract<CallResult, { kind: 'delayed' | 'aborted' }>;

export interface ModelCallsOptions {
  readonly limiter: RateLimiter;
  readonly cache: ResponseCache;
  readonly budgets: Budgets;
  readonly watch: ProbeWatch;
  readonly clock: Clock;
  /** null for a leg nobody states a price of. */
  readonly rateOf: (leg: Leg, atUtc: string) => Rate | null;
  readonly onError: (error: unknown) => void;
}

export class ModelCalls {
  readonly #options: ModelCallsOptions;

  constructor(options: ModelCallsOptions) {
    this.#options = options;
  }

  async make(call: ModelCall): Promise<Called> {
    if (call.purpose === 'probe') return this.#send(call, null, NOT_LOOKED);
    const leave = this.#options.watch.enter(call.bound.leg);
    try {
      return await this.#forTurn(call);
    } finally {
      leave();
    }
  }

  async #forTurn(call: ModelCall): Promise<Called> {
    const { cache } = this.#options;
    // The key is a digest of the whole request: nothing that a call without a cache has to pay for.
    const key = cache.isOff ? null : keyOf(call);
    const lookup = key === null ? 'not-looked' : await cache.lookup(key);
    const probe = probeOf(lookup);
    if (lookup !== 'not-looked' && lookup.hit !== null) return this.#fromCache(call, lookup, probe);
    if (lookup !== 'not-looked' && !lookup.mayCall) {
      const failure = { kind: 'bad_request', message: 'No reply to this request is kept.' } as const;
      return { kind: 'not-cached', receipt: this.#receipt(call, { ok: false, failure }, probe, 0).receipt };
    }
    const budget = await this.#overBudget(call);
    return budget === null ? this.#send(call, key, probe) : { kind: 'budget-spent', budget };
  }

  #fromCache(call: ModelCall, { reply }: Extract<CacheLookup, { hit: string }>, probe: CacheProbe): Called {
    const whole: ChatReply = { ...reply, firstTokenMs: null, totalMs: 0 };
    call.onSend?.();
    for (const block of whole.content)
      if (block.type === 'text') call.onDelta?.({ type: 'text', text: block.text });
    const outcome = { ok: true, reply: whole } as const;
    return { kind: 'called', outcome, cached: true, tookMs: 0, ...this.#receipt(call, outcome, probe, 0) };
  }

  async #overBudget({
    ref,
    bound,
    promptTokens,
    replyTokens,
    spending,
  }: ModelCall): Promise<BudgetName | null> {
    if (spending === null) return null;
    const rate = this.#rate(bound.leg);
    const next = {
      tokens: promptTokens + replyTokens,
      microUsd: rate === null ? 0 : estimateMicroUsd(promptTokens, replyTokens, rate),
    };
    return this.#options.budgets.passed(ref, spending, next);
  }

  async #send(call: ModelCall, key: RequestKey | null, probe: CacheProbe): Promise<Called> {
    const { limiter, clock, cache, onError } = this.#options;
    const { bound, ref, promptTokens, replyTokens, signal, timeoutMs, onDelta } = call;
    let tookMs = 0;
    const tokens = promptTokens + replyTokens;
    const ran = await limiter.run({ leg: bound.leg, ref, tokens, signal }, async () => {
      call.onSend?.();
      const startedMs = clock.monotonicMs();
      const options = { signal, timeoutMs, ...(onDelta === undefined ? {} : { onDelta }) };
      const outcome = await bound.provider.call(call.request, options);
      tookMs = Math.round(clock.monotonicMs() - startedMs);
      return outcome;
    });
    if (ran.kind !== 'ran') return ran;
    const { outcome } = ran;
    if (outcome.ok && key !== null) cache.keep(key, outcome.reply).catch(onError);
    return { kind: 'called', outcome, cached: false, tookMs, ...this.#receipt(call, outcome, probe, tookMs) };
  }

  #rate(leg: Leg): Rate | null {
    return this.#options.rateOf(leg, this.#nowUtc());
  }

  #nowUtc(): string {
    return new Date(this.#options.clock.nowMs()).toISOString();
  }

  #receipt(call: ModelCall, outcome: CallOutcome, probe: CacheProbe, totalMs: number) {
    const { turnId, ref, step, purpose, attempt, bound, request, requestDigest, requestBytes, prefixDigest } =
      call;
    const { leg } = bound;
    const reply = outcome.ok ? outcome.reply : null;
    const usage = reply?.usage ?? null;
    const rate = this.#rate(leg);
    const cached = probe.request === 'hit';
    const priced = rate === null || usage === null ? null : costOf(usage, rate);
    const microUsd = cached ? 0 : priced;
    const body: BodyOf<'work-receipt'> = {
      child: ref.child,
      step,
      purpose,
      leg: leg.name,
      provider: leg.provider,
      model: reply?.model ?? leg.model,
      attempt,
      settlement: outcome.ok ? 'answered' : settlementOf(outcome.failure),
      problem: outcome.ok ? null : outcome.failure.message,
      usage,
      at: this.#nowUtc(),
      microUsd,
      rate: microUsd === null ? null : (rate?.id ?? null),
      ...(probe.request === 'none' ? {} : { cache: { request: probe.request, layers: probe.layers } }),
      requestDigest,
      ...continuedOf(request),
      prefixDigest,
      requestBytes,
      firstTokenMs: reply?.firstTokenMs ?? null,
      totalMs,
    };
    const receipt: RecordDraft = { kind: 'work-receipt', turnId, body };
    return { receipt, microUsd };
  }
}

const NOT_LOOKED: CacheProbe = { request: 'none', layers: {} };

export function settlementOf(failure: Extract<CallOutcome, { ok: false }>['failure']): string {
  return failure.kind === 'retryable' ? failure.code : failure.kind;
}

function continuedOf({ continues, messages }: ChatRequest): Pick<BodyOf<'work-receipt'>, 'continued'> {
  if (continues === undefined) return {};
  const sentDigest = blake3Hex(canonicalJson(messages.slice(continues.from)));
  return { continued: { messages: continues.from, sentDigest } };
}

function keyOf({ ref: { tenant }, bound: { leg }, request }: ModelCall): RequestKey {
  const { provider, model, baseUrl: endpoint = '' } = leg;
  return requestKey({ tenant, provider, endpoint, model, request });
}
