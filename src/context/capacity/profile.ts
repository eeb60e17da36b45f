/**
 * What a model was measured to use. The only input to budgeting: everything that sizes a request is read
 * from here, and everything here says where it came from.
 */

/** Exponentially weighted mean (weight 0.3 on the newest); the first sample replaces the starting value. */
export interface Ewma {
  readonly value: number;
  readonly samples: number;
}

/** The largest prompt, in tokens, at which the model still followed an instruction; confidence in 0..1. */
export interface Horizon {
  readonly tokens: number;
  readonly confidence: number;
  readonly lastConfirmedMs: number;
}

export type CacheBehaviour = 'unknown' | 'none' | 'prefix-stable' | 'provider-reported';

/** `truncated`: the provider read far less than was sent, and said nothing. */
export type RungVerdict = 'read' | 'followed' | 'not-followed' | 'rejected' | 'truncated' | 'failed';

/** One rung of the ladder: what was sent, what came back. `metadata` is the rung that asks the provider. */
export interface Rung {
  readonly kind: 'metadata' | 'prefix' | 'horizon' | 'cache';
  /** Tokens aimed at; null where none were. */
  readonly targetTokens: number | null;
  readonly verdict: RungVerdict;
  /** Samples taken for the verdict, and those of them that agreed with it; left out for a single request. */
  readonly samples?: number;
  readonly agreed?: number;
}

export interface ProbeProvenance {
  /** 0 when nobody asked the provider yet. */
  readonly probedAtMs: number;
  readonly rungs: readonly Rung[];
  readonly signals: readonly string[];
  /** Digest of the provider's own description of the model; another digest makes the profile stale. */
  readonly metadataDigest: string | null;
}

/** Where the declared window came from, best first. */
export type WindowSource = 'operator' | 'provider' | 'catalogue' | 'fallback';

/** Tokens of one stable prefix, as the provider counted them. */
export interface MeasuredPrefix {
  readonly digest: string;
  readonly tokens: number;
}

export interface CapacityProfile {
  readonly declaredWindow: number;
  readonly windowSource: WindowSource;
  /** Largest prompt the provider is known to accept; null until one was refused. */
  readonly verifiedWindow: number | null;
  readonly horizon: Horizon;
  /** Prompt tokens (all cache tiers) per UTF-8 byte sent, schemas included, thinking and images excluded. */
  readonly tokensPerByte: Ewma;
  /** Fresh prompt tokens per second, from calls that read nothing from a cache. */
  readonly prefillTokensPerSecond: Ewma;
  readonly cache: CacheBehaviour;
  /** The most a reply may have: the operator's cap, else what the provider or the catalogue states; null where nobody does. */
  readonly maxOutput: number | null;
  /** Who says so; null where nobody does. */
  readonly maxOutputSource: Exclude<WindowSource, 'fallback'> | null;
  /** The largest reply seen; `samples` replies were. */
  readonly largestReply: { readonly tokens: number; readonly samples: number };
  /** Tokens kept free for the reply. */
  readonly outputReserve: number;
  /** Verbatim size of closed turns, in tokens: what the open turn is expected to need. */
  readonly closedTurnTokens: Ewma;
  /** Newest last, at most `MOST_PREFIXES`. */
  readonly prefixes: readonly MeasuredPrefix[];
  readonly needsReprobe: boolean;
  readonly provenance: ProbeProvenance;
}

export const METADATA_CONFIDENCE = 0.3;
/** Used only until a first usage report arrives. */
export const INITIAL_TOKENS_PER_BYTE = 0.25;
/** When neither operator, provider nor catalogue states a window; reported with a warning. */
export const FALLBACK_WINDOW_TOKENS = 128_000;
/** When neither operator nor provider states a reply limit and no reply was seen yet. */
export const FALLBACK_OUTPUT_RESERVE_TOKENS = 2_000;
export const MOST_PREFIXES = 8;
