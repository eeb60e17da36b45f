/** A throw-away Redis for tests: the local binary, or the one named by TEST_REDIS_URL. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { createServer } from 'node:net';
import { Redis } from 'ioredis';

const START_MS = 10_000;
const RETRY_MS = 20;

export interface TestRedis {
  readonly url: string;
  /** False for a server that is not ours: `restart` and `kill` then throw. */
  readonly controllable: boolean;
  /** Ends the server at once, as a crash would. */
  kill(): Promise<void>;
  /** Starts it again, empty, on the same port. */
  restart(): Promise<void>;
  /** Takes connections and answers nothing, until `thaw`. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Whether a Redis can be had; says so loudly when not.
 *
 * @throws when CI=true and there is none: there the suite must run.
 */
export function redisAvailable(): boolean {
  if (process.env.TEST_REDIS_URL !== undefined) return true;
  if (spawnSync('redis-server', ['--version']).status === 0) return true;
  const missing =
    'no redis-server on the PATH and no TEST_REDIS_URL: install it (apt-get install redis-server)';
  if (process.env.CI === 'true') throw new Error(missing);
  console.warn(`REDIS TESTS ARE SKIPPED: ${missing}`);
  return false;
}

export async function startRedis(): Promise<TestRedis> {
  const given = process.env.TEST_REDIS_URL;
  return given === undefined ? startOwnRedis() : borrowed(given);
}

/** The local binary whatever TEST_REDIS_URL says: a server that may be killed. */
export async function startOwnRedis(): Promise<TestRedis> {
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  let server = await launch(port, url);
  const kill = () => end(server, 'SIGKILL');
  return {
    url,
    controllable: true,
    kill,
    restart: async () => {
      await kill();
      server = await launch(port, url);
    },
    freeze: async () => void server.kill('SIGSTOP'),
    thaw: async () => void server.kill('SIGCONT'),
    stop: () => end(server, 'SIGTERM'),
  };
}

function borrowed(url: string): TestRedis {
  const refuse = async () => {
    throw new Error('TEST_REDIS_URL names a server this test did not start; it may not be stopped');
  };
  const refusals = { kill: refuse, restart: refuse, freeze: refuse, thaw: refuse };
  return { url, controllable: false, ...refusals, stop: async () => undefined };
}

async function launch(port: number, url: string): Promise<ChildProcess> {
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const server = spawn('redis-server', [...options, '--maxmemory-policy', 'noeviction'], { stdio: 'ignore' });
  const onExit = () => server.kill('SIGKILL');
  process.once('exit', onExit);
  server.once('exit', () => process.off('exit', onExit));
  await answers(url);
  return server;
}

async function answers(url: string): Promise<void> {
  const deadlineMs = performance.now() + START_MS;
  for (;;) {
    const redis = new Redis(url, { lazyConnect: true, retryStrategy: () => null, connectTimeout: START_MS });
    redis.on('error', () => undefined);
    try {
      await redis.connect();
      await redis.ping();
      return;
    } catch (error) {
      if (performance.now() > deadlineMs) throw error;
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    } finally {
      redis.disconnect();
    }
  }
}

async function end(server: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const exited = new Promise<void>((resolve) => {
    server.once('exit', () => resolve());
  });
  server.kill(signal);
  await exited;
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      probe.close(() => resolve(port));
    });
  });
}
