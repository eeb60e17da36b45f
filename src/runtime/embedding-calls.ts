/** Calls to an embedding leg: limited like every call to its provider, and receipted whatever came of them. */
import { INITIAL_TOKENS_PER_BYTE } from '../context/capacity/profile.ts';
import { costOf } from '../context/pricing/cost.ts';
import type { Rate } from '../context/pricing/rate.ts';
import type { ChatReply } from '../context/request.ts';
import { blake3Hex } from '../ledger/chain.ts';
import type { Clock } from '../ledger/clock.ts';
import { byteLength, canonicalJson } from '../ledger/json.ts';
import type { BodyOf, RecordDraft } from '../ledger/kinds.ts';
import type { CallOutcome, Leg, Provider } from '../providers/contract.ts';
import type { JobRef } from '../queues/contract.ts';
import { settlementOf } from './model-calls.ts';
import type { RateLimiter } from './rate-limiter.ts';

export interface EmbeddingCall {
  /** Names the call to the limits and in its receipt. */
  readonly ref: JobRef;
  readonly texts: readonly string[];
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** One vector a text, in their order. */
export type Embedding =
  | { readonly ok: true; readonly vectors: readonly (readonly number[])[]; readonly reply: ChatReply }
  | Extract<CallOutcome, { ok: false }>;

/** `not-made`: the leg's limits hold it back, or nobody waits for it any more. */
export type Embedded =
  | { readonly kind: 'called'; readonly outcome: Embedding; readonly receipt: RecordDraft }
  | { readonly kind: 'not-made' };

export interface EmbeddingCallsOptions {
  readonly leg: Leg;
  readonly embed: NonNullable<Provider['embed']>;
  readonly limiter: Pick<RateLimiter, 'run'>;
  readonly clock: Clock;
  /** null for a leg nobody states a price of. */
  readonly rateOf: (leg: Leg, atUtc: string) => Rate | null;
}

export class EmbeddingCalls {
  readonly #options: EmbeddingCallsOptions;

  constructor(options: EmbeddingCallsOptions) {
    this.#options = options;
  }

  get leg(): Leg {
    return this.#options.leg;
  }

  async make(call: EmbeddingCall): Promise<Embedded> {
    const { leg, embed, limiter, clock } = this.#options;
    const { ref, texts, signal } = call;
    const timeoutMs = Math.min(call.timeoutMs, leg.timeoutMs);
    const tokens = Math.ceil(bytesOf(texts) * INITIAL_TOKENS_PER_BYTE);
    let totalMs = 0;
    const ran = await limiter.run({ leg, ref, tokens, signal }, async (): Promise<Embedding> => {
      const startedMs = clock.monotonicMs();
      const embedded = await embed(texts, { signal, timeoutMs });
      totalMs = Math.round(clock.monotonicMs() - startedMs);
      if (!embedded.ok) return embedded;
      const { vectors, inputTokens } = embedded;
      return { ok: true, vectors, reply: wordless(leg, inputTokens, totalMs) };
    });
    if (ran.kind !== 'ran') return { kind: 'not-made' };
    const { outcome } = ran;
    return { kind: 'called', outcome, receipt: this.#receipt(call, outcome, totalMs) };
  }

  #receipt({ ref, texts }: EmbeddingCall, outcome: Embedding, totalMs: number): RecordDraft {
    const { leg, clock, rateOf } = this.#options;
    const at = new Date(clock.nowMs()).toISOString();
    const usage = outcome.ok ? outcome.reply.usage : null;
    const rate = rateOf(leg, at);
    const microUsd = rate === null || usage === null ? null : costOf(usage, rate);
    const body: BodyOf<'work-receipt'> = {
      child: ref.child,
      step: 0,
      purpose: 'embedding',
      leg: leg.name,
      provider: leg.provider,
      model: leg.model,
      attempt: 1,
      settlement: outcome.ok ? 'answered' : settlementOf(outcome.failure),
      problem: outcome.ok ? null : outcome.failure.message,
      usage,
      at,
      microUsd,
      rate: microUsd === null ? null : (rate?.id ?? null),
      requestDigest: blake3Hex(canonicalJson([leg.model, ...texts])),
      prefixDigest: null,
      requestBytes: bytesOf(texts),
      firstTokenMs: null,
      totalMs,
    };
    return { kind: 'work-receipt', turnId: null, body };
  }
}

/** What limits and prices know of an embedding: a prompt that was read, and no reply. */
function wordless({ model }: Leg, inputTokens: number | null, totalMs: number): ChatReply {
  const none = { cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 0 };
  const usage = inputTokens === null ? null : { inputTokens, ...none };
  return { content: [], finish: 'stop', usage, model, firstTokenMs: null, totalMs };
}

function bytesOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + byteLength(text), 0);
}
