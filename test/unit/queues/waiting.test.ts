import type { IQueueBackend } from 'bullmq';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { settledWithin, within } from '../../../src/queues/deadline.ts';
import { paced } from '../../../src/queues/pacing.ts';
import { Running } from '../../../src/queues/running.ts';

const never = new Promise<never>(() => undefined);

describe('bounded waiting', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('gives the value that comes in time, and leaves no timer', async () => {
    await expect(within(Promise.resolve(7), 100, () => new Error('late'))).resolves.toBe(7);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('rejects with its own error when the limit passes, and swallows what comes after', async () => {
    let fail: (error: Error) => void = () => undefined;
    const work = new Promise<never>((_, reject) => {
      fail = reject;
    });
    const bounded = expect(within(work, 100, () => new Error('late'))).rejects.toThrow('late');
    await vi.advanceTimersByTimeAsync(100);
    await bounded;
    fail(new Error('too late to matter'));
    await vi.advanceTimersByTimeAsync(0);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('tells a settled promise, kept or broken, from one that still runs', async () => {
    expect(await settledWithin(Promise.resolve(), 100)).toBe(true);
    expect(await settledWithin(Promise.reject(new Error('broken')), 100)).toBe(true);
    const waiting = settledWithin(never, 100);
    await vi.advanceTimersByTimeAsync(100);
    expect(await waiting).toBe(false);
  });
});

describe('paced claims', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  function claiming(moveToActive: () => Promise<unknown[]>): IQueueBackend {
    // Only the claim is called; the rest of BullMQ's backend has no part in it.
    return paced({ moveToActive } as unknown as IQueueBackend);
  }

  it('hands a claim on at once', async () => {
    await expect(claiming(async () => ['job']).moveToActive('token')).resolves.toEqual(['job']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('keeps a failed claim back for a while, so that the next one does not follow at once', async () => {
    let ended = false;
    const claim = claiming(() => Promise.reject(new Error('relation "job" does not exist')))
      .moveToActive('token')
      .finally(() => {
        ended = true;
      });
    const refused = expect(claim).rejects.toThrow('does not exist');
    await vi.advanceTimersByTimeAsync(499);
    expect(ended).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await refused;
  });
});

describe('running handlers', () => {
  it('passes on how each handler ends', async () => {
    const running = new Running();
    await expect(running.track(Promise.resolve())).resolves.toBeUndefined();
    await expect(running.track(Promise.reject(new Error('handler')))).rejects.toThrow('handler');
    expect(running.size).toBe(0);
  });

  it('is idle when the last one ended, and at once when none runs', async () => {
    const running = new Running();
    await running.idle();
    let release: () => void = () => undefined;
    const tracked = running.track(
      new Promise<void>((resolve) => {
        release = resolve;
      }),
    );
    let idle = false;
    const waiting = running.idle().then(() => {
      idle = true;
    });
    await Promise.resolve();
    expect([running.size, idle]).toEqual([1, false]);
    release();
    await Promise.all([tracked, waiting]);
    expect([running.size, idle]).toEqual([0, true]);
  });

  it('lets go of all that run, with the reason, and counts them', async () => {
    const running = new Running();
    const tracked = [running.track(never), running.track(never)];
    const results = Promise.allSettled(tracked);
    expect(running.abandon(new Error('stopped'))).toBe(2);
    expect(await results).toEqual([
      { status: 'rejected', reason: new Error('stopped') },
      { status: 'rejected', reason: new Error('stopped') },
    ]);
    expect(running.abandon(new Error('again'))).toBe(0);
  });
});
