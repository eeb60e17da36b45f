/**
 * One process's whole life: database, schema, connections, workers, API. Started in this order, stopped in
 * the opposite one; a start that fails midway stops what it had started. States: starting, running,
 * stopping, stopped; `stop` may be called in any of them and any number of times.
 */
import { createPool } from '../db/index.ts';
import { checkMigrated } from '../db/queries/check-migrated.ts';
import { POOLS, type Pool } from '../queues/contract.ts';
import type { Config } from './config.ts';
import { startEmbeddedPostgres } from './embedded/postgres.ts';
import type { Logger } from './logger.ts';
import { migrateAll } from './migrate.ts';
import { openServices, type Services } from './services.ts';
import { startWorkers } from './worker-host.ts';

/** The surface above this floor, handed in by whoever builds the process. */
export type ServeApi = (
  services: Services,
  at: { readonly host: string; readonly port: number },
) => Promise<{ readonly url: string; close(): Promise<void> }>;

export interface StackOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly workers: readonly Pool[] | 'all' | 'none';
  readonly api: { readonly host: string; readonly port: number; readonly serve: ServeApi } | null;
  /** Bring a given database to this version's schema first. An embedded one always is. */
  readonly migrate?: boolean;
}

export interface Stack {
  readonly services: Services;
  /** null when the stack serves no API. */
  readonly apiUrl: string | null;
  readonly embedded: boolean;
  /** Lets running work end within `config.limits.drainMs`, hands the rest back, and closes everything. */
  stop(): Promise<void>;
}

/**
 * @throws TurnwrightError `data_folder_in_use`, `database_unreachable`, `queue_unreachable`,
 * `migration_required`, `roles_missing`: nothing is left running then.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const undo: (() => Promise<void>)[] = [];
  let stopping: Promise<void> | null = null;
  const stop = (): Promise<void> => {
    stopping ??= stopAll(undo);
    return stopping;
  };
  try {
    const { databaseUrl, embedded } = await startDatabase(options, undo);
    await checkDatabase(databaseUrl);
    const services = openServices({ ...options.config, databaseUrl }, options.logger);
    undo.push(() => services.close());
    await services.queue.ping();
    await startPools(options, services, undo);
    const apiUrl = await startApi(options, services, undo);
    return { services, apiUrl, embedded, stop };
  } catch (error) {
    await stop().catch(() => undefined);
    throw error;
  }
}

async function startDatabase({ config, logger, ...options }: StackOptions, undo: (() => Promise<void>)[]) {
  if (config.databaseUrl !== undefined) {
    if (options.migrate === true) await migrateAll(config, config.ownerUrl ?? config.databaseUrl);
    return { databaseUrl: config.databaseUrl, embedded: false };
  }
  const log = (line: string): void => logger.debug({ postgres: line }, 'the embedded database says');
  const server = await startEmbeddedPostgres({ dataDir: config.dataDir, log });
  undo.push(() => server.stop());
  await migrateAll(config, server.url);
  return { databaseUrl: server.url, embedded: true };
}

/** Before anything is opened that would go on trying for as long as the database is away. */
async function checkDatabase(url: string): Promise<void> {
  const pool = createPool({
    url,
    role: 'turnwright_app',
    max: 1,
    applicationName: 'turnwright start',
    onError: () => undefined,
  });
  try {
    await checkMigrated(pool);
  } finally {
    await pool.end();
  }
}

async function startPools(
  { config, workers }: StackOptions,
  services: Services,
  undo: (() => Promise<void>)[],
): Promise<void> {
  if (workers === 'none') return;
  const host = await startWorkers(services, workers === 'all' ? POOLS : workers);
  undo.push(() => host.drain(config.limits.drainMs));
}

async function startApi(
  { api }: StackOptions,
  services: Services,
  undo: (() => Promise<void>)[],
): Promise<string | null> {
  if (api === null) return null;
  const listening = await api.serve(services, { host: api.host, port: api.port });
  undo.push(() => listening.close());
  return listening.url;
}

/** Every step is taken even when one fails; the first failure is told. */
async function stopAll(undo: (() => Promise<void>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (let step = undo.pop(); step !== undefined; step = undo.pop()) {
    await step().catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}
