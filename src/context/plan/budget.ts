/** How many tokens a prompt may have, and how many of them are left for history. */
import type { CapacityProfile } from '../capacity/profile.ts';
import { tokensOf } from '../capacity/tokens.ts';
import type { PlanInput, PlanOptions } from './contract.ts';
import { PLAN_DEFAULTS } from './options.ts';

export type CeilingOptions = Pick<PlanOptions, 'reserve' | 'reserveTokens' | 'contextWindow'>;

/** Largest prompt, in tokens. The horizon measures the prompt alone, so by default the reply is charged to the window. */
export function promptCeiling(profile: CapacityProfile, options: CeilingOptions = PLAN_DEFAULTS): number {
  const window = Math.min(
    profile.declaredWindow,
    profile.verifiedWindow ?? Number.POSITIVE_INFINITY,
    options.contextWindow ?? Number.POSITIVE_INFINITY,
  );
  const reply = options.reserveTokens ?? profile.outputReserve;
  const { tokens: horizon } = profile.horizon;
  const ceiling =
    options.reserve === 'window' ? Math.min(horizon, window - reply) : Math.min(horizon, window) - reply;
  return Math.max(0, Math.floor(ceiling));
}

export type BudgetInput = Pick<
  PlanInput<unknown>,
  'profile' | 'options' | 'prefixBytes' | 'countedTokens' | 'resetBytes' | 'openTurnBytes'
>;

/** Tokens for history. The open turn counts at least as much as turns were seen to grow to. 0 is no history, no failure. */
export function historyBudget(input: BudgetInput): number {
  const { profile, options, resetBytes, openTurnBytes } = input;
  const open = Math.max(tokensOf(openTurnBytes, profile), Math.ceil(profile.closedTurnTokens.value));
  const taken = prefixTokens(input) + tokensOf(resetBytes, profile) + open;
  const planned = Math.floor((1 - options.safetyMarginRatio) * promptCeiling(profile, options));
  return Math.max(0, planned - taken);
}

export function prefixTokens({
  profile,
  prefixBytes,
  countedTokens = 0,
}: Pick<BudgetInput, 'profile' | 'prefixBytes' | 'countedTokens'>): number {
  return countedTokens + tokensOf(prefixBytes, profile);
}
