/** What calls to models came to, by day, leg and purpose: added up from their receipts, and never otherwise. */
import type { BodyOf, CallPurpose, RecordDraft } from './kinds.ts';

type Receipt = BodyOf<'work-receipt'>;

export interface UsageKey {
  /** UTC, `YYYY-MM-DD`. */
  readonly day: string;
  readonly leg: string;
  readonly purpose: CallPurpose;
}

/** Tokens of replies that a cache gave are in none of the sums: nobody was billed for them. */
export interface UsageCounts {
  readonly calls: number;
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  readonly reasoningTokens: number;
  /** Of the calls that could be priced. */
  readonly microUsd: number;
  readonly priced: number;
  /** Calls the provider answered that no rate is known for. */
  readonly unpriced: number;
  /** Calls for which a cache of replies was asked, and those it answered; then each layer's own. */
  readonly looked: number;
  readonly cached: number;
  readonly processLooked: number;
  readonly processHits: number;
  readonly storeLooked: number;
  readonly storeHits: number;
}

export interface UsageRow extends UsageKey, UsageCounts {}

export const NO_USAGE: UsageCounts = {
  calls: 0,
  inputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  outputTokens: 0,
  reasoningTokens: 0,
  microUsd: 0,
  priced: 0,
  unpriced: 0,
  looked: 0,
  cached: 0,
  processLooked: 0,
  processHits: 0,
  storeLooked: 0,
  storeHits: 0,
};

const COUNTS = Object.keys(NO_USAGE) as readonly (keyof UsageCounts)[];

export function addCounts(a: UsageCounts, b: UsageCounts): UsageCounts {
  return Object.fromEntries(COUNTS.map((name) => [name, a[name] + b[name]])) as unknown as UsageCounts;
}

export function usageKey({ day, leg, purpose }: UsageKey): string {
  return `${day}/${leg}/${purpose}`;
}

/** What the receipts among these drafts add. */
export function usageOf(drafts: readonly RecordDraft[]): readonly UsageRow[] {
  const totals = new UsageTotals();
  for (const draft of drafts) if (draft.kind === 'work-receipt') totals.add(draft.body);
  return totals.rows();
}

export class UsageTotals {
  readonly #rows = new Map<string, UsageRow>();

  add(receipt: Receipt): void {
    const key = { day: receipt.at.slice(0, 10), leg: receipt.leg, purpose: receipt.purpose };
    const name = usageKey(key);
    const counts = addCounts(this.#rows.get(name) ?? NO_USAGE, countsOf(receipt));
    this.#rows.set(name, { ...key, ...counts });
  }

  /** In the order of their keys. */
  rows(): readonly UsageRow[] {
    return [...this.#rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
  }
}

function countsOf({ usage, microUsd, cache }: Receipt): UsageCounts {
  const cached = cache?.request === 'hit';
  const { process, store } = cache?.layers ?? {};
  const billed = cached || usage === null ? null : usage;
  return {
    calls: 1,
    inputTokens: billed?.inputTokens ?? 0,
    cacheReadTokens: billed?.cacheReadTokens ?? 0,
    cacheWriteTokens: billed?.cacheWriteTokens ?? 0,
    outputTokens: billed?.outputTokens ?? 0,
    reasoningTokens: billed?.reasoningTokens ?? 0,
    microUsd: microUsd ?? 0,
    priced: microUsd === null ? 0 : 1,
    unpriced: billed !== null && microUsd === null ? 1 : 0,
    looked: cache === undefined ? 0 : 1,
    cached: cached ? 1 : 0,
    processLooked: process === undefined ? 0 : 1,
    processHits: process === 'hit' ? 1 : 0,
    storeLooked: store === undefined ? 0 : 1,
    storeHits: store === 'hit' ? 1 : 0,
  };
}
