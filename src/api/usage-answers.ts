/** Sums of usage as the answers show them. Pure. */
import type { z } from 'zod';
import { costStatus } from '../context/pricing/total.ts';
import type { UsageGroup, UsageSum } from '../db/usage.ts';
import { addCounts, NO_USAGE, type UsageCounts } from '../ledger/usage.ts';
import type { cost, usageReport } from './usage-schemas.ts';

type Report = z.infer<typeof usageReport>;
type Lookups = Report['total']['response_cache']['by_layer']['process'];

export function usageAnswer(
  by: UsageGroup,
  {
    rows,
    more,
    total,
  }: { readonly rows: readonly UsageSum[]; readonly more: boolean; readonly total: UsageCounts },
): Report {
  return {
    by,
    rows: rows.map((row) => ({ key: row.key, ...sumsAnswer(row) })),
    more,
    total: sumsAnswer(total),
  };
}

export function totalOf(sums: readonly UsageCounts[]): UsageCounts {
  return sums.reduce(addCounts, NO_USAGE);
}

export function costAnswer(sums: UsageCounts): z.infer<typeof cost> {
  const status = costStatus(sums);
  return { cost_micro_usd: sums.microUsd, cost_status: status === 'no-calls' ? 'no_calls' : status };
}

function sumsAnswer(sums: UsageCounts): Report['total'] {
  return {
    calls: sums.calls,
    input_tokens: sums.inputTokens,
    cache_read_tokens: sums.cacheReadTokens,
    cache_write_tokens: sums.cacheWriteTokens,
    output_tokens: sums.outputTokens,
    reasoning_tokens: sums.reasoningTokens,
    ...costAnswer(sums),
    priced_calls: sums.priced,
    unpriced_calls: sums.unpriced,
    response_cache: {
      ...lookups(sums.looked, sums.cached),
      by_layer: {
        process: lookups(sums.processLooked, sums.processHits),
        store: lookups(sums.storeLooked, sums.storeHits),
      },
    },
  };
}

function lookups(looked: number, hits: number): Lookups {
  return { hits, misses: looked - hits, rate: looked === 0 ? null : hits / looked };
}
