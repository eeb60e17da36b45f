import { randomUUID } from 'node:crypto';
import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { jobId, POOLS } from '../../../src/queues/contract.ts';
import { type BullBackend, createRedisBackend, POOL_QUEUE_NAMES } from '../../../src/queues/index.ts';
import { queueBackendSuite } from '../../contract/queue.suite.ts';
import { redisAvailable, startRedis, type TestRedis } from '../../support/redis.ts';
import { underTest } from './bull-under-test.ts';
import { eventually } from './waiting.ts';

const available = redisAvailable();
const DEAD_URL = 'redis://127.0.0.1:1';

describe.skipIf(!available)('Redis', () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startRedis();
  }, 30_000);
  afterAll(async () => {
    await redis.stop();
  });

  queueBackendSuite('Redis', async () => {
    const prefix = `test-${randomUUID()}`;
    return underTest(
      (onError) => createRedisBackend({ url: redis.url, prefix, onError }),
      () => createRedisBackend({ url: DEAD_URL, prefix, onError: () => undefined }),
    );
  });

  describe('Redis alone', { timeout: 60_000 }, () => {
    const opened: { close(): Promise<void> }[] = [];
    const errors: Error[] = [];
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((each) => each.close()));
      errors.length = 0;
    });

    function open(prefix = `test-${randomUUID()}`): BullBackend {
      const backend = createRedisBackend({ url: redis.url, prefix, onError: (error) => errors.push(error) });
      opened.push(backend);
      return backend;
    }

    async function watchAll(backend: BullBackend): Promise<Set<string>> {
      const handled = new Set<string>();
      for (const pool of POOLS) {
        await backend.work(pool, {
          concurrency: 2,
          handle: async (ref) => {
            handled.add(jobId(ref));
          },
          onError: (error) => errors.push(error),
        });
      }
      return handled;
    }

    async function admitOne(backend: BullBackend, pool: (typeof POOLS)[number]): Promise<string> {
      const ref = newRef();
      await backend.admit(pool, [{ ref, priority: 0 }]);
      return jobId(ref);
    }

    /** Direct access for what the contract does not show. */
    function inspect(): Redis {
      const client = new Redis(redis.url);
      opened.push({ close: async () => client.disconnect() });
      return client;
    }

    it.skipIf(process.env.TEST_REDIS_URL !== undefined)(
      'RUN-13 drains every pool without a restart after Redis was gone for ten seconds',
      async () => {
        const backend = open();
        const handled = await watchAll(backend);
        for (const pool of POOLS) await admitOne(backend, pool);
        await eventually('all pools work', () => handled.size === POOLS.length);
        await redis.kill();
        await eventually('the outage is reported', () => errors.length > 0);
        await expect(admitOne(backend, 'step')).rejects.toMatchObject({ code: 'queue_unreachable' });
        await outage(10_000);
        const reportedDuringOutage = errors.length;
        await redis.restart();
        await eventually('Redis answers again', () =>
          backend.ping().then(
            () => true,
            () => false,
          ),
        );
        const ids: string[] = [];
        for (const pool of POOLS) ids.push(await admitOne(backend, pool));
        await eventually('all pools drained', () => ids.every((id) => handled.has(id)));
        // Nine connections retry every second: an error is told now and then, not every time.
        expect(reportedDuringOutage).toBeLessThan(POOLS.length * 10);
      },
    );

    it.skipIf(process.env.TEST_REDIS_URL !== undefined)(
      'RUN-13 closes workers and clients promptly while Redis is down',
      async () => {
        const backend = open();
        await watchAll(backend);
        await redis.kill();
        await eventually('the outage is reported', () => errors.length > 0);
        const startedMs = performance.now();
        await backend.close();
        expect(performance.now() - startedMs).toBeLessThan(8_000);
        await redis.restart();
      },
    );

    it('RUN-13 never runs a job again whose worker died: it is marked failed, and takeover is left to the lease', async () => {
      const prefix = `test-${randomUUID()}`;
      const backend = open(prefix);
      const stranded = await admitOne(backend, 'step');
      const dying = new Worker(POOL_QUEUE_NAMES.step, null, {
        connection: { url: redis.url },
        prefix: `{${prefix}}`,
        lockDuration: 50,
      });
      expect((await dying.getNextJob('token')).id).toBe(stranded);
      await dying.close(true);
      expect(await backend.presence('step', stranded)).toBe('active');
      const handled = await watchAll(backend);
      await eventually(
        'the stranded job is given up',
        async () => (await backend.presence('step', stranded)) === 'finished',
        45_000,
      );
      expect(await backend.queues().get('step')?.getFailedCount()).toBe(1);
      const next = await admitOne(backend, 'step');
      await eventually('the next job is handled', () => handled.has(next));
      expect([...handled]).toEqual([next]);
    });

    it('RUN-13 goes on after everything in Redis was deleted', async () => {
      const backend = open();
      const handled = await watchAll(backend);
      const before = await admitOne(backend, 'step');
      await eventually('the first job is handled', () => handled.has(before));
      await inspect().flushall();
      expect(await backend.presence('step', before)).toBe('absent');
      const after = await admitOne(backend, 'step');
      await eventually('the next job is handled', () => handled.has(after));
    });

    it('RUN-13 holds a constant number of connections under a thousand producer calls, and none once closed', async () => {
      const client = inspect();
      const prefix = `test-${randomUUID()}`;
      const backend = open(prefix);
      await backend.ping();
      await Promise.all(Array.from({ length: 1_000 }, () => admitOne(backend, 'tool')));
      expect(await connections(client, prefix)).toBe(1);
      const handled = await watchAll(backend);
      await eventually('all are handled', () => handled.size === 1_000);
      // One for producers, one for workers, and one a worker that blocks.
      expect(await connections(client, prefix)).toBe(2 + POOLS.length);
      await backend.close();
      await eventually('none is left', async () => (await connections(client, prefix)) === 0);
    });

    it('RUN-13 keeps keys in one cluster slot, and events and finished jobs few', async () => {
      const prefix = `test-${randomUUID()}`;
      const backend = open(prefix);
      const handled = await watchAll(backend);
      const refs = Array.from({ length: 1_500 }, () => ({ ref: newRef(), priority: 0 }));
      await backend.admit('tool', refs);
      await eventually('all are handled', () => handled.size === refs.length, 30_000);
      const client = inspect();
      const queue = `{${prefix}}:${POOL_QUEUE_NAMES.tool}`;
      await eventually('the last is completed', async () => (await client.llen(`${queue}:active`)) === 0);
      expect(await client.xlen(`${queue}:events`)).toBeLessThan(1_000);
      expect(await client.zcard(`${queue}:completed`)).toBeLessThanOrEqual(1_000);
      const keys = await client.keys(`*${prefix}*`);
      expect(keys.length).toBeGreaterThan(0);
      expect(keys.filter((key) => !key.startsWith(`{${prefix}}:`))).toEqual([]);
    });

    it('RUN-13 refuses a prefix that could not be a hash tag', () => {
      expect(() => createRedisBackend({ url: redis.url, prefix: 'a}b', onError: () => undefined })).toThrow(
        /prefix "a}b" is not usable/,
      );
    });
  });
});

function newRef() {
  return {
    tenant: randomUUID(),
    session: randomUUID(),
    actor: randomUUID(),
    child: 'tool-1-0',
    dispatch: 0,
  };
}

async function connections(client: Redis, prefix: string): Promise<number> {
  const lines = String(await client.client('LIST')).split('\n');
  return lines.filter((line) => line.includes(`name={${prefix}}:`)).length;
}

/** The length of the outage is the case under test; nothing is awaited by it. */
function outage(lengthMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, lengthMs);
  });
}
