/** Everything a run breaks, and the two things it never touches: the simulator and the producers' own log. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { appendFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { migrateAll } from '../../src/app/migrate.ts';
import { DEFAULT_TENANT, issueKey } from '../../src/cli/tenancy.ts';
import { DEFAULT_SIM_MODELS, type SimModel, type Simulator, startSimulator } from '../../src/sim/index.ts';
import { freePort, type OwnServer, startOwnServer } from '../support/postgres-server.ts';
import { startOwnRedis, type TestRedis } from '../support/redis.ts';
import type { Backend } from '../support/stack-contract.ts';
import { type Crash, Slot } from './processes.ts';
import { noteFiles } from './questions.ts';

export interface WorldOptions {
  readonly backend: Backend;
  readonly seed: number;
  readonly workers: number;
  readonly leaseMs: number;
}

export interface World {
  readonly backend: Backend;
  readonly folder: string;
  readonly leaseMs: number;
  readonly tenant: string;
  readonly key: string;
  readonly apiUrl: string;
  readonly databaseUrl: string;
  readonly sim: Simulator;
  readonly postgres: OwnServer;
  /** null where the queue lives in the database. */
  readonly redis: TestRedis | null;
  readonly api: Slot;
  readonly workers: readonly Slot[];
  /** In order of their ends. */
  readonly crashes: readonly Crash[];
  readonly effectsFile: string;
  /** On a connection of its own, as the user that owns the server: sees every tenant. */
  sql<Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<readonly Row[]>;
  /** `keep` leaves the folder with the logs of every process. */
  close(keep?: boolean): Promise<void>;
}

export const QUEUE_NAMESPACE = 'turnwright_queue';

const BASE = DEFAULT_SIM_MODELS.find(({ name }) => name === 'sim-large');
const DRAIN_MS = 1_500;

export const NARROW = 'narrow';
/** Fast and slow, with room and with so little that turns leave the request for packets. */
const MODELS = [
  model({ name: 'quick', decodeTokensPerSecond: 1_000 }),
  model({ name: 'slow', decodeTokensPerSecond: 8 }),
  model({ name: NARROW, window: 2_560, horizon: 2_560, decodeTokensPerSecond: 200 }),
] as const;

export async function openWorld(options: WorldOptions): Promise<World> {
  const folder = await mkdtemp(join(tmpdir(), 'turnwright-chaos-'));
  const opened: (() => Promise<unknown>)[] = [];
  const close = async (keep = false): Promise<void> => {
    for (let step = opened.pop(); step !== undefined; step = opened.pop()) await step();
    if (!keep) await rm(folder, { recursive: true, force: true });
  };
  try {
    const servers = await startServers(options, opened);
    const { key } = await issueKey(servers.postgres.adminUrl, 'producers');
    return { ...(await startProcesses(options, folder, servers, opened)), key, folder, close };
  } catch (error) {
    await close(true);
    throw error;
  }
}

type Servers = Pick<World, 'postgres' | 'redis' | 'sim'>;

/** `opened` takes what must be stopped, as it starts. */
async function startServers(
  { backend, seed }: WorldOptions,
  opened: (() => Promise<unknown>)[],
): Promise<Servers> {
  const sim = await startSimulator({ seed, speed: 'real', models: MODELS });
  opened.push(() => sim.close());
  const postgres = await startOwnServer(process.env);
  opened.push(() => postgres.stop());
  const redis = backend === 'redis' ? await startOwnRedis() : null;
  if (redis !== null) opened.push(() => redis.stop());
  const redisUrl = redis === null ? {} : { redisUrl: redis.url };
  await migrateAll({ queueNamespace: QUEUE_NAMESPACE, ...redisUrl }, postgres.adminUrl);
  return { sim, postgres, redis };
}

async function startProcesses(
  { backend, leaseMs, workers: count }: WorldOptions,
  folder: string,
  { sim, postgres, redis }: Servers,
  opened: (() => Promise<unknown>)[],
): Promise<Omit<World, 'key' | 'folder' | 'close'>> {
  const root = join(folder, 'notes');
  mkdirSync(root);
  for (const [name, text] of Object.entries(noteFiles())) writeFileSync(join(root, name), text);
  const effectsFile = join(folder, 'effects');
  writeFileSync(effectsFile, '');
  const databaseUrl = postgres.adminUrl;
  const redisUrl = redis?.url ?? null;
  const common = { databaseUrl, redisUrl, simUrl: sim.url, root, leaseMs, models: MODELS, effectsFile };
  const crashes: Crash[] = [];
  const slot = (name: string, script: string, more: { drainMs: number } | { port: number }): Slot => {
    const made = new Slot({
      name,
      script: fileURLToPath(new URL(script, import.meta.url)),
      settings: { ...common, ...more },
      onComplaint: (text) => void appendFile(join(folder, `${name}.log`), text),
      onCrash: (crash) => crashes.push(crash),
    });
    opened.push(() => made.close());
    made.start();
    return made;
  };
  const port = await freePort();
  const api = slot('api', './api-owner.ts', { port });
  const workers = Array.from({ length: count }, (_, index) =>
    slot(`worker-${index + 1}`, './worker-owner.ts', { drainMs: DRAIN_MS }),
  );
  await Promise.all([api, ...workers].map((each) => each.ready()));
  return {
    backend,
    leaseMs,
    tenant: DEFAULT_TENANT.tenant,
    apiUrl: `http://127.0.0.1:${port}`,
    databaseUrl,
    sim,
    postgres,
    redis,
    api,
    workers,
    crashes,
    effectsFile,
    sql: (text, values = []) => ask(databaseUrl, text, values),
  };
}

async function ask<Row extends pg.QueryResultRow>(
  url: string,
  text: string,
  values: readonly unknown[],
): Promise<readonly Row[]> {
  const client = new pg.Client({ connectionString: url, application_name: 'chaos' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<Row>(text, [...values])).rows;
  } finally {
    await client.end().catch(() => undefined);
  }
}

function model(own: Partial<SimModel> & { readonly name: string }): SimModel {
  if (BASE === undefined) throw new Error('the simulator has no model to start from');
  return { ...BASE, window: 16_384, horizon: 16_384, prefillTokensPerSecond: 100_000, ...own };
}
