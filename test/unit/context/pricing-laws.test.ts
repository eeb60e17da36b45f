/** What holds for every price and every usage. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { costOf, estimateMicroUsd } from '../../../src/context/pricing/cost.ts';
import { rateOf } from '../../../src/context/pricing/rate.ts';
import { costStatus } from '../../../src/context/pricing/total.ts';
import { promptTokens } from '../../../src/context/request.ts';
import { sumOf } from '../../support/receipts.ts';

/** Dollars per million, to the micro-dollar. */
const usd = fc.nat({ max: 200_000_000 }).map((micro) => micro / 1_000_000);
const tokens = fc.nat({ max: 2_000_000 });
const usage = fc.record({
  inputTokens: tokens,
  cacheReadTokens: tokens,
  cacheWriteTokens: tokens,
  outputTokens: tokens,
});
const price = fc.record(
  { inputPerMillion: usd, cachedInputPerMillion: usd, cacheWritePerMillion: usd, outputPerMillion: usd },
  { requiredKeys: ['inputPerMillion', 'outputPerMillion'] },
);
const flat = price.map((made) => rateOf('leg:a', made));
/** A long prompt's prices are the others and something on top. */
const tiered = fc.tuple(price, tokens, usd).map(([base, aboveTokens, more]) => {
  const { inputPerMillion, cachedInputPerMillion, cacheWritePerMillion, outputPerMillion } = base;
  return rateOf('leg:a', {
    ...base,
    longPrompt: {
      aboveTokens,
      inputPerMillion: inputPerMillion + more,
      cachedInputPerMillion: (cachedInputPerMillion ?? inputPerMillion) + more,
      cacheWritePerMillion: (cacheWritePerMillion ?? inputPerMillion) + more,
      outputPerMillion: outputPerMillion + more,
    },
  });
});
const COUNTS = ['inputTokens', 'cacheReadTokens', 'cacheWriteTokens', 'outputTokens'] as const;

describe('the cost of a call', () => {
  it('CST-01 is a whole number, never negative, and no more than its estimate', () => {
    fc.assert(
      fc.property(fc.oneof(flat, tiered), usage, (rate, used) => {
        const cost = costOf(used, rate);
        expect(Number.isSafeInteger(cost) && cost >= 0).toBe(true);
        expect(cost).toBeLessThanOrEqual(estimateMicroUsd(promptTokens(used), used.outputTokens, rate));
      }),
    );
  });

  it('CST-01 grows with every count', () => {
    fc.assert(
      fc.property(
        fc.oneof(flat, tiered),
        usage,
        fc.constantFrom(...COUNTS),
        tokens,
        (rate, used, count, more) => {
          const grown = { ...used, [count]: used[count] + more };
          expect(costOf(grown, rate)).toBeGreaterThanOrEqual(costOf(used, rate));
        },
      ),
    );
  });

  it('CST-01 of two halves is that of the whole, but for one rounding each', () => {
    fc.assert(
      fc.property(flat, usage, usage, (rate, one, two) => {
        const whole = {
          inputTokens: one.inputTokens + two.inputTokens,
          cacheReadTokens: one.cacheReadTokens + two.cacheReadTokens,
          cacheWriteTokens: one.cacheWriteTokens + two.cacheWriteTokens,
          outputTokens: one.outputTokens + two.outputTokens,
        };
        expect(Math.abs(costOf(whole, rate) - costOf(one, rate) - costOf(two, rate))).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('CST-01 takes no notice of how much of the output was reasoning', () => {
    fc.assert(
      fc.property(fc.oneof(flat, tiered), usage, tokens, (rate, used, reasoningTokens) => {
        expect(costOf({ ...used, reasoningTokens }, rate)).toBe(costOf(used, rate));
      }),
    );
  });

  it('CST-01 of a million tokens of one kind is the price of that kind', () => {
    fc.assert(
      fc.property(price, (made) => {
        const rate = rateOf('leg:a', made);
        const none = { inputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 0 };
        const of = (count: (typeof COUNTS)[number]) =>
          costOf({ ...none, [count]: 1_000_000 }, rate) / 1_000_000;
        expect(of('inputTokens')).toBe(made.inputPerMillion);
        expect(of('cacheReadTokens')).toBe(made.cachedInputPerMillion ?? made.inputPerMillion);
        expect(of('cacheWriteTokens')).toBe(made.cacheWritePerMillion ?? made.inputPerMillion);
        expect(of('outputTokens')).toBe(made.outputPerMillion);
      }),
    );
  });
});

describe('a total', () => {
  const call = fc.record({ microUsd: fc.option(tokens, { nil: null }), cached: fc.boolean() });

  it('CST-01 counts every call once, bills the live ones, and is the same in any order', () => {
    fc.assert(
      fc.property(fc.array(call), (calls) => {
        const total = sumOf(calls);
        const live = calls.filter(({ cached }) => !cached);
        expect(total.priced + total.unpriced).toBe(calls.length);
        expect(total.unpriced).toBe(live.filter(({ microUsd }) => microUsd === null).length);
        expect(total.cached).toBe(calls.length - live.length);
        expect(total.microUsd).toBe(live.reduce((sum, { microUsd }) => sum + (microUsd ?? 0), 0));
        expect(sumOf(calls.toReversed())).toEqual(total);
        expect(costStatus(total) === 'priced').toBe(calls.length > 0 && total.unpriced === 0);
      }),
    );
  });
});
