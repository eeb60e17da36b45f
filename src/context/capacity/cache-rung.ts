/** Whether a model's provider keeps prompts: one request sent twice, and what the second cost. */
import { blake3Hex } from '../../ledger/chain.ts';
import { type ProbeRequest, probeRequest } from './filler.ts';
import type { CacheBehaviour, Rung } from './profile.ts';

/**
 * About 4,000, and a unit of filler above the longest prompt that a provider still refuses to keep, 4,096 tokens:
 * https://docs.claude.com/en/docs/build-with-claude/prompt-caching
 */
const CACHE_RUNG_TOKENS = 4_400;
/** A kept prompt is answered so many times sooner. */
const KEPT_SPEEDUP = 5;

/**
 * Asks for the whole of it to be kept, for wires that keep nothing unasked. Shares no unit with the ladder's requests of
 * the same seed, which would be kept already; `seed` is to be another for each probe, for the same reason.
 */
export function cacheRequest(tokensPerByte: number, seed: string): ProbeRequest {
  const own = `${seed} cache`;
  const { request, requestBytes } = probeRequest({
    targetTokens: CACHE_RUNG_TOKENS,
    tokensPerByte,
    seed: own,
  });
  const cache = { key: blake3Hex(own), breakpoints: [request.messages.length - 1] };
  return { request: { ...request, cache }, requestBytes };
}

export interface CacheSample {
  /** null when the provider does not report it. */
  readonly cacheReadTokens: number | null;
  readonly firstTokenMs: number | null;
  readonly failed: boolean;
}

export interface CacheJudgement {
  readonly cache: CacheBehaviour;
  readonly rung: Rung;
  /** For the profile's provenance. */
  readonly signals: readonly string[];
}

export function judgeCache(first: CacheSample, second: CacheSample): CacheJudgement {
  const failed = first.failed || second.failed;
  const latencies = `first token after ${shown(first.firstTokenMs)}, then after ${shown(second.firstTokenMs)}`;
  return {
    cache: failed ? 'unknown' : behaviourOf(first, second),
    rung: { kind: 'cache', targetTokens: CACHE_RUNG_TOKENS, verdict: failed ? 'failed' : 'read' },
    signals: [`cache rung: ${latencies}; ${second.cacheReadTokens ?? 'unreported'} tokens from the cache`],
  };
}

function behaviourOf(first: CacheSample, second: CacheSample): CacheBehaviour {
  if ((second.cacheReadTokens ?? 0) > 0) return 'provider-reported';
  const before = first.firstTokenMs ?? 0;
  const sooner = second.firstTokenMs !== null && second.firstTokenMs * KEPT_SPEEDUP <= before;
  return before > 0 && sooner ? 'prefix-stable' : 'none';
}

function shown(latencyMs: number | null): string {
  return latencyMs === null ? 'an unknown time' : `${Math.round(latencyMs)} ms`;
}
