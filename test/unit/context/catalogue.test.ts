import { describe, expect, it } from 'vitest';
import { findModel, priceAt } from '../../../src/context/catalogue/find.ts';
import { catalogueName } from '../../../src/context/catalogue/mapping.ts';
import { CATALOGUE_VERSION, MODELS } from '../../../src/context/catalogue/models.ts';
import { rateOf } from '../../../src/context/pricing/rate.ts';

const DAY = /^\d{4}-\d{2}-\d{2}$/u;
const DATED = MODELS.flatMap(({ model, prices }) => prices.map((price) => ({ model, ...price })));

describe('every row of the catalogue', () => {
  it('CAP-04 stands with a page and the day it was looked up, none later than the version', () => {
    const days = [...MODELS, ...DATED].map(({ model, sources, lookedUp }) => {
      for (const page of sources) expect(URL.canParse(page), `${model}: ${page}`).toBe(true);
      expect(lookedUp, model).toMatch(DAY);
      return lookedUp;
    });
    expect(days.sort().at(-1)).toBe(CATALOGUE_VERSION);
  });

  it('CAP-04 states a window that is a whole number of tokens, and a reply that fits into it', () => {
    for (const { model, window, maxOutput } of MODELS) {
      expect(Number.isInteger(window) && window > 0, model).toBe(true);
      expect(maxOutput === null || (Number.isInteger(maxOutput) && maxOutput > 0), model).toBe(true);
      expect(maxOutput ?? 0, model).toBeLessThanOrEqual(window);
    }
  });

  it('CAP-04 is found by each of its names, which are no other row’s', () => {
    for (const { model, aliases = [] } of MODELS)
      for (const name of [model, ...aliases]) expect(findModel(name)?.model, name).toBe(model);
  });

  it('CST-01 has prices that can be computed with, oldest first, a long prompt never cheaper', () => {
    for (const { model, prices } of MODELS) {
      const days = prices.map(({ effectiveFrom }) => effectiveFrom);
      expect(days, model).toEqual([...new Set(days)].toSorted());
      for (const day of days) expect(day, model).toMatch(DAY);
    }
    for (const { model, price } of DATED) {
      if (price === null) continue;
      const { longPrompt, ...base } = rateOf(model, price);
      expect(base.cachedInputMicroUsdPerMillion, model).toBeLessThanOrEqual(base.inputMicroUsdPerMillion);
      if (longPrompt === undefined) continue;
      expect(longPrompt.inputMicroUsdPerMillion, model).toBeGreaterThanOrEqual(base.inputMicroUsdPerMillion);
      expect(longPrompt.outputMicroUsdPerMillion, model).toBeGreaterThanOrEqual(
        base.outputMicroUsdPerMillion,
      );
    }
  });
});

describe('looking a model up', () => {
  it('CAP-04 finds it by name and by alias, in any case', () => {
    expect(findModel('gemini-2.5-flash')).toMatchObject({ window: 1_048_576, family: 'google' });
    expect(findModel('gpt-4o')?.window).toBe(128_000);
    expect(findModel('gpt-5')?.window).toBe(400_000);
    expect(findModel('gpt-5-2025-08-07')?.model).toBe('gpt-5');
    expect(findModel('QWEN3-30b-a3b-instruct-2507')?.window).toBe(262_144);
  });

  it('CAP-04 finds it by the last part of a path, and without its snapshot’s date', () => {
    expect(findModel('anthropic/claude-haiku-4.5')?.model).toBe('claude-haiku-4-5');
    expect(findModel('models/gemini-2.5-pro')?.model).toBe('gemini-2.5-pro');
    expect(findModel('claude-sonnet-4-5-20250929')?.model).toBe('claude-sonnet-4-5');
    expect(findModel('eu/anthropic/claude-haiku-4-5-20251001')?.model).toBe('claude-haiku-4-5');
  });

  it('CAP-04 knows nothing of a name that is only near one', () => {
    for (const name of ['', '/', 'gpt', 'gpt-4o-2024-05-13', 'gpt-5-nano', 'anthropic/claude-opus-5.5:batch'])
      expect(findModel(name), name).toBeNull();
  });
});

describe('a price that changes', () => {
  const sonnet = findModel('claude-sonnet-5-5');
  const cachedAt = (atUtc: string) =>
    sonnet === null ? undefined : priceAt(sonnet, atUtc)?.price?.cachedInputPerMillion;

  it('CST-01 is in force from the start of its day until the next one', () => {
    expect(cachedAt('2026-09-27T23:59:59.999Z')).toBeUndefined();
    expect(cachedAt('2026-09-28T00:00:00.000Z')).toBe(0.2);
    expect(cachedAt('2026-10-06T23:59:59.999Z')).toBe(0.2);
    expect(cachedAt('2026-10-07T00:00:00.000Z')).toBe(0.1);
    expect(cachedAt('2031-01-01')).toBe(0.1);
  });
});

describe('an operator’s model mapping', () => {
  it('CAP-04 is followed to its end', () => {
    expect(catalogueName('house-large')).toBe('house-large');
    const mapping = { 'house-large': 'house-next', 'house-next': 'gpt-5' };
    expect(catalogueName('house-large', mapping)).toBe('gpt-5');
    expect(catalogueName('gpt-5', mapping)).toBe('gpt-5');
  });

  it('CAP-04 leaves a name alone that leads nowhere', () => {
    expect(catalogueName('a', { a: 'b', b: 'a' })).toBe('a');
  });
});
