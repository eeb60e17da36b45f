import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  DUE_BYTES,
  isDue,
  isPressed,
  PRESSED_BYTES,
  reserveTokens,
} from '../../../../src/context/evict/gauge.ts';
import { nextLatch } from '../../../../src/context/evict/latch.ts';
import { Tally } from '../../ledger/sample.ts';

const tokens = (used: number, limit: number) => ({ unit: 'tokens', used, limit }) as const;

describe('the gauge', () => {
  it.each([
    [200_000, 30_000, 170_001, 140_001],
    [1_000_000, 150_000, 850_001, 700_001],
    [109_227, 16_384, 92_844, 76_460],
    [65_536, 16_384, 49_153, 32_769],
    [32_768, 8_192, 24_577, 16_385],
    [16_384, 4_096, 12_289, 8_193],
    [1_000, 250, 751, 501],
  ])(
    'EVT-01 with a window of %i keeps %i free: due from %i, pressed from %i',
    (limit, reserve, due, pressed) => {
      expect(reserveTokens(limit)).toBe(reserve);
      expect([isDue(tokens(due - 1, limit)), isDue(tokens(due, limit))]).toEqual([false, true]);
      expect([isPressed(tokens(pressed - 1, limit)), isPressed(tokens(pressed, limit))]).toEqual([
        false,
        true,
      ]);
    },
  );

  it('EVT-01 has the floor of 16,384 tokens wherever a window is 65,536 or more', () => {
    for (let limit = 65_536; limit <= 400_000; limit += 997)
      expect(reserveTokens(limit)).toBe(Math.max(Math.floor(limit * 0.15 + 1e-9), 16_384));
  });

  it('EVT-01 weighs the history where no window is known', () => {
    const bytes = (used: number) => ({ unit: 'bytes', used }) as const;
    expect([DUE_BYTES, PRESSED_BYTES]).toEqual([512_000, 384_000]);
    expect([511_999, 512_000].map((used) => isDue(bytes(used)))).toEqual([false, true]);
    expect([383_999, 384_000].map((used) => isPressed(bytes(used)))).toEqual([false, true]);
  });

  it('EVT-01 EVT-02 fault 10: a measure from before an edit brings neither an eviction nor a warning', () => {
    expect(isDue({ unit: 'stale' })).toBe(false);
    expect(isPressed({ unit: 'stale' })).toBe('unknown');
  });
});

describe('the latch', () => {
  it('EVT-04 tells once for each time that the condition begins', () => {
    const holds = [
      false,
      true,
      true,
      'unknown',
      true,
      false,
      'unknown',
      true,
      'unknown',
      false,
      true,
    ] as const;
    let told = false;
    const tells = holds.map((each) => {
      const next = nextLatch(told, each);
      told = next.told;
      return next.tell;
    });
    expect(tells).toEqual([false, true, false, false, false, false, false, true, false, false, true]);
  });

  it('EVT-04 what is not known neither tells nor lets it tell again', () => {
    for (const told of [true, false]) expect(nextLatch(told, 'unknown')).toEqual({ told, tell: false });
  });

  it('EVT-04 fault 11: of a history that grows by less than a reserve at a time it tells before an eviction is due', () => {
    const tally = new Tally();
    const steps = fc.array(fc.integer({ min: 0, max: 100 }), { maxLength: 40, size: 'max' });
    fc.assert(
      fc.property(fc.integer({ min: 1_000, max: 1_000_000 }), steps, (limit, percents) => {
        let used = 0;
        let told = false;
        let due = false;
        for (const percent of percents) {
          used += Math.floor((percent * reserveTokens(limit)) / 100);
          const measure = tokens(used, limit);
          due = isDue(measure);
          if (due) break;
          told = nextLatch(told, isPressed(measure)).told;
        }
        if (due) expect(told).toBe(true);
        tally.count({ due, 'told, not due': told && !due, neither: !told && !due });
      }),
      { numRuns: 2_000 },
    );
    tally.report('histories that grow');
  });
});
