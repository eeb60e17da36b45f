/** What a sum of costs leaves out. */
import type { UsageCounts } from '../../ledger/usage.ts';

/** `partial`: the priced part only. A sum never hides that some of its calls have no price. */
export type CostStatus = 'priced' | 'partial' | 'unpriced' | 'no-calls';

export function costStatus({ priced, unpriced }: Pick<UsageCounts, 'priced' | 'unpriced'>): CostStatus {
  if (unpriced === 0) return priced === 0 ? 'no-calls' : 'priced';
  return priced === 0 ? 'unpriced' : 'partial';
}
