/** What calls cost together. A total never hides that some of its calls have no price. */

export interface CostTotal {
  /** Whole micro-dollars of the calls that have a price. */
  readonly microUsd: number;
  readonly pricedCalls: number;
  readonly unpricedCalls: number;
  /** Replies from our own cache: never billed, counted among the priced. */
  readonly cachedCalls: number;
}

/** `partial`: `microUsd` is the priced part only. */
export type CostStatus = 'priced' | 'partial' | 'unpriced' | 'no-calls';

/** `microUsd` is null without a price or a usage report; of a cached reply it is what the first call cost. */
export interface CallCost {
  readonly microUsd: number | null;
  readonly cached: boolean;
}

export const NO_CALLS: CostTotal = { microUsd: 0, pricedCalls: 0, unpricedCalls: 0, cachedCalls: 0 };

export function addCost(total: CostTotal, call: CallCost): CostTotal {
  if (call.cached)
    return { ...total, pricedCalls: total.pricedCalls + 1, cachedCalls: total.cachedCalls + 1 };
  if (call.microUsd === null) return { ...total, unpricedCalls: total.unpricedCalls + 1 };
  return { ...total, microUsd: total.microUsd + call.microUsd, pricedCalls: total.pricedCalls + 1 };
}

export function costStatus({ pricedCalls, unpricedCalls }: CostTotal): CostStatus {
  if (unpricedCalls === 0) return pricedCalls === 0 ? 'no-calls' : 'priced';
  return pricedCalls === 0 ? 'unpriced' : 'partial';
}
