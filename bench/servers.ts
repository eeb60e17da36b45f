/** The servers that benches share: one PostgreSQL with databases of their own, and a Redis where one is asked for. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../src/app/embedded/postgres.ts';
import { migrateAll } from '../src/app/migrate.ts';
import type { BenchSettings } from './settings.ts';

export const BACKENDS = ['redis', 'postgres'] as const;
export type Backend = (typeof BACKENDS)[number];

export interface BenchDatabase {
  readonly url: string;
  drop(): Promise<void>;
}

/** A migrated database and a queue that nothing else uses. */
export interface Place {
  readonly settings: BenchSettings;
  drop(): Promise<void>;
}

export interface Servers {
  /** What `SELECT version()` says. */
  readonly postgresVersion: string;
  /** An empty database. */
  database(): Promise<BenchDatabase>;
  place(backend: Backend, windowTokens: number): Promise<Place>;
  close(): Promise<void>;
}

/** Those named by DATABASE_URL and REDIS_URL, else an embedded PostgreSQL and a Redis without persistence. */
export async function startServers(): Promise<Servers> {
  const dataDir = await mkdtemp(join(tmpdir(), 'turnwright-bench-'));
  const given = process.env.DATABASE_URL;
  const postgres = given === undefined ? await startEmbeddedPostgres({ dataDir }) : null;
  const adminUrl = postgres?.url ?? given ?? '';
  let redis: Promise<Redis> | null = null;
  const database = () => createDatabase(adminUrl);
  return {
    postgresVersion: await versionOf(adminUrl),
    database,
    place: async (backend, windowTokens) => {
      if (backend === 'redis') redis ??= startRedis();
      const redisUrl = backend === 'redis' ? ((await redis)?.url ?? null) : null;
      const { url, drop } = await database();
      const queueNamespace = `bench_${randomBytes(4).toString('hex')}`;
      await migrateAll({ queueNamespace, ...(redisUrl === null ? {} : { redisUrl }) }, url);
      const settings = { databaseUrl: url, redisUrl, queueNamespace, root: dataDir, windowTokens };
      return { settings, drop };
    },
    close: async () => {
      await (await redis)?.stop();
      await postgres?.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function createDatabase(adminUrl: string): Promise<BenchDatabase> {
  const name = `turnwright_bench_${randomBytes(4).toString('hex')}`;
  await runSql(adminUrl, `CREATE DATABASE ${name} TEMPLATE template0`);
  const url = new URL(adminUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    drop: async () => void (await runSql(adminUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)),
  };
}

/** One statement on a connection of its own, as the user of the URL. */
export async function runSql<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}

async function versionOf(url: string): Promise<string> {
  const [row] = await runSql<{ server_version: string }>(url, 'SHOW server_version');
  return row?.server_version ?? '';
}

interface Redis {
  readonly url: string;
  stop(): Promise<void>;
}

async function startRedis(): Promise<Redis> {
  if (process.env.REDIS_URL !== undefined) return { url: process.env.REDIS_URL, stop: async () => {} };
  const port = await freePort();
  const child = spawn(
    'redis-server',
    ['--port', String(port), '--save', '', '--maxmemory-policy', 'noeviction'],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const onExit = () => child.kill();
  process.once('exit', onExit);
  const ended = once(child, 'exit');
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false }))
    if (String(chunk).includes('Ready to accept')) break;
  child.stdout.resume();
  return {
    url: `redis://127.0.0.1:${port}`,
    stop: async () => {
      process.off('exit', onExit);
      child.kill();
      await ended;
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
