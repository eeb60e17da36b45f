/**
 * What calls teach of the model that answered them. Means follow what was billed; a horizon and a verified window only
 * ever shrink here: to raise them is a probe's alone. A profile is given what its own leg did, never what stood in.
 */
import { promptTokens, type Usage } from '../request.ts';
import { type CapacityProfile, type Ewma, MOST_PREFIXES } from './profile.ts';
import { outputReserve } from './reserve.ts';

const EWMA_WEIGHT = 0.3;
const LOWERED_CONFIDENCE = 0.6;
/** A rejected request lowers the horizon to this share of itself. */
const REJECTED_SHARE = 0.9;
/** Below this share of the horizon, size is not why an instruction was missed. */
const NEAR_SHARE = 0.8;
/** A reply cut by its limit says only that more was needed. */
const CUT_REPLY_FACTOR = 2;
const MOVED_SHARE = 0.05;
/** Of a shorter prompt most of the wait is the way there and back. */
const LEAST_TIMED_TOKENS = 1_000;

export interface CallSample {
  readonly usage: Usage;
  /** UTF-8 bytes sent: system text, tool schemas of this leg and messages, without thinking. */
  readonly requestBytes: number;
  readonly firstTokenMs: number | null;
  /** True when the reply ended at its token limit. */
  readonly finishedByLength: boolean;
}

export function observe(profile: CapacityProfile, sample: CallSample): CapacityProfile {
  const { usage, requestBytes, firstTokenMs } = sample;
  // Cached tokens stand for bytes that were sent like all others: without them the ratio falls with every hit.
  const prompt = promptTokens(usage);
  const billed = prompt > 0;
  const measured: CapacityProfile = {
    ...profile,
    tokensPerByte:
      billed && requestBytes > 0 ? mean(profile.tokensPerByte, prompt / requestBytes) : profile.tokensPerByte,
    prefillTokensPerSecond:
      prompt >= LEAST_TIMED_TOKENS && usage.cacheReadTokens === 0 && firstTokenMs !== null && firstTokenMs > 0
        ? mean(profile.prefillTokensPerSecond, (prompt * 1_000) / firstTokenMs)
        : profile.prefillTokensPerSecond,
    largestReply: largerReply(profile.largestReply, sample),
  };
  return { ...measured, outputReserve: outputReserve(measured) };
}

function largerReply(
  { tokens, samples }: CapacityProfile['largestReply'],
  { usage: { outputTokens }, finishedByLength }: CallSample,
): CapacityProfile['largestReply'] {
  if (outputTokens <= 0) return { tokens, samples };
  const needed = finishedByLength ? CUT_REPLY_FACTOR * outputTokens : outputTokens;
  return { tokens: Math.max(tokens, needed), samples: samples + 1 };
}

/** `tokens`: the closed turn's verbatim size. */
export function observeClosedTurn(profile: CapacityProfile, tokens: number): CapacityProfile {
  if (tokens <= 0) return profile;
  return { ...profile, closedTurnTokens: mean(profile.closedTurnTokens, tokens) };
}

/** `tokens`: what the provider counted for the prefix of that digest; takes the place of what was known of it. */
export function observePrefix(profile: CapacityProfile, digest: string, tokens: number): CapacityProfile {
  const others = profile.prefixes.filter((prefix) => prefix.digest !== digest);
  return { ...profile, prefixes: [...others, { digest, tokens }].slice(-MOST_PREFIXES) };
}

export interface Rejection {
  readonly rejectedTokens: number;
  /** The window, where the provider's error states it. */
  readonly limitTokens?: number | undefined;
}

/** What an over-length refusal teaches: the window is smaller than the request it refused. */
export function applyRejection(profile: CapacityProfile, rejection: Rejection): CapacityProfile {
  const { rejectedTokens, limitTokens } = rejection;
  const unbounded = Number.POSITIVE_INFINITY;
  const horizon = Math.min(
    profile.horizon.tokens,
    Math.floor(REJECTED_SHARE * rejectedTokens),
    limitTokens ?? unbounded,
  );
  const lowered: CapacityProfile = {
    ...profile,
    declaredWindow: limitTokens ?? profile.declaredWindow,
    windowSource: limitTokens === undefined ? profile.windowSource : 'provider',
    verifiedWindow: Math.min(profile.verifiedWindow ?? unbounded, Math.max(1, rejectedTokens - 1)),
    horizon: { ...profile.horizon, tokens: Math.max(1, horizon), confidence: LOWERED_CONFIDENCE },
    needsReprobe: true,
  };
  return { ...lowered, outputReserve: outputReserve(lowered) };
}

/** The model missed an explicit instruction in a request of so many tokens. */
export function tighten(profile: CapacityProfile, requestTokens: number): CapacityProfile {
  if (!isNear(profile, requestTokens)) return profile;
  const tokens = Math.max(1, Math.min(profile.horizon.tokens, Math.floor(requestTokens)));
  return {
    ...profile,
    horizon: { ...profile.horizon, tokens, confidence: LOWERED_CONFIDENCE },
    needsReprobe: true,
  };
}

/** The model repeated an earlier answer: near the horizon a reason to doubt and to measure, not to shrink. */
export function drifted(profile: CapacityProfile, requestTokens: number): CapacityProfile {
  if (!isNear(profile, requestTokens)) return profile;
  const confidence = Math.min(profile.horizon.confidence, LOWERED_CONFIDENCE);
  return { ...profile, horizon: { ...profile.horizon, confidence }, needsReprobe: true };
}

function isNear(profile: CapacityProfile, requestTokens: number): boolean {
  return requestTokens >= NEAR_SHARE * profile.horizon.tokens;
}

/** Whether a change is worth a record: another horizon, or a measure that moved by more than a twentieth. */
export function moved(before: CapacityProfile, after: CapacityProfile): boolean {
  if (before.horizon.tokens !== after.horizon.tokens) return true;
  const now = measuresOf(after);
  return measuresOf(before).some((was, at) => Math.abs((now[at] ?? 0) - was) > MOVED_SHARE * was);
}

/** 0 for what is not known. */
function measuresOf(profile: CapacityProfile): readonly number[] {
  return [
    profile.horizon.confidence,
    profile.declaredWindow,
    profile.verifiedWindow ?? 0,
    profile.tokensPerByte.value,
    profile.prefillTokensPerSecond.value,
    profile.maxOutput ?? 0,
    profile.largestReply.tokens,
    profile.outputReserve,
    profile.closedTurnTokens.value,
  ];
}

function mean({ value, samples }: Ewma, seen: number): Ewma {
  return { value: samples === 0 ? seen : value + EWMA_WEIGHT * (seen - value), samples: samples + 1 };
}
