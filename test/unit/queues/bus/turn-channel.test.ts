import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TurnChannel } from '../../../../src/queues/bus/turn-channel.ts';
import type { DeltaFrame } from '../../../../src/queues/bus.ts';

function source() {
  const rows: { cursor: number; frame: DeltaFrame }[] = [];
  const errors: unknown[] = [];
  let [reads, broken] = [0, false];
  const channel = new TurnChannel<number>(
    async (after) => {
      reads += 1;
      await Promise.resolve();
      if (broken) throw new Error('read failed');
      return rows.filter(({ cursor }) => cursor > (after ?? 0));
    },
    5,
    (error) => errors.push(error),
  );
  return {
    channel,
    errors,
    reads: () => reads,
    broken: (now: boolean) => {
      broken = now;
    },
    put: (count: number) => {
      for (let n = 0; n < count; n += 1) rows.push({ cursor: rows.length + 1, frame: frame(rows.length) });
    },
  };
}

function frame(n: number): DeltaFrame {
  return { id: `1.0.${n}`, type: 'step.delta', data: null };
}

function ids(frames: readonly DeltaFrame[]): number[] {
  return frames.map(({ id }) => Number(id.split('.')[2]));
}

describe('turn channel', () => {
  it('serves all watchers with one read', async () => {
    const { channel, put, reads } = source();
    const seen: DeltaFrame[][] = [[], [], []];
    for (const list of seen) channel.add((given) => list.push(given));
    put(3);
    await channel.wake();
    expect(seen.map(ids)).toEqual([
      [0, 1, 2],
      [0, 1, 2],
      [0, 1, 2],
    ]);
    expect(reads()).toBe(1);
  });

  it('reads once more, and only once, for any number of wake-ups during a read', async () => {
    const { channel, put, reads } = source();
    const seen: DeltaFrame[] = [];
    channel.add((given) => seen.push(given));
    put(1);
    const first = channel.wake();
    put(1);
    await Promise.all([first, channel.wake(), channel.wake(), channel.wake()]);
    expect(ids(seen)).toEqual([0, 1]);
    expect(reads()).toBe(2);
  });

  it('replays a later watcher from memory, at most what it keeps', async () => {
    const { channel, put, reads } = source();
    channel.add(() => undefined);
    put(8);
    await channel.wake();
    const late: DeltaFrame[] = [];
    channel.add((given) => late.push(given));
    expect(ids(late)).toEqual([3, 4, 5, 6, 7]);
    channel.clear();
    const later: DeltaFrame[] = [];
    channel.add((given) => later.push(given));
    expect(later).toEqual([]);
    expect(reads()).toBe(1);
  });

  it('reports a failed read and goes on from where it was', async () => {
    const { channel, put, errors, broken } = source();
    const seen: DeltaFrame[] = [];
    channel.add((given) => seen.push(given));
    put(1);
    await channel.wake();
    put(1);
    broken(true);
    await channel.wake();
    broken(false);
    await channel.wake();
    expect(ids(seen)).toEqual([0, 1]);
    expect(errors).toEqual([new Error('read failed')]);
  });

  it('reads nothing when nobody watches', async () => {
    const { channel, put, reads } = source();
    const stop = channel.add(() => undefined);
    stop();
    put(1);
    await channel.wake();
    expect([channel.watched, reads()]).toEqual([false, 0]);
  });

  it('lets a watcher stop itself from inside its own callback', async () => {
    const { channel, put } = source();
    const seen: DeltaFrame[] = [];
    const stop = channel.add((given) => {
      seen.push(given);
      stop();
    });
    put(3);
    await channel.wake();
    expect(ids(seen)).toEqual([0]);
  });

  it('gives each watcher an unbroken run up to the newest frame, whenever it joined', async () => {
    const act = fc.oneof(
      fc.record({ kind: fc.constant('put' as const), count: fc.integer({ min: 1, max: 3 }) }),
      fc.record({ kind: fc.constant('join' as const), count: fc.constant(0) }),
      fc.record({ kind: fc.constant('wake' as const), count: fc.constant(0) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 30 }), async (acts) => {
        const { channel, put } = source();
        const watchers: { seen: DeltaFrame[]; joinedAt: number }[] = [];
        let total = 0;
        const pending: Promise<void>[] = [];
        for (const { kind, count } of acts) {
          if (kind === 'put') {
            put(count);
            total += count;
          } else if (kind === 'wake') {
            pending.push(channel.wake());
          } else {
            const seen: DeltaFrame[] = [];
            watchers.push({ seen, joinedAt: total });
            channel.add((given) => seen.push(given));
            await Promise.resolve();
          }
        }
        await Promise.all(pending);
        await channel.wake();
        for (const { seen, joinedAt } of watchers) {
          const got = ids(seen);
          expect(got).toEqual(Array.from({ length: got.length }, (_, n) => total - got.length + n));
          expect(got.length).toBeGreaterThanOrEqual(total - joinedAt);
        }
      }),
    );
  });
});
