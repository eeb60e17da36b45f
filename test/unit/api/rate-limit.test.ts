import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RateLimit } from '../../../src/api/rate-limit.ts';

describe('the rate limit of a key', () => {
  it('lets a burst through, then as many as it says a second, and tells when to come back', () => {
    const limit = new RateLimit({ burst: 3, perSecond: 2 });
    expect([1, 2, 3].map(() => limit.take('a', 0))).toEqual([null, null, null]);
    expect(limit.take('a', 0)).toBe(500);
    expect(limit.take('a', 499)).not.toBeNull();
    expect(limit.take('a', 500)).toBeNull();
    expect(limit.take('a', 500)).not.toBeNull();
    expect(limit.take('b', 500)).toBeNull();
  });

  it('never lets more through than the burst and the time allow, whatever the schedule', () => {
    const gaps = fc.array(fc.nat({ max: 400 }), { maxLength: 200 });
    fc.assert(
      fc.property(
        gaps,
        fc.integer({ min: 1, max: 20 }),
        fc.integer({ min: 1, max: 50 }),
        (waits, burst, perSecond) => {
          const limit = new RateLimit({ burst, perSecond });
          let nowMs = 0;
          let passed = 0;
          for (const waitMs of waits) {
            nowMs += waitMs;
            if (limit.take('key', nowMs) === null) passed += 1;
          }
          expect(passed).toBeLessThanOrEqual(burst + (nowMs / 1_000) * perSecond + 1e-6);
        },
      ),
    );
  });

  it('lets through whoever waits as long as it was told', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 200 }), (burst, perSecond) => {
        const limit = new RateLimit({ burst, perSecond });
        let nowMs = 0;
        for (let n = 0; n < burst + 20; n++) {
          const waitMs = limit.take('key', nowMs);
          if (waitMs === null) continue;
          nowMs += waitMs;
          expect(limit.take('key', nowMs)).toBeNull();
        }
      }),
    );
  });

  it('loses no ground when the clock is set back', () => {
    const limit = new RateLimit({ burst: 1, perSecond: 1 });
    expect(limit.take('a', 10_000)).toBeNull();
    expect(limit.take('a', 0)).not.toBeNull();
  });
});
