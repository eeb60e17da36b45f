/** What a probe found, put together with what was known. Pure. */
import { type CacheSample, judgeCache } from '../context/capacity/cache-rung.ts';
import { observePrefix } from '../context/capacity/feedback.ts';
import type { LadderResult } from '../context/capacity/ladder.ts';
import { withLadder } from '../context/capacity/measured.ts';
import type { CapacityProfile, MeasuredPrefix } from '../context/capacity/profile.ts';
import { outputReserve } from '../context/capacity/reserve.ts';

export interface ProbeFindings {
  readonly ladder: LadderResult | null;
  readonly prefix: MeasuredPrefix | null;
  /** As the probe's own requests were counted. */
  readonly tokensPerByte: number;
  readonly cache: readonly CacheSample[];
  readonly signals: readonly string[];
}

export const NOTHING_FOUND: ProbeFindings = {
  ladder: null,
  prefix: null,
  tokensPerByte: 0,
  cache: [],
  signals: [],
};

/** `onLeg`: a cheaper leg of the family that the ladder ran on; null where it was the leg itself. */
export function measuredProfile({
  current,
  stated,
  nowMs,
  found,
  onLeg,
}: {
  readonly current: CapacityProfile;
  readonly stated: CapacityProfile;
  readonly nowMs: number;
  readonly found: ProbeFindings;
  readonly onLeg: string | null;
}): CapacityProfile {
  const { ladder, prefix, tokensPerByte, cache, signals } = found;
  const described = withRatio(withMeans(stated, current), tokensPerByte);
  const climbed = ladder === null ? described : withLadder(described, ladder, { probedAtMs: nowMs });
  const measured = climbed === described ? withEarlierLadder(described, current) : climbed;
  const counted = prefix === null ? measured : observePrefix(measured, prefix.digest, prefix.tokens);
  const [first, second] = cache;
  const judged = first === undefined || second === undefined ? null : judgeCache(first, second);
  const { provenance } = counted;
  const said = onLeg === null ? [] : [`the ladder ran on leg ${onLeg} of the same family`];
  return {
    ...counted,
    cache: judged?.cache ?? counted.cache,
    provenance: {
      ...provenance,
      rungs: [...provenance.rungs, ...(judged === null ? [] : [judged.rung])],
      signals: [...said, ...signals, ...(judged?.signals ?? [])],
    },
  };
}

/** A model keeps what calls taught of it, whatever its provider says now. */
function withMeans(stated: CapacityProfile, current: CapacityProfile): CapacityProfile {
  const { tokensPerByte, prefillTokensPerSecond, closedTurnTokens, largestReply, prefixes, cache } = current;
  const kept = {
    ...stated,
    tokensPerByte,
    prefillTokensPerSecond,
    closedTurnTokens,
    largestReply,
    prefixes,
    cache,
  };
  return { ...kept, outputReserve: outputReserve(kept) };
}

/** The same model as before: what an earlier ladder found of it still stands, and what it refused since. */
function withEarlierLadder(described: CapacityProfile, current: CapacityProfile): CapacityProfile {
  const { provenance, horizon, verifiedWindow, needsReprobe } = current;
  const isOther = provenance.metadataDigest !== described.provenance.metadataDigest;
  if (provenance.metadataDigest !== null && isOther) return described;
  if (provenance.rungs.some(({ kind }) => kind === 'horizon'))
    return { ...described, horizon, verifiedWindow, needsReprobe, provenance };
  if (!needsReprobe) return described;
  const tokens = Math.min(horizon.tokens, described.horizon.tokens);
  return { ...described, horizon: { ...horizon, tokens }, verifiedWindow, needsReprobe };
}

/** Until a turn's call says more, the probe's ratio is a better guess than none; the first call still replaces it. */
function withRatio(profile: CapacityProfile, tokensPerByte: number): CapacityProfile {
  if (profile.tokensPerByte.samples > 0 || tokensPerByte <= 0) return profile;
  return { ...profile, tokensPerByte: { value: tokensPerByte, samples: 0 } };
}
