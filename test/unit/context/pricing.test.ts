import { describe, expect, it } from 'vitest';
import { findModel } from '../../../src/context/catalogue/find.ts';
import { costOf, estimateMicroUsd } from '../../../src/context/pricing/cost.ts';
import { type ListPrice, rateOf } from '../../../src/context/pricing/rate.ts';
import { cheapestOf, rateAt, resolveRate } from '../../../src/context/pricing/resolve.ts';
import { costStatus } from '../../../src/context/pricing/total.ts';
import type { Usage } from '../../../src/context/request.ts';
import { type CallCost, sumOf } from '../../support/receipts.ts';

const ON = '2026-11-30T12:00:00.000Z';

function usage(
  inputTokens: number,
  cacheReadTokens: number,
  cacheWriteTokens: number,
  outputTokens: number,
): Usage {
  return { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens };
}

/** As receipts add up. */
function totalOf(calls: readonly CallCost[]) {
  const { microUsd, priced, unpriced, cached } = sumOf(calls);
  return { microUsd, priced, unpriced, cached, status: costStatus({ priced, unpriced }) };
}

describe('the cost of a call', () => {
  it('CST-01 charges each cache tier at its own rate, in whole micro-dollars', () => {
    const rate = rateOf('leg:a', {
      inputPerMillion: 3,
      cachedInputPerMillion: 0.3,
      cacheWritePerMillion: 3.75,
      outputPerMillion: 15,
    });
    expect(costOf(usage(1_000, 0, 0, 0), rate)).toBe(3_000);
    expect(costOf(usage(0, 1_000, 0, 0), rate)).toBe(300);
    expect(costOf(usage(0, 0, 1_000, 0), rate)).toBe(3_750);
    expect(costOf(usage(0, 0, 0, 1_000), rate)).toBe(15_000);
    expect(costOf(usage(1_000, 1_000, 1_000, 1_000), rate)).toBe(22_050);
  });

  it('CST-01 charges a cache tier without a price as input', () => {
    const rate = rateOf('leg:a', { inputPerMillion: 2, outputPerMillion: 8 });
    expect(costOf(usage(10, 20, 30, 0), rate)).toBe(costOf(usage(60, 0, 0, 0), rate));
    const free = rateOf('leg:a', { inputPerMillion: 2, cachedInputPerMillion: 0, outputPerMillion: 8 });
    expect(costOf(usage(0, 500, 0, 0), free)).toBe(0);
  });

  it('CST-01 rounds once a call, half up', () => {
    const rate = rateOf('leg:a', { inputPerMillion: 0.3, cachedInputPerMillion: 0.1, outputPerMillion: 0.5 });
    expect(costOf(usage(1, 0, 0, 0), rate)).toBe(0);
    expect(costOf(usage(0, 0, 0, 1), rate)).toBe(1);
    // 0.3 + 0.1 + 0.1 = 0.5; rounding each part, or adding as floats, gives 0.
    expect(costOf(usage(1, 2, 0, 0), rate)).toBe(1);
    expect(costOf(usage(1, 1, 0, 0), rate)).toBe(0);
  });

  it('CST-01 is exact where a float is not', () => {
    const rate = rateOf('leg:a', { inputPerMillion: 900, outputPerMillion: 0.000_001 });
    // 900 × 10^6 × 11,000,019 + 499,999 is odd and past 2^53: a float makes it 500,000, and rounds up.
    expect(costOf(usage(11_000_019, 0, 0, 500_000), rate)).toBe(9_900_017_101);
    expect(costOf(usage(11_000_019, 0, 0, 499_999), rate)).toBe(9_900_017_100);
  });

  it('CST-01 charges the whole of a long prompt at its own rates, from the token after the limit', () => {
    const haiku = findModel('claude-haiku-5-5');
    const rate = haiku === null ? null : rateAt(haiku, ON);
    if (rate === null) throw new Error('The catalogue lost claude-haiku-5-5.');
    expect(costOf(usage(40_000, 50_000, 10_000, 1_000), rate)).toBe(4_000 + 500 + 1_250 + 500);
    expect(costOf(usage(40_001, 50_000, 10_000, 1_000), rate)).toBe(20_001 + 2_500 + 6_250 + 2_500);
  });

  it.each([-1, Number.NaN, Number.POSITIVE_INFINITY, -0.000_001])('CST-01 refuses a price of %d', (wrong) => {
    const right: ListPrice = { inputPerMillion: 1, outputPerMillion: 1 };
    for (const key of [
      'inputPerMillion',
      'cachedInputPerMillion',
      'cacheWritePerMillion',
      'outputPerMillion',
    ] as const) {
      expect(() => rateOf('leg:a', { ...right, [key]: wrong })).toThrow(/leg:a/u);
      expect(() =>
        rateOf('leg:a', { ...right, longPrompt: { ...right, aboveTokens: 1, [key]: wrong } }),
      ).toThrow(RangeError);
    }
  });
});

