import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Slots } from '../../../src/runtime/slots.ts';
import { gate } from '../../support/await.ts';
import { Tally } from '../ledger/sample.ts';

const SIZE = 2;
const sized = () => new Slots(new Map([['step', SIZE]]));

describe('slots', () => {
  it('starts what there is a slot for, and nothing of a pool that is not served', async () => {
    const slots = sized();
    const hold = gate();
    const start = () => slots.start('step', () => hold.opened);
    expect([start(), start(), start()]).toEqual([true, true, false]);
    expect(slots.start('tool', () => Promise.resolve())).toBe(false);
    hold.open();
    await slots.close();
  });

  it('lets a job that waits pass before a call that comes later', async () => {
    const slots = sized();
    const holds = [gate(), gate()];
    for (const hold of holds) slots.start('step', () => hold.opened);
    const ran: string[] = [];
    const job = slots.run('step', async () => {
      ran.push('job');
    });
    holds[0]?.open();
    await delay(0);
    expect(slots.start('step', async () => void ran.push('call'))).toBe(true);
    await job;
    expect(ran[0]).toBe('job');
    holds[1]?.open();
    await slots.close();
  });

  it('RUN-12 starts nothing once it closes, waits for what it started, and still lets jobs run', async () => {
    const slots = sized();
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

  it('never runs more at once than there are slots, and runs everything, in any order of coming and going', async () => {
    const tally = new Tally();
    const coming = fc.array(
      fc.record({ isJob: fc.boolean(), pauses: fc.nat({ max: 3 }), fails: fc.boolean() }),
      {
        maxLength: 30,
      },
    );
    await fc.assert(
      fc.asyncProperty(coming, async (list) => {
        const slots = sized();
        let running = 0;
        let most = 0;
        let ran = 0;
        const jobs: Promise<void>[] = [];
        let refused = 0;
        for (const { isJob, pauses, fails } of list) {
          const work = async () => {
            most = Math.max(most, ++running);
            for (let pause = 0; pause < pauses; pause++) await delay(0);
            running -= 1;
            ran += 1;
            if (fails && isJob) throw new Error('failed');
          };
          if (isJob) jobs.push(slots.run('step', work).catch(() => {}));
          else if (!slots.start('step', work)) refused += 1;
          if (pauses === 0) await delay(0);
        }
        await Promise.all(jobs);
        await slots.close();
        expect(most).toBeLessThanOrEqual(SIZE);
        expect(ran + refused).toBe(list.length);
        tally.count({
          full: most === SIZE,
          refused: refused > 0,
          'a job failed': list.some((one) => one.fails && one.isJob),
        });
      }),
      { numRuns: 60 },
    );
    tally.report('comings and goings');
  });
});
