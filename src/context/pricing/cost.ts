/** What a call cost, and what it may cost at most. Exact until the one rounding at the end. */
import { promptTokens, type Usage } from '../request.ts';
import { type Rate, type TierRates, tierFor } from './rate.ts';

/** Micro-dollars per million tokens, times tokens. */
const PER_MICRO_USD = 1_000_000n;

/** Whole micro-dollars, half rounded up, once a call. Reasoning is part of the output, so it is charged with it. */
export function costOf(usage: Usage, rate: Rate): number {
  return charged(usage, tierFor(rate, promptTokens(usage)));
}

/** The most a call may cost, whatever part of the prompt a cache holds or takes. Whole micro-dollars. */
export function estimateMicroUsd(promptTokens: number, replyTokens: number, rate: Rate): number {
  const tier = tierFor(rate, promptTokens);
  const dearest = Math.max(
    tier.inputMicroUsdPerMillion,
    tier.cachedInputMicroUsdPerMillion,
    tier.cacheWriteMicroUsdPerMillion,
  );
  const usage = {
    inputTokens: promptTokens,
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
    outputTokens: replyTokens,
  };
  return charged(usage, { ...tier, inputMicroUsdPerMillion: dearest });
}

function charged(usage: Usage, tier: TierRates): number {
  const exact =
    BigInt(usage.inputTokens) * BigInt(tier.inputMicroUsdPerMillion) +
    BigInt(usage.cacheReadTokens) * BigInt(tier.cachedInputMicroUsdPerMillion) +
    BigInt(usage.cacheWriteTokens) * BigInt(tier.cacheWriteMicroUsdPerMillion) +
    BigInt(usage.outputTokens) * BigInt(tier.outputMicroUsdPerMillion);
  return Number((exact + PER_MICRO_USD / 2n) / PER_MICRO_USD);
}
