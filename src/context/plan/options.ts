import type { PlanOptions } from './contract.ts';

/** Turns are whole for as far as the budget goes, in the order of their value. */
export const PLAN_DEFAULTS: PlanOptions = {
  promotedShare: 0.25,
  eligibility: 'recency',
  signals: 'all',
  steady: false,
  wholeShare: 1,
  reserve: 'window',
  safetyMarginRatio: 0,
  reserveTokens: null,
  contextWindow: null,
};

export function planOptions(chosen: Partial<PlanOptions> = {}): PlanOptions {
  return { ...PLAN_DEFAULTS, ...chosen };
}
