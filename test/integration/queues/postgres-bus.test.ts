import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { DeltaFrame, DeltaStore, Notices } from '../../../src/queues/bus.ts';
import { createPostgresBus } from '../../../src/queues/index.ts';
import { busSuite } from '../../contract/bus.suite.ts';
import { memoryMedium } from './memory-medium.ts';
import { eventually } from './waiting.ts';

busSuite('Postgres, over its ports in memory', async () => {
  const medium = memoryMedium();
  return {
    open: (onError) => createPostgresBus(medium.store, medium.notices, { onError }),
    openUnreachable: (onError) => createPostgresBus(refusing(), refusing(), { onError }),
    stored: async (turn) => medium.stored(turn),
    close: async () => expect(medium.listeners()).toBe(0),
  };
});

describe('Postgres bus', () => {
  it('reads once for all watchers of a turn in a process', async () => {
    const medium = memoryMedium();
    const bus = createPostgresBus(medium.store, medium.notices);
    const turn = randomUUID();
    const seen: number[] = [];
    const stops = [];
    for (let n = 0; n < 50; n += 1) stops.push(await bus.watch(turn, () => seen.push(n)));
    const before = medium.reads();
    await bus.publish(turn, [frame(1)]);
    await eventually('all have seen it', () => seen.length === 50);
    expect(medium.reads() - before).toBeLessThanOrEqual(3);
    for (const stop of stops) await stop();
    await bus.close();
  });

  it('catches up after the connection that listens was lost', async () => {
    const medium = memoryMedium();
    const [publisher, reader] = [
      createPostgresBus(medium.store, medium.notices),
      createPostgresBus(medium.store, medium.notices),
    ];
    const turn = randomUUID();
    const seen: DeltaFrame[] = [];
    const stop = await reader.watch(turn, (given) => seen.push(given));
    await publisher.publish(turn, [frame(1)]);
    await eventually('the first is seen', () => seen.length === 1);
    await medium.loseNotices(() => publisher.publish(turn, [frame(2)]));
    await eventually('the second is seen', () => seen.length === 2);
    expect(seen).toEqual([frame(1), frame(2)]);
    await stop();
    await Promise.all([publisher.close(), reader.close()]);
  });

  it('announces more turns than one notice holds', async () => {
    const medium = memoryMedium();
    const errors: Error[] = [];
    const reader = createPostgresBus(medium.store, medium.notices, { onError: (e) => errors.push(e) });
    const turns = Array.from({ length: 400 }, () => randomUUID());
    let seen = 0;
    for (const turn of turns) await reader.watch(turn, () => (seen += 1));
    // Started after every single announcement: it hears of the turns by the repeated one only.
    const publisher = createPostgresBus(medium.store, medium.notices, { onError: (e) => errors.push(e) });
    for (const turn of turns) await publisher.publish(turn, [frame(1)]);
    await eventually('all turns are served', () => seen === turns.length);
    expect(errors).toEqual([]);
    await Promise.all([publisher.close(), reader.close()]);
  });
});

function frame(n: number): DeltaFrame {
  return { id: `1.0.${n}`, type: 'step.delta', data: { text: `part ${n}` } };
}

function refusing(): DeltaStore & Notices {
  const refuse = async (): Promise<never> => {
    throw new Error('connect ECONNREFUSED');
  };
  return { append: refuse, since: refuse, drop: refuse, listen: refuse, notify: refuse };
}
