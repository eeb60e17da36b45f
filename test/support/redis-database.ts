/** A Redis that a test has for itself, and may empty. */
import { Redis } from 'ioredis';
import { startRedis } from './redis.ts';

const REDIS_DATABASES = 16;

export interface TestRedisDatabase {
  readonly url: string;
  flush(): Promise<void>;
  stop(): Promise<void>;
}

/** A Redis of its own; of a borrowed server, the next of its numbered databases. */
export async function openRedis(): Promise<TestRedisDatabase> {
  const server = await startRedis();
  const url = server.controllable ? server.url : await numbered(server.url);
  const flush = () => asClient(url, async (client) => void (await client.flushdb()));
  if (!server.controllable) await flush();
  return { url, flush, stop: () => server.stop() };
}

function numbered(url: string): Promise<string> {
  return asClient(url, async (client) => {
    const turn = await client.incr('turnwright-test-database');
    return `${url.replace(/\/\d*$/u, '')}/${1 + (turn % (REDIS_DATABASES - 1))}`;
  });
}

async function asClient<T>(url: string, work: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url);
  try {
    return await work(client);
  } finally {
    client.disconnect();
  }
}
