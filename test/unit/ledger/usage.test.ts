import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type BodyOf, CALL_PURPOSES, type RecordDraft } from '../../../src/ledger/kinds.ts';
import {
  addCounts,
  NO_USAGE,
  type UsageRow,
  UsageTotals,
  usageKey,
  usageOf,
} from '../../../src/ledger/usage.ts';

type Receipt = BodyOf<'work-receipt'>;

const USAGE = {
  inputTokens: 100,
  cacheReadTokens: 20,
  cacheWriteTokens: 3,
  outputTokens: 40,
  reasoningTokens: 7,
};

function receipt(change: Partial<Receipt> = {}): Receipt {
  return {
    child: 'step-1',
    step: 1,
    purpose: 'step',
    leg: 'main',
    provider: 'openai',
    model: 'm',
    attempt: 1,
    settlement: 'answered',
    problem: null,
    usage: USAGE,
    at: '2026-03-04T23:59:59.999Z',
    microUsd: 321,
    rate: 'leg:main',
    requestDigest: 'd',
    prefixDigest: null,
    requestBytes: 400,
    firstTokenMs: 1,
    totalMs: 2,
    ...change,
  };
}

const draft = (body: Receipt): RecordDraft => ({ kind: 'work-receipt', turnId: null, body });

function one(change: Partial<Receipt>): UsageRow {
  const [row, ...others] = usageOf([draft(receipt(change))]);
  if (row === undefined || others.length > 0) throw new Error('a receipt is one row');
  return row;
}

describe('what a receipt adds to usage', () => {
  it('CST-01 counts a priced call by day, leg and purpose', () => {
    expect(one({})).toEqual({
      ...NO_USAGE,
      ...USAGE,
      day: '2026-03-04',
      leg: 'main',
      purpose: 'step',
      calls: 1,
      microUsd: 321,
      priced: 1,
    });
  });

  it('CST-01 a call that nobody prices is counted as unpriced, with its tokens', () => {
    expect(one({ microUsd: null, rate: null })).toMatchObject({
      microUsd: 0,
      priced: 0,
      unpriced: 1,
      inputTokens: 100,
    });
  });

  it('CST-01 a call without an answer is a call, and neither priced nor unpriced', () => {
    expect(one({ settlement: 'overloaded', usage: null, microUsd: null, rate: null })).toMatchObject({
      calls: 1,
      priced: 0,
      unpriced: 0,
      inputTokens: 0,
    });
  });

  it('CST-02 a reply from a cache adds no token and no cost, and its layers are counted', () => {
    const cache = { request: 'hit', layers: { process: 'miss', store: 'hit' } } as const;
    expect(one({ cache, microUsd: 0 })).toEqual({
      ...NO_USAGE,
      day: '2026-03-04',
      leg: 'main',
      purpose: 'step',
      calls: 1,
      priced: 1,
      looked: 1,
      cached: 1,
      processLooked: 1,
      storeLooked: 1,
      storeHits: 1,
    });
  });

  it('CST-02 a miss is a lookup without a hit, and a call that is billed', () => {
    expect(one({ cache: { request: 'miss', layers: { process: 'miss' } } })).toMatchObject({
      looked: 1,
      cached: 0,
      processLooked: 1,
      processHits: 0,
      storeLooked: 0,
      microUsd: 321,
      outputTokens: 40,
    });
  });

  it('CST-01 other records add nothing', () => {
    expect(usageOf([{ kind: 'session-archived', turnId: null, body: {} }])).toEqual([]);
  });
});

describe('usage added up', () => {
  const receipts = fc.array(
    fc.record({
      leg: fc.constantFrom('main', 'spare'),
      purpose: fc.constantFrom(...CALL_PURPOSES),
      at: fc.constantFrom('2026-03-04T23:59:59.999Z', '2026-03-05T00:00:00.000Z'),
      microUsd: fc.option(fc.nat({ max: 9_000 })),
      usage: fc.option(fc.constant(USAGE)),
    }),
    { maxLength: 30 },
  );

  it('LED-03 is the same in one go, hop by hop, and in any order', () => {
    fc.assert(
      fc.property(receipts, fc.infiniteStream(fc.nat()), (changes, order) => {
        const drafts = changes.map((change) => draft(receipt(change)));
        const whole = usageOf(drafts);
        const hops = new Map<string, UsageRow>();
        for (const added of [...drafts].sort(() => (order.next().value % 2) - 0.5))
          for (const row of usageOf([added])) {
            const { day, leg, purpose, ...counts } = row;
            const {
              day: _d,
              leg: _l,
              purpose: _p,
              ...before
            } = hops.get(usageKey(row)) ?? { ...row, ...NO_USAGE };
            hops.set(usageKey(row), { day, leg, purpose, ...addCounts(before, counts) });
          }
        expect([...hops].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)).toEqual(whole);
        const totals = new UsageTotals();
        for (const change of changes) totals.add(receipt(change));
        expect(totals.rows()).toEqual(whole);
      }),
    );
  });

  it('CST-01 loses no call', () => {
    fc.assert(
      fc.property(receipts, (changes) => {
        const rows = usageOf(changes.map((change) => draft(receipt(change))));
        const sum = (name: 'calls' | 'microUsd') => rows.reduce((total, row) => total + row[name], 0);
        expect(sum('calls')).toBe(changes.length);
        expect(sum('microUsd')).toBe(changes.reduce((total, { microUsd }) => total + (microUsd ?? 0), 0));
      }),
    );
  });
});
