/** The one PostgreSQL server of a test run: whichever of four kinds answers first, in a fixed order. */
import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { serverAccount } from '../../src/app/embedded/account.ts';
import { embeddedBinaries } from '../../src/app/embedded/binaries.ts';
import { CLUSTER_USER, clusterDirOf, ensureCluster } from '../../src/app/embedded/cluster.ts';
import { type Launched, launch } from '../../src/app/embedded/launch.ts';
import { startEmbeddedPostgres } from '../../src/app/embedded/postgres.ts';
import { clusterProcesses } from '../../src/app/embedded/processes.ts';
import { until } from './await.ts';

export interface TestServer {
  /** A user that may create databases and roles. */
  readonly adminUrl: string;
  /** Which kind it is, for the person who reads the log. */
  readonly kind: string;
  stop(): Promise<void>;
}

/** A server that one test has for itself: its address stays the same through every stop and start. */
export interface OwnServer extends TestServer {
  /** Stops it at once, as a crash would: nothing is written out, and the next start recovers from the log. */
  crash(): Promise<void>;
  /** After a `crash`. Resolves when it answers. */
  start(): Promise<void>;
  /** Every process of it stands still, until `thaw`. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
}

type Programs = NonNullable<Parameters<typeof startEmbeddedPostgres>[0]['binaries']>;

const DOCKER_IMAGE = 'postgres:17-alpine';
const DOCKER_SOCKET = '/var/run/docker.sock';
/** A local socket answers in a millisecond or not at all. */
const DOCKER_ANSWER_MS = 500;
const OLDEST_MAJOR = 15;
/** A recovery after a crash, on a busy machine. */
const START_MS = 60_000;

const run = promisify(execFile);

export async function startTestServer(env: NodeJS.ProcessEnv): Promise<TestServer> {
  const given = env.TEST_DATABASE_URL;
  if (given !== undefined && given !== '') {
    return { adminUrl: given, kind: 'TEST_DATABASE_URL', stop: async () => undefined };
  }
  if (await dockerAnswers(env)) return startInDocker();
  const local = await localPrograms(env);
  return local === null ? startInFolder('embedded') : startInFolder(`local ${local.postgres}`, local);
}

async function dockerAnswers(env: NodeJS.ProcessEnv): Promise<boolean> {
  const host = env.DOCKER_HOST;
  const address = host === undefined || host === '' ? { path: DOCKER_SOCKET } : addressOf(new URL(host));
  return new Promise((resolve) => {
    const socket = connect(address);
    const answer = (yes: boolean) => {
      socket.destroy();
      resolve(yes);
    };
    socket.setTimeout(DOCKER_ANSWER_MS, () => answer(false));
    socket.once('error', () => answer(false));
    socket.once('connect', () => answer(true));
  });
}

function addressOf(url: URL): { path: string } | { host: string; port: number } {
  return url.protocol === 'unix:' ? { path: url.pathname } : { host: url.hostname, port: Number(url.port) };
}

async function startInDocker(): Promise<TestServer> {
  const { GenericContainer, Wait } = await import('testcontainers');
  const container = await new GenericContainer(DOCKER_IMAGE)
    .withEnvironment({ POSTGRES_PASSWORD: 'test' })
    .withCommand(['postgres', '-c', 'max_connections=200'])
    .withExposedPorts(5432)
    .withWaitStrategy(Wait.forLogMessage(/ready to accept connections/, 2))
    .start();
  return {
    adminUrl: `postgres://postgres:test@${container.getHost()}:${container.getMappedPort(5432)}/postgres`,
    kind: `Docker ${DOCKER_IMAGE}`,
    stop: async () => void (await container.stop()),
  };
}

/** Programs on the PATH, when both are there and new enough. */
async function localPrograms(env: NodeJS.ProcessEnv): Promise<Programs | null> {
  const folders = (env.PATH ?? '').split(delimiter).filter((folder) => folder !== '');
  const initdb = await firstIn(folders, 'initdb');
  const postgres = await firstIn(folders, 'postgres');
  if (initdb === null || postgres === null) return null;
  const { stdout } = await run(postgres, ['--version']).catch(() => ({ stdout: '' }));
  const major = Number(/(\d+)/.exec(stdout)?.[1] ?? 0);
  return major >= OLDEST_MAJOR ? { initdb, postgres } : null;
}

async function firstIn(folders: readonly string[], program: string): Promise<string | null> {
  for (const folder of folders) {
    const path = await realpath(join(folder, program)).catch(() => null);
    if (path !== null) return path;
  }
  return null;
}

async function startInFolder(kind: string, binaries?: Programs): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), 'turnwright-test-pg-'));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    // Older servers must be able to enter the folders above their own.
    await chmod(folder, 0o711);
    const options = { dataDir: join(folder, 'data'), ...(binaries === undefined ? {} : { binaries }) };
    const server = await startEmbeddedPostgres(options);
    const stop = async (): Promise<void> => {
      await server.stop();
      await remove();
    };
    return { adminUrl: server.url, kind, stop };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Never one that TEST_DATABASE_URL names: this one may be crashed. */
export async function startOwnServer(env: NodeJS.ProcessEnv): Promise<OwnServer> {
  const folder = await mkdtemp(join(tmpdir(), 'turnwright-own-pg-'));
  await chmod(folder, 0o711);
  const dataDir = join(folder, 'data');
  await mkdir(dataDir, { mode: 0o711 });
  const local = await localPrograms(env);
  const account = await serverAccount(clusterDirOf(dataDir));
  const binaries = local ?? (await embeddedBinaries(account));
  const cluster = await ensureCluster(dataDir, binaries, account);
  const port = await freePort();
  const adminUrl = `postgres://${CLUSTER_USER}:${cluster.password}@127.0.0.1:${port}/postgres`;
  const start = async (): Promise<Launched> => {
    const launched = await launch({ binaries, account, cluster, log: () => undefined }, port);
    await until('the server answers', () => launched.hasEnded() || answers(adminUrl), START_MS);
    if (launched.hasEnded()) throw new Error(`PostgreSQL did not start: ${launched.tail()}`);
    return launched;
  };
  let server = await start();
  const signal = async (name: NodeJS.Signals): Promise<void> => {
    for (const pid of await clusterProcesses(cluster.dir)) sendTo(pid, name);
  };
  const end = async (name: NodeJS.Signals): Promise<void> => {
    await signal('SIGCONT');
    if (!server.hasEnded()) server.kill(name);
    await server.ended;
  };
  return {
    adminUrl,
    kind: local === null ? 'embedded' : `local ${local.postgres}`,
    crash: () => end('SIGQUIT'),
    start: async () => {
      server = await start();
    },
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    stop: async () => {
      await end('SIGINT');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.query('SELECT 1');
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => undefined);
  }
}

function sendTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // A backend that ended between being seen and being signalled.
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}
