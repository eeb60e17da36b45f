import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { DeltaFrame } from '../../../src/queues/bus.ts';
import { createRedisBus } from '../../../src/queues/index.ts';
import { busSuite } from '../../contract/bus.suite.ts';
import { redisAvailable, startRedis, type TestRedis } from '../../support/redis.ts';
import { eventually } from './waiting.ts';

describe.skipIf(!redisAvailable())('Redis', () => {
  let redis: TestRedis;
  let client: Redis;
  beforeAll(async () => {
    redis = await startRedis();
    client = new Redis(redis.url);
    client.on('error', () => undefined);
  }, 30_000);
  afterAll(async () => {
    client.disconnect();
    await redis.stop();
  });

  busSuite('Redis', async () => {
    const prefix = `test-${randomUUID()}`;
    return {
      open: (onError) => createRedisBus({ url: redis.url, prefix, onError }),
      openUnreachable: (onError) => createRedisBus({ url: 'redis://127.0.0.1:1', prefix, onError }),
      stored: (turn) => client.xlen(`{${prefix}}:delta:${turn}`),
      close: async () => undefined,
    };
  });

  describe('Redis bus', () => {
    it('keeps two connections whatever it watches, and none once closed', async () => {
      const prefix = `test-${randomUUID()}`;
      const bus = createRedisBus({ url: redis.url, prefix, onError: () => undefined });
      for (let n = 0; n < 30; n += 1) await bus.watch(randomUUID(), () => undefined);
      expect(await connections(prefix)).toBe(2);
      await bus.close();
      await eventually('none is left', async () => (await connections(prefix)) === 0);
    });

    it('lets the buffer of a turn nobody drops expire', async () => {
      const bus = createRedisBus({ url: redis.url, prefix: 'expiry', onError: () => undefined });
      const turn = randomUUID();
      const seen: DeltaFrame[] = [];
      await bus.watch(turn, (given) => seen.push(given));
      await bus.publish(turn, [frame(1)]);
      await eventually('the frame is seen', () => seen.length === 1);
      const lifeS = await client.ttl(`{expiry}:delta:${turn}`);
      expect(lifeS).toBeGreaterThan(500);
      expect(lifeS).toBeLessThanOrEqual(600);
      await bus.close();
    });

    it.skipIf(process.env.TEST_REDIS_URL !== undefined)(
      'serves its watchers again after Redis was lost and came back, and refuses no publication meanwhile',
      async () => {
        const errors: Error[] = [];
        const bus = createRedisBus({ url: redis.url, prefix: 'loss', onError: (e) => errors.push(e) });
        const turn = randomUUID();
        const seen: DeltaFrame[] = [];
        const stop = await bus.watch(turn, (given) => seen.push(given));
        await bus.publish(turn, [frame(1)]);
        await eventually('the first is seen', () => seen.length === 1);
        await redis.kill();
        await bus.publish(turn, [frame(2)]);
        await eventually('the loss is reported', () => errors.length > 0);
        await redis.restart();
        let n = 2;
        await eventually('a later frame is seen', async () => {
          n += 1;
          await bus.publish(turn, [frame(n)]);
          return seen.length > 1;
        });
        const ids = seen.map(({ id }) => id);
        expect(new Set(ids).size).toBe(ids.length);
        await stop();
        await bus.close();
      },
      30_000,
    );
  });

  async function connections(prefix: string): Promise<number> {
    const lines = String(await client.client('LIST')).split('\n');
    return lines.filter((line) => line.includes(`name={${prefix}}:`)).length;
  }
});

function frame(n: number): DeltaFrame {
  return { id: `1.0.${n}`, type: 'step.delta', data: { text: `part ${n}` } };
}
