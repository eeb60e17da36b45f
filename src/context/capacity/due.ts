/** Whether a model should be measured now, and why. */
import type { CapacityProfile } from './profile.ts';

const HOUR_MS = 3_600_000;
/** A local model is probed for free, and changes whenever its owner pulls another build. */
const LOCAL_TTL_MS = 24 * HOUR_MS;
const HOSTED_TTL_MS = 7 * 24 * HOUR_MS;

export interface DueInput {
  readonly profile: CapacityProfile;
  readonly isLocal: boolean;
  /** What the operator allows for hosted models. */
  readonly hosted: 'off' | 'full';
  readonly nowMs: number;
  /** Of the provider's present description; null where it was not asked. */
  readonly metadataDigest: string | null;
}

export type DueReason = 'unmeasured' | 'needs-reprobe' | 'metadata-changed' | 'stale';

/** null when no ladder is due, or none is allowed. */
export function probeDue({ profile, isLocal, hosted, nowMs, metadataDigest }: DueInput): DueReason | null {
  if (!isLocal && hosted === 'off') return null;
  const { provenance, needsReprobe } = profile;
  if (!provenance.rungs.some((rung) => rung.kind === 'horizon')) return 'unmeasured';
  if (needsReprobe) return 'needs-reprobe';
  if (metadataDigest !== null && metadataDigest !== provenance.metadataDigest) return 'metadata-changed';
  // A clock that went backwards gives a negative age, which is never stale.
  const ageMs = nowMs - provenance.probedAtMs;
  return ageMs > (isLocal ? LOCAL_TTL_MS : HOSTED_TTL_MS) ? 'stale' : null;
}

/** https://www.rfc-editor.org/rfc/rfc6761#section-6.3 for `localhost` and the names under it. */
const LOOPBACK_HOST = /^(?:(?:.+\.)?localhost\.?|127(?:\.\d+){3}|\[::1\]|\[::ffff:7f[\da-f]{2}:[\da-f]+\])$/;

export function isLocalLeg(leg: {
  readonly provider: string;
  readonly baseUrl?: string | undefined;
}): boolean {
  if (leg.provider === 'ollama') return true;
  if (leg.baseUrl === undefined || !URL.canParse(leg.baseUrl)) return false;
  return LOOPBACK_HOST.test(new URL(leg.baseUrl).hostname);
}
