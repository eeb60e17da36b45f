/** The profile that stands until a model was measured: what the operator, the provider and the catalogue state. */
import {
  type CapacityProfile,
  FALLBACK_WINDOW_TOKENS,
  INITIAL_TOKENS_PER_BYTE,
  METADATA_CONFIDENCE,
} from './profile.ts';
import { outputReserve } from './reserve.ts';

/** In tokens; null where not stated. What is no whole number of at least 1 counts as not stated. */
export interface MetadataFacts {
  readonly operatorWindow: number | null;
  readonly operatorMaxOutput: number | null;
  readonly providerWindow: number | null;
  readonly providerMaxOutput: number | null;
  readonly catalogueWindow: number | null;
  readonly catalogueMaxOutput: number | null;
  /** Digest of the provider's description of the model. */
  readonly metadataDigest: string | null;
  /** 0 when nobody asked the provider yet. */
  readonly probedAtMs: number;
}

/** The horizon equals the window, with low confidence. */
export function metadataProfile(facts: MetadataFacts): CapacityProfile {
  const window = firstStated(facts.operatorWindow, facts.providerWindow, facts.catalogueWindow);
  const reply = firstStated(facts.operatorMaxOutput, facts.providerMaxOutput, facts.catalogueMaxOutput);
  const declaredWindow = window?.tokens ?? FALLBACK_WINDOW_TOKENS;
  const output = {
    verifiedWindow: null,
    maxOutput: reply?.tokens ?? null,
    maxOutputSource: reply?.source ?? null,
    largestReply: { tokens: 0, samples: 0 },
  };
  return {
    declaredWindow,
    windowSource: window?.source ?? 'fallback',
    horizon: { tokens: declaredWindow, confidence: METADATA_CONFIDENCE, lastConfirmedMs: facts.probedAtMs },
    tokensPerByte: { value: INITIAL_TOKENS_PER_BYTE, samples: 0 },
    prefillTokensPerSecond: { value: 0, samples: 0 },
    cache: 'unknown',
    ...output,
    outputReserve: outputReserve({ declaredWindow, ...output }),
    closedTurnTokens: { value: 0, samples: 0 },
    prefixes: [],
    needsReprobe: false,
    provenance: {
      probedAtMs: facts.probedAtMs,
      rungs: facts.probedAtMs === 0 ? [] : [{ kind: 'metadata', targetTokens: null, verdict: 'read' }],
      signals: [],
      metadataDigest: facts.metadataDigest,
    },
  };
}

interface Stated {
  readonly tokens: number;
  readonly source: 'operator' | 'provider' | 'catalogue';
}

function firstStated(
  operator: number | null,
  provider: number | null,
  catalogue: number | null,
): Stated | null {
  if (isCount(operator)) return { tokens: operator, source: 'operator' };
  if (isCount(provider)) return { tokens: provider, source: 'provider' };
  if (isCount(catalogue)) return { tokens: catalogue, source: 'catalogue' };
  return null;
}

function isCount(value: number | null): value is number {
  return value !== null && Number.isInteger(value) && value >= 1;
}

const WINDOW_FIELDS = ['legs[].window', 'policy.options.contextWindow'] as const;

/** Where a window would be stated, for a model whose window was assumed. */
export interface WindowWarning {
  readonly code: 'window_assumed';
  readonly model: string;
  readonly tokens: number;
  readonly fields: typeof WINDOW_FIELDS;
  readonly message: string;
}

/** null for a window that somebody stated. To be given once per model; the caller keeps count. */
export function windowWarning(
  { windowSource, declaredWindow: tokens }: Pick<CapacityProfile, 'windowSource' | 'declaredWindow'>,
  leg: { readonly name: string; readonly model: string },
): WindowWarning | null {
  if (windowSource !== 'fallback') return null;
  const fields = WINDOW_FIELDS.map((field) => `\`${field}\``).join(' or ');
  return {
    code: 'window_assumed',
    model: leg.model,
    tokens,
    fields: WINDOW_FIELDS,
    message: `Nobody states the window of model ${leg.model} (leg ${leg.name}): ${tokens} tokens are assumed. Set ${fields}.`,
  };
}