describe('whose price a leg pays', () => {
  const price: ListPrice = { inputPerMillion: 1, outputPerMillion: 2 };
  const other: ListPrice = { inputPerMillion: 7, outputPerMillion: 9 };
  const leg = { name: 'main', model: 'house-large' };
  const mapping = { 'house-large': 'gemini-2.5-flash' };
  const idOf = (...args: Parameters<typeof resolveRate>) => resolveRate(...args)?.id ?? null;

  it('CST-01 its own before the configuration’s, before the catalogue’s, before none', () => {
    const pricing = { 'house-large': other };
    expect(idOf({ ...leg, price }, { pricing, mapping, atUtc: ON })).toBe('leg:main');
    expect(idOf(leg, { pricing, mapping, atUtc: ON })).toBe('config:house-large');
    expect(idOf(leg, { mapping, atUtc: ON })).toBe('catalogue:gemini-2.5-flash@2026-10-06');
    expect(idOf(leg, { atUtc: ON })).toBeNull();
  });

  it('CST-01 finds the configuration’s by the leg’s model first, then by the one it is mapped to', () => {
    const both = { 'house-large': other, 'gemini-2.5-flash': price };
    expect(idOf(leg, { pricing: both, mapping, atUtc: ON })).toBe('config:house-large');
    const mappedOnly = { 'gemini-2.5-flash': price };
    expect(resolveRate(leg, { pricing: mappedOnly, mapping, atUtc: ON })).toMatchObject({
      id: 'config:gemini-2.5-flash',
      inputMicroUsdPerMillion: 1_000_000,
      outputMicroUsdPerMillion: 2_000_000,
    });
  });

  it('CST-01 takes the catalogue’s price of the day, and none before the first or where it is unknown', () => {
    const flash = { name: 'main', model: 'google/gemini-2.5-flash' };
    expect(resolveRate(flash, { atUtc: ON })).toMatchObject({
      inputMicroUsdPerMillion: 300_000,
      cachedInputMicroUsdPerMillion: 30_000,
      outputMicroUsdPerMillion: 2_500_000,
    });
    expect(idOf(flash, { atUtc: '2026-10-05T23:59:59Z' })).toBeNull();
    const sonnet = { name: 'main', model: 'claude-sonnet-5-5' };
    expect(idOf(sonnet, { atUtc: '2026-10-01T00:00:00Z' })).toBe('catalogue:claude-sonnet-5-5@2026-09-28');
    expect(idOf(sonnet, { atUtc: ON })).toBe('catalogue:claude-sonnet-5-5@2026-10-07');
    const promoted = { name: 'main', model: 'gemini-3.8-flash' };
    expect(idOf(promoted, { atUtc: '2026-12-31T23:59:59Z' })).toBe('catalogue:gemini-3.8-flash@2026-09-02');
    expect(idOf(promoted, { atUtc: '2027-01-01T00:00:00Z' })).toBeNull();
    expect(idOf({ name: 'main', model: 'gpt-oss-120b' }, { atUtc: ON })).toBeNull();
  });
});

describe('the cheapest leg', () => {
  const small = { name: 'small', model: 'unknown', price: { inputPerMillion: 1, outputPerMillion: 3 } };
  const twin = { name: 'twin', model: 'unknown', price: { inputPerMillion: 3, outputPerMillion: 1 } };
  const flash = { name: 'flash', model: 'gemini-2.5-flash' };
  const unpriced = { name: 'local', model: 'unknown' };

  it('CAP-11 is the one whose input and output rates sum to the least, whoever states them', () => {
    expect(cheapestOf([unpriced, small, flash], { atUtc: ON })).toBe(flash);
    expect(
      cheapestOf([flash, small], {
        pricing: { 'gemini-2.5-flash': { inputPerMillion: 9, outputPerMillion: 9 } },
        atUtc: ON,
      }),
    ).toBe(small);
  });

  it('CAP-11 is the first of equals, and none when none has a price', () => {
    expect(cheapestOf([small, twin], { atUtc: ON })).toBe(small);
    expect(cheapestOf([twin, small], { atUtc: ON })).toBe(twin);
    expect(cheapestOf([unpriced, unpriced], { atUtc: ON })).toBeNull();
    expect(cheapestOf([], { atUtc: ON })).toBeNull();
  });
});

