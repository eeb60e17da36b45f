/** Receipts of calls that differ in what they cost alone. */
import type { BodyOf } from '../../src/ledger/kinds.ts';
import { NO_USAGE, type UsageCounts, UsageTotals } from '../../src/ledger/usage.ts';

/** `microUsd` is null without a price; of a cached reply nothing is billed, whatever it once cost. */
export interface CallCost {
  readonly microUsd: number | null;
  readonly cached: boolean;
}

const RECEIPT: BodyOf<'work-receipt'> = {
  child: 'step-1',
  step: 1,
  purpose: 'step',
  leg: 'main',
  provider: 'openai',
  model: 'm',
  attempt: 1,
  settlement: 'answered',
  problem: null,
  usage: { inputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 1 },
  at: '2026-11-30T12:00:00.000Z',
  microUsd: null,
  rate: null,
  requestDigest: '',
  prefixDigest: null,
  requestBytes: 4,
  firstTokenMs: null,
  totalMs: 1,
};

export function sumOf(calls: readonly CallCost[]): UsageCounts {
  const totals = new UsageTotals();
  for (const { microUsd, cached } of calls)
    totals.add(
      cached
        ? { ...RECEIPT, microUsd: 0, cache: { request: 'hit', layers: { process: 'hit' } } }
        : { ...RECEIPT, microUsd },
    );
  return totals.rows()[0] ?? NO_USAGE;
}
