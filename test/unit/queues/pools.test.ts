import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { POOLS } from '../../../src/queues/contract.ts';
import { bullJob, bullPriority, isPool, POOL_QUEUE_NAMES, presenceOf } from '../../../src/queues/pools.ts';

const REF = {
  tenant: '018f0000-0000-7000-8000-000000000001',
  session: '018f0000-0000-7000-8000-000000000002',
  actor: '018f0000-0000-7000-8000-000000000003',
  child: 'tool-2-0',
  dispatch: 4,
};

describe('pools', () => {
  it('names every pool once, without the colon BullMQ refuses', () => {
    const names = POOLS.map((pool) => POOL_QUEUE_NAMES[pool]);
    expect(new Set(names).size).toBe(POOLS.length);
    expect(names.filter((name) => name.includes(':'))).toEqual([]);
  });

  it('knows its own pools and no other name', () => {
    expect(POOLS.every(isPool)).toBe(true);
    expect(isPool('turns')).toBe(false);
  });

  it('makes a job of ids only, with one attempt and the deterministic id', () => {
    const job = bullJob({ ref: REF, priority: 3 }, { completed: 10, failed: 20 });
    expect(job).toEqual({
      name: 'tool-2-0',
      data: REF,
      opts: {
        jobId: `${REF.actor}~tool-2-0~4`,
        attempts: 1,
        priority: 3,
        removeOnComplete: { count: 10, age: 3_600 },
        removeOnFail: { count: 20 },
      },
    });
  });

  it('leaves retention to the transport where there is none', () => {
    const { opts } = bullJob({ ref: REF, priority: 0 }, undefined);
    expect(opts).not.toHaveProperty('removeOnComplete');
    expect(opts).not.toHaveProperty('removeOnFail');
  });

  it('keeps the order of any two priorities, within what BullMQ can hold', () => {
    const limit = 2_097_151;
    fc.assert(
      fc.property(fc.double({ noNaN: true }), fc.double({ noNaN: true }), (one, other) => {
        const [low, high] = [bullPriority(Math.min(one, other)), bullPriority(Math.max(one, other))];
        expect(low).toBeLessThanOrEqual(high);
        for (const given of [low, high]) {
          expect(Number.isInteger(given) && given >= 0 && given <= limit).toBe(true);
        }
      }),
    );
    expect(bullPriority(Number.NaN)).toBe(limit);
    expect([0, 1, 7.9].map(bullPriority)).toEqual([0, 1, 7]);
  });

  it('maps each state of BullMQ to what the sweep must know', () => {
    expect(presenceOf('unknown')).toBe('absent');
    expect(presenceOf('active')).toBe('active');
    expect([presenceOf('completed'), presenceOf('failed')]).toEqual(['finished', 'finished']);
    const waiting = ['waiting', 'prioritized', 'delayed', 'waiting-children'] as const;
    expect(waiting.map(presenceOf)).toEqual(waiting.map(() => 'pending'));
  });
});
