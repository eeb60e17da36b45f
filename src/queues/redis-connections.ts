/**
 * The Redis connections of one process: one for producers, one for all workers.
 *
 * The producer's fails fast: no offline queue, so that accepting work never waits for Redis. The
 * workers' retries for ever: a worker outlives an outage. BullMQ adds one blocking connection per
 * worker, a duplicate of the workers'. Each carries a name, for CLIENT LIST. States of the producer's: connecting (a call waits for it,
 * bounded), ready, down (a call is refused at once), ended.
 */
import { Redis, type RedisOptions } from 'ioredis';
import type { Report } from './reporter.ts';

/** A healthy Redis answers a connect in milliseconds. */
export const CONNECT_MS = 1_000;
const RETRY_STEP_MS = 50;
/** After an outage of any length the queue is found again within this time. */
const RETRY_LIMIT_MS = 1_000;

type Temper = Pick<
  RedisOptions,
  'enableOfflineQueue' | 'maxRetriesPerRequest' | 'autoResendUnfulfilledCommands' | 'commandTimeout'
>;

export function openProducer(url: string, name: string, report: Report): Redis {
  return open(url, name, report, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 1,
  });
}

export function openConsumer(url: string, name: string, report: Report): Redis {
  return open(url, name, report, { maxRetriesPerRequest: null });
}

/** For frames nobody misses: a command is never sent twice and never waited for long. */
export function openPublisher(url: string, name: string, report: Report): Redis {
  return open(url, name, report, {
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    commandTimeout: CONNECT_MS,
  });
}

/** Resolves when the connection is usable; rejects at once when it is down, or after `CONNECT_MS` of trying. */
export async function ready(redis: Redis): Promise<void> {
  if (redis.status === 'ready') return;
  if (redis.status === 'reconnecting' || redis.status === 'close') {
    throw new Error('the connection is down and being retried');
  }
  if (redis.status === 'end') throw new Error('the connection was closed');
  await new Promise<void>((resolve, reject) => {
    let lastError: Error | undefined;
    const onError = (error: Error) => {
      lastError = error;
    };
    const onReady = () => settle(undefined);
    const onClose = () => settle(lastError ?? new Error('the connection was refused'));
    const timer = setTimeout(() => settle(new Error(`no connection within ${CONNECT_MS} ms`)), CONNECT_MS);
    const settle = (error: Error | undefined) => {
      clearTimeout(timer);
      redis.off('ready', onReady).off('close', onClose).off('error', onError);
      if (error === undefined) resolve();
      else reject(error);
    };
    redis.on('ready', onReady).on('close', onClose).on('error', onError);
  });
}

/** `{prefix}`: in a cluster the keys of one script must share a slot. */
export function redisPrefix(prefix: string): string {
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(prefix)) {
    throw new RangeError(
      `queue prefix ${JSON.stringify(prefix)} is not usable; take 1 to 64 letters, digits, "-" or "_"`,
    );
  }
  return `{${prefix}}`;
}

function open(url: string, name: string, report: Report, options: Temper): Redis {
  const redis = new Redis(url, {
    connectionName: name,
    connectTimeout: CONNECT_MS,
    retryStrategy: (attempt: number) => Math.min(attempt * RETRY_STEP_MS, RETRY_LIMIT_MS),
    ...options,
  });
  // Every queue and worker listens on the shared connection; their number is bounded by the pools.
  redis.setMaxListeners(0);
  redis.on('error', report);
  return redis;
}
