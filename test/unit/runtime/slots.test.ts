import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PoolSlots } from '../../../src/runtime/slots.ts';
import { gate } from '../../support/await.ts';
import { Tally } from '../ledger/sample.ts';

const SIZE = 3;

/** A pool, and what its worker was told to run at most. */
function served(size = SIZE) {
  const slots = new PoolSlots();
  const told = { most: size };
  slots.serve('step', size, (most) => {
    told.most = most;
  });
  return { slots, told };
}

describe('the slots of a pool', () => {
  it('are taken by calls that start here, all but one, and the worker is told how many are left', async () => {
    const { slots, told } = served();
    const hold = gate();
    const start = () => slots.start('step', () => hold.opened);
    expect([start(), start(), start()]).toEqual([true, true, false]);
    expect(told.most).toBe(1);
    hold.open();
    await slots.close();
    expect(told.most).toBe(SIZE);
  });

  it('are not taken by a call where jobs have them all, or where the pool is not served or has one slot', async () => {
    const { slots } = served();
    const hold = gate();
    const jobs = Array.from({ length: SIZE }, () => slots.run('step', () => hold.opened));
    expect(slots.start('step', () => Promise.resolve())).toBe(false);
    expect(slots.start('tool', () => Promise.resolve())).toBe(false);
    expect(served(1).slots.start('step', () => Promise.resolve())).toBe(false);
    hold.open();
    await Promise.all(jobs);
    expect(slots.start('step', () => Promise.resolve())).toBe(true);
  });

  it('RUN-12 are given to no call once they close, which waits for what was started; jobs still run', async () => {
    const { slots } = served();
    const hold = gate();
    slots.start('step', () => hold.opened);
    let closed = false;
    const closing = slots.close().then(() => {
      closed = true;
    });
    expect(slots.start('step', () => Promise.resolve())).toBe(false);
    await slots.run('step', () => Promise.resolve());
    expect(closed).toBe(false);
    hold.open();
    await closing;
  });

  it('never hold more than there are, however jobs and calls come, fail and go', async () => {
    const tally = new Tally();
    const one = fc.record({ isJob: fc.boolean(), pauses: fc.nat({ max: 3 }), fails: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(one, { maxLength: 30 }), async (list) => {
        const { slots, told } = served();
        let [running, most, jobsNow, refused] = [0, 0, 0, 0];
        const jobs: Promise<void>[] = [];
        for (const { isJob, pauses, fails } of list) {
          const work = async () => {
            most = Math.max(most, ++running);
            for (let pause = 0; pause < pauses; pause++) await delay(0);
            running -= 1;
            if (fails && isJob) throw new Error('failed');
          };
          if (!isJob) refused += slots.start('step', work) ? 0 : 1;
          // As a worker takes them: only while fewer run than it may.
          else if (jobsNow < told.most) {
            jobsNow += 1;
            const job = slots.run('step', work).catch(() => {});
            const gone = () => {
              jobsNow -= 1;
            };
            jobs.push(job.finally(gone));
          }
          if (pauses === 0) await delay(0);
        }
        await Promise.all(jobs);
        await slots.close();
        expect(most).toBeLessThanOrEqual(SIZE);
        expect(told.most).toBe(SIZE);
        tally.count({
          full: most === SIZE,
          'a call refused': refused > 0,
          'a job failed': list.some((each) => each.fails && each.isJob),
        });
      }),
      { numRuns: 60 },
    );
    tally.report('comings and goings');
  });
});