describe('a total', () => {
  it('CST-01 says whether every call in it has a price', () => {
    expect(totalOf([]).status).toBe('no-calls');
    expect(totalOf([{ microUsd: 0, cached: false }]).status).toBe('priced');
    expect(totalOf([{ microUsd: null, cached: false }])).toMatchObject({ microUsd: 0, status: 'unpriced' });
    expect(
      totalOf([
        { microUsd: 5, cached: false },
        { microUsd: null, cached: false },
      ]),
    ).toEqual({
      microUsd: 5,
      priced: 1,
      unpriced: 1,
      cached: 0,
      status: 'partial',
    });
  });

  it('CST-01 never bills a cached reply, with a price or without', () => {
    expect(
      totalOf([
        { microUsd: 900, cached: true },
        { microUsd: null, cached: true },
      ]),
    ).toEqual({
      microUsd: 0,
      priced: 2,
      unpriced: 0,
      cached: 2,
      status: 'priced',
    });
  });

  it('CST-01 of a hit, a miss and a strict miss is the live call’s: a strict miss makes none', () => {
    const flash = resolveRate({ name: 'flash', model: 'gemini-2.5-flash' }, { atUtc: ON });
    if (flash === null) throw new Error('The catalogue lost gemini-2.5-flash.');
    const cost = costOf(usage(1_000, 0, 0, 100), flash);
    const total = totalOf([
      { microUsd: cost, cached: true },
      { microUsd: cost, cached: false },
    ]);
    expect(total).toMatchObject({ microUsd: 550, priced: 2, cached: 1, status: 'priced' });
  });

  it('CST-01 of a mixed session is the sum made by hand, to the micro-dollar', () => {
    const at = { pricing: { 'house-small': { inputPerMillion: 0.05, outputPerMillion: 0.2 } } };
    const calls: readonly (readonly [string, string, Usage | null, boolean])[] = [
      ['claude-sonnet-5-5', '2026-10-06T23:00:00Z', usage(1_203, 18_004, 2_111, 777), false],
      ['claude-sonnet-5-5', '2026-10-07T01:00:00Z', usage(1_203, 18_004, 2_111, 777), false],
      ['anthropic/claude-haiku-4.5', ON, { ...usage(333, 0, 1_001, 55), reasoningTokens: 40 }, false],
      ['gpt-6.2-sol', ON, usage(272_001, 0, 0, 1), false],
      ['google/gemini-2.5-flash', ON, usage(7, 5, 0, 3), false],
      ['house-small', ON, usage(9, 0, 0, 0), false],
      ['gpt-oss-120b', ON, usage(50_000, 0, 0, 2_000), false],
      ['gpt-6.2-sol', ON, null, false],
      ['claude-opus-5-5', ON, usage(90_000, 0, 0, 9_000), true],
    ];
    const costs = calls.map(([model, atUtc, used, cached]) => {
      const rate = resolveRate({ name: 'any', model }, { ...at, atUtc });
      return { microUsd: rate === null || used === null ? null : costOf(used, rate), cached };
    });
    expect(costs.map(({ microUsd }) => microUsd)).toEqual([
      19_054, // 1,203×2 + 18,004×0.2 + 2,111×2.5 + 777×10 = 2,406 + 3,600.8 + 5,277.5 + 7,770 = 19,054.3
      17_254, // the cache reads at 0.1 from this day on: 2,406 + 1,800.4 + 5,277.5 + 7,770 = 17,253.9
      1_859, // 333×1 + 1,001×1.25 + 55×5 = 333 + 1,251.25 + 275 = 1,859.25
      1_088_019, // a long prompt: 272,001×4 + 1×15 = 1,088,004 + 15
      10, // 7×0.3 + 5×0.03 + 3×2.5 = 2.1 + 0.15 + 7.5 = 9.75
      0, // 9×0.05 = 0.45
      null,
      null,
      540_000, // what the first call cost; this one is cached
    ]);
    expect(totalOf(costs)).toEqual({
      microUsd: 1_126_196, // 19,054 + 17,254 + 1,859 + 1,088,019 + 10 + 0
      priced: 7,
      unpriced: 2,
      cached: 1,
      status: 'partial',
    });
  });
});

describe('a budget', () => {
  it('CST-01 estimates a call as if a cache took the whole prompt, where that costs more', () => {
    const flat = rateOf('leg:a', { inputPerMillion: 3, cachedInputPerMillion: 0.3, outputPerMillion: 15 });
    expect(estimateMicroUsd(1_000, 100, flat)).toBe(4_500);
    const dear = rateOf('leg:a', { inputPerMillion: 3, cacheWritePerMillion: 3.75, outputPerMillion: 15 });
    expect(estimateMicroUsd(1_000, 100, dear)).toBe(5_250);
  });
});
