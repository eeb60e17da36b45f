/** Two profiles of one model as one: what each process learnt meets in the shared row, and none of it is lost. */
import { type CapacityProfile, type Ewma, MOST_PREFIXES } from './profile.ts';
import { outputReserve } from './reserve.ts';

/**
 * What was probed later stands, with the means of the one that saw more. Of two with the same probe the lower horizon
 * and window stand: between probes both only shrink.
 */
export function mergeProfiles(one: CapacityProfile, other: CapacityProfile): CapacityProfile {
  const [older, newer] =
    one.provenance.probedAtMs > other.provenance.probedAtMs ? [other, one] : [one, other];
  const tightened =
    older.provenance.probedAtMs === newer.provenance.probedAtMs ? tighter(older, newer) : newer;
  const merged: CapacityProfile = {
    ...tightened,
    tokensPerByte: fuller(older.tokensPerByte, newer.tokensPerByte),
    prefillTokensPerSecond: fuller(older.prefillTokensPerSecond, newer.prefillTokensPerSecond),
    closedTurnTokens: fuller(older.closedTurnTokens, newer.closedTurnTokens),
    largestReply: {
      tokens: Math.max(older.largestReply.tokens, newer.largestReply.tokens),
      samples: Math.max(older.largestReply.samples, newer.largestReply.samples),
    },
    prefixes: prefixesOf(older, newer),
  };
  return { ...merged, outputReserve: outputReserve(merged) };
}

function tighter(one: CapacityProfile, other: CapacityProfile): CapacityProfile {
  const lower = one.horizon.tokens < other.horizon.tokens ? one : other;
  return {
    ...lower,
    verifiedWindow: lesser(one.verifiedWindow, other.verifiedWindow),
    horizon: { ...lower.horizon, confidence: Math.min(one.horizon.confidence, other.horizon.confidence) },
    needsReprobe: one.needsReprobe || other.needsReprobe,
  };
}

function fuller(one: Ewma, other: Ewma): Ewma {
  return one.samples > other.samples ? one : other;
}

function prefixesOf(older: CapacityProfile, newer: CapacityProfile): CapacityProfile['prefixes'] {
  const known = new Set(newer.prefixes.map(({ digest }) => digest));
  return [...older.prefixes.filter(({ digest }) => !known.has(digest)), ...newer.prefixes].slice(
    -MOST_PREFIXES,
  );
}

function lesser(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other;
  return Math.min(one, other);
}
