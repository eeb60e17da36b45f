/** BullMQ on Redis. */
import { createRedisBackend as bullRedisBackend } from 'bullmq';
import type { Redis } from 'ioredis';
import { createBullBackend } from './bull.ts';
import { settledWithin } from './deadline.ts';
import { paced } from './pacing.ts';
import { CONNECT_MS, openConsumer, openProducer, ready, redisPrefix } from './redis-connections.ts';
import { createReporter } from './reporter.ts';
import { type BullBackend, type Factory, type Transport, withoutCredentials } from './transport.ts';

export interface RedisBackendOptions {
  readonly url: string;
  /** Separates deployments on one Redis; becomes the hash tag, so that a cluster keeps a queue on one node. */
  readonly prefix: string;
  readonly onError: (error: Error) => void;
}

/** A queue on Redis costs little to keep: enough history for the board. */
const RETENTION = { completed: 1_000, failed: 1_000 };

/** Connects in the background: an unreachable Redis shows in the first call, not here. */
export function createRedisBackend(options: RedisBackendOptions): BullBackend {
  const { report, mute } = createReporter(options.onError, () => performance.now());
  const prefix = redisPrefix(options.prefix);
  const producer = openProducer(options.url, `${prefix}:producer`, report);
  let consumer: Redis | undefined;
  const factory: Factory = (name, bullOptions, parts) => paced(bullRedisBackend(name, bullOptions, parts));
  const transport: Transport = {
    kind: 'redis',
    address: withoutCredentials(options.url),
    retention: RETENTION,
    prefix,
    producer: () => ({ connection: producer, factory }),
    consumer: () => {
      consumer ??= openConsumer(options.url, `${prefix}:workers`, report);
      return { connection: consumer, factory };
    },
    reach: () => ready(producer),
    ping: async () => {
      await producer.ping();
    },
    retry: () => false,
    retire: () => undefined,
    close: async () => {
      mute();
      await hangUp(producer);
      if (consumer !== undefined) await hangUp(consumer);
    },
  };
  return createBullBackend(transport, report);
}

async function hangUp(redis: Redis): Promise<void> {
  if (redis.status === 'ready') await settledWithin(redis.quit(), CONNECT_MS);
  redis.disconnect();
}
