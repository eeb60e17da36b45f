/** How long the reply to a planned request may get. */
import { type CapacityProfile, FALLBACK_OUTPUT_RESERVE_TOKENS } from '../context/capacity/profile.ts';
import { tokensOf } from '../context/capacity/tokens.ts';
import type { BodyOf } from '../ledger/kinds.ts';

export function profileOf(plan: BodyOf<'context-plan'>): CapacityProfile {
  return plan.profile as unknown as CapacityProfile;
}

/** A ratio is a mean: a request may weigh so much more than it says. */
const ESTIMATE_SLACK = 1.03;
/** A reply that may fill the rest of the window leaves the estimate less room to be wrong in. */
const LONG_REPLY_SLACK = 1.1;

/**
 * The reply may take what the window leaves, up to the cap or what the model writes at most; the reserve in any case,
 * and at least one token.
 */
export function replyTokens(profile: CapacityProfile, cap: number | null, promptBytes: number): number {
  const window = Math.min(profile.declaredWindow, profile.verifiedWindow ?? profile.declaredWindow);
  const { outputReserve } = profile;
  const most = cap ?? profile.maxOutput ?? Math.max(outputReserve, FALLBACK_OUTPUT_RESERVE_TOKENS);
  const left = (slack: number): number => window - Math.ceil(slack * tokensOf(promptBytes, profile));
  const reserved = Math.min(most, outputReserve, left(ESTIMATE_SLACK));
  return Math.max(1, reserved, Math.min(most, left(LONG_REPLY_SLACK)));
}
