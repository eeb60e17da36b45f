import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Tally } from '../ledger/sample.ts';
import { indexOf, numbersAs, planOf, type TurnSpec } from './plan-sample.ts';

const old = (full: number): TurnSpec => ({ asked: 'Lisbon harbour dues', full, card: 1 });
const recent = (full: number): TurnSpec => ({ asked: 'violin', full, card: 1 });
const query = { text: 'Lisbon harbour dues' };

/** Old turns of middling likeness: newer ones of higher recency are looked at first. */
function planWith(oldSizes: readonly number[], newSizes: readonly number[], budget: number, share: number) {
  const index = indexOf([...oldSizes.map(old), ...newSizes.map(recent)]);
  const likeness = (number: number) => (number <= oldSizes.length ? 0.5 : 0);
  const text = 'glacier';
  return planOf({ index, budget, query: { text }, likeness, options: { promotedShare: share } });
}

describe('the share held for promoted turns', () => {
  it('PLN-06 keeps a quarter from turns that are merely new while a promoted one waits', () => {
    const newSizes = [100, 100, 800];
    expect(numbersAs(planWith([200], newSizes, 1_002, 0.25), 'full')).toEqual([1, 4]);
    expect(numbersAs(planWith([200], newSizes, 1_002, 0), 'full')).toEqual([2, 3, 4]);
  });

  it('PLN-06 PLN-07 promotes at most sixteen turns, those that match best and then the newest', () => {
    const index = indexOf(
      Array.from({ length: 60 }, () => old(10)).concat(Array.from({ length: 40 }, () => recent(10))),
    );
    const likeness = (number: number) => (number === 3 ? 0.9 : number <= 60 ? 0.6 : 0);
    const plan = planOf({ index, budget: 400, query: { text: 'glacier' }, likeness });
    const numbers = plan.promoted.map(({ number }) => number);
    expect(numbers.toSorted((one, other) => one - other)).toEqual([
      3,
      ...Array.from({ length: 15 }, (_, at) => 46 + at),
    ]);
  });

  it('PLN-06 every promoted turn is whole where together they cost no more than the share', () => {
    const tally = new Tally();
    const sizes = (min: number) =>
      fc.array(fc.integer({ min: 10, max: 300 }), { minLength: min, maxLength: 12 });
    fc.assert(
      fc.property(
        sizes(1),
        sizes(8),
        fc.integer({ min: 600, max: 4_000 }),
        fc.constantFrom(0.1, 0.25, 0.6),
        (oldSizes, newSizes, budget, share) => {
          const plan = planWith(oldSizes, newSizes, budget, share);
          const cost = oldSizes.reduce((sum, size) => sum + size, 0);
          const all = cost + newSizes.reduce((sum, size) => sum + size, 0);
          const whole = new Set(numbersAs(plan, 'full'));
          const areAllWhole = oldSizes.every((_, at) => whole.has(at + 1));
          const isWithin = cost <= Math.floor(share * budget);
          if (isWithin && plan.packet === null) expect(areAllWhole).toBe(true);
          expect(plan.promoted.every(({ number }) => whole.has(number))).toBe(true);
          tally.count({
            'within the share, budget short': isWithin && plan.packet === null && all > budget,
            'beyond the share': !isWithin,
            'not all whole': !areAllWhole,
          });
        },
      ),
      { numRuns: 600 },
    );
    tally.report('shares');
  });

  it('PLN-06 holds nothing once no promoted turn waits, and gives back what they leave', () => {
    expect(numbersAs(planWith([], [500, 500], 1_000, 0.25), 'full')).toEqual([1, 2]);
    expect(numbersAs(planWith([5_000], [500, 500], 1_001, 0.25), 'full')).toEqual([2, 3]);
  });

  it('PLN-06 is a part of the budget: a match that costs more than its share still comes by its value', () => {
    const index = indexOf([old(700), recent(100), recent(100), recent(100)]);
    const plan = planOf({ index, budget: 1_000, query, options: { promotedShare: 0 } });
    expect(plan.promoted).toEqual([{ number: 1, by: 'relevance', value: 1 }]);
    expect(numbersAs(plan, 'full')).toEqual([1, 2, 3, 4]);
  });
});
