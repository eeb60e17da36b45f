/** Binding a profile: never waits, never guesses more than it says. Feedback only ever tightens. */
import {
  type CapacityProfile,
  FALLBACK_OUTPUT_RESERVE_TOKENS,
  FALLBACK_WINDOW_TOKENS,
  INITIAL_TOKENS_PER_BYTE,
  METADATA_CONFIDENCE,
  type WindowSource,
} from './profile.ts';

/** A rejected request lowers the horizon to this share of itself. */
const REJECTED_SHARE = 0.9;
const TIGHTENED_CONFIDENCE = 0.6;

export interface StatedCapacity {
  readonly operatorWindow: number | null;
  readonly operatorMaxOutput: number | null;
  readonly providerWindow: number | null;
  readonly providerMaxOutput: number | null;
}

export interface MetadataFacts extends StatedCapacity {
  readonly metadataDigest: string | null;
  /** 0 when nobody asked the provider yet. */
  readonly probedAtMs: number;
}

/** The profile that stands until a ladder ran: the horizon equals the window, with low confidence. */
export function metadataProfile(facts: MetadataFacts): CapacityProfile {
  const [declaredWindow, windowSource] = resolveWindow(facts);
  const stated =
    facts.operatorMaxOutput ??
    Math.min(facts.providerMaxOutput ?? FALLBACK_OUTPUT_RESERVE_TOKENS, FALLBACK_OUTPUT_RESERVE_TOKENS);
  return {
    declaredWindow,
    windowSource,
    verifiedWindow: null,
    horizon: { tokens: declaredWindow, confidence: METADATA_CONFIDENCE, lastConfirmedMs: facts.probedAtMs },
    tokensPerByte: { value: INITIAL_TOKENS_PER_BYTE, samples: 0 },
    prefillTokensPerSecond: { value: 0, samples: 0 },
    cache: 'unknown',
    outputReserve: Math.min(stated, Math.floor(declaredWindow / 2)),
    closedTurnTokens: { value: 0, samples: 0 },
    needsReprobe: false,
    provenance: {
      probedAtMs: facts.probedAtMs,
      rungs: facts.probedAtMs === 0 ? [] : [{ kind: 'metadata', targetTokens: null, verdict: 'read' }],
      signals: [],
      metadataDigest: facts.metadataDigest,
    },
  };
}

function resolveWindow(facts: StatedCapacity): readonly [number, WindowSource] {
  if (facts.operatorWindow !== null) return [facts.operatorWindow, 'operator'];
  if (facts.providerWindow !== null) return [facts.providerWindow, 'provider'];
  return [FALLBACK_WINDOW_TOKENS, 'fallback'];
}

export interface Rejection {
  readonly rejectedTokens: number;
  readonly limitTokens?: number | undefined;
}

/** What an over-length refusal teaches: the window is smaller than the request it refused. */
export function applyRejection(profile: CapacityProfile, rejection: Rejection): CapacityProfile {
  const { rejectedTokens, limitTokens } = rejection;
  const verified = Math.min(
    profile.verifiedWindow ?? Number.POSITIVE_INFINITY,
    Math.max(1, rejectedTokens - 1),
  );
  const horizon = Math.min(
    profile.horizon.tokens,
    Math.floor(REJECTED_SHARE * rejectedTokens),
    limitTokens ?? Number.POSITIVE_INFINITY,
  );
  return {
    ...profile,
    declaredWindow: limitTokens ?? profile.declaredWindow,
    verifiedWindow: verified,
    horizon: { ...profile.horizon, tokens: Math.max(1, horizon), confidence: TIGHTENED_CONFIDENCE },
    needsReprobe: true,
  };
}

const EWMA_WEIGHT = 0.3;

/** Every prompt token billed, cache tiers included, over every byte sent. The first sample replaces the guess. */
export function observeRatio(
  profile: CapacityProfile,
  promptTokens: number,
  requestBytes: number,
): CapacityProfile {
  if (promptTokens <= 0 || requestBytes <= 0) return profile;
  const { value, samples } = profile.tokensPerByte;
  const seen = promptTokens / requestBytes;
  const mean = samples === 0 ? seen : value + EWMA_WEIGHT * (seen - value);
  return { ...profile, tokensPerByte: { value: mean, samples: samples + 1 } };
}
