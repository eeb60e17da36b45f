/** A profile with what its ladder found. */
import { type LadderResult, largestFollowed } from './ladder.ts';
import type { CapacityProfile } from './profile.ts';
import { outputReserve } from './reserve.ts';

/**
 * The means, the prefixes and the rungs before the ladder stay; earlier ladders give way. The profile itself, where the
 * ladder ended before it decided a rung: a guess with a new date would outrank what was measured.
 */
export function withLadder(
  profile: CapacityProfile,
  result: LadderResult,
  { probedAtMs }: { readonly probedAtMs: number },
): CapacityProfile {
  if (!result.rungs.some(({ verdict }) => verdict !== 'failed')) return profile;
  const { provenance, windowSource } = profile;
  const followed = largestFollowed(result.rungs);
  // A prompt that was followed was accepted, whatever an earlier refusal or an assumption says.
  const declaredWindow =
    windowSource === 'fallback' ? Math.max(profile.declaredWindow, followed) : profile.declaredWindow;
  const verifiedWindow = verified(profile.verifiedWindow, result.verifiedWindow, followed);
  const tokens = Math.min(result.horizonTokens, declaredWindow, verifiedWindow ?? Number.POSITIVE_INFINITY);
  const earlier = provenance.rungs.filter(({ kind }) => kind === 'metadata' || kind === 'prefix');
  const measured: CapacityProfile = {
    ...profile,
    declaredWindow,
    verifiedWindow,
    horizon: { tokens, confidence: result.confidence, lastConfirmedMs: probedAtMs },
    needsReprobe: result.needsReprobe,
    provenance: { ...provenance, probedAtMs, rungs: [...earlier, ...result.rungs] },
  };
  return { ...measured, outputReserve: outputReserve(measured) };
}

function verified(known: number | null, found: number | null, followed: number): number | null {
  if (known === null && found === null) return null;
  const unbounded = Number.POSITIVE_INFINITY;
  return Math.max(followed, Math.min(known ?? unbounded, found ?? unbounded));
}
