/** The database of a command that only looks something up or changes one row. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../app/config.ts';
import { startEmbeddedPostgres } from '../app/embedded/postgres.ts';
import { migrate } from '../db/index.ts';
import { TurnwrightError } from '../ledger/errors.ts';

/**
 * Works on DATABASE_URL; else on the embedded database of the data folder: the running one when `up` runs
 * there, one of its own otherwise.
 */
export async function withDatabase<Result>(
  config: Config,
  work: (databaseUrl: string) => Promise<Result>,
): Promise<Result> {
  if (config.databaseUrl !== undefined) return work(config.databaseUrl);
  try {
    const server = await startEmbeddedPostgres({ dataDir: config.dataDir });
    try {
      await migrate(server.url);
      return await work(server.url);
    } finally {
      await server.stop();
    }
  } catch (error) {
    if (!(error instanceof TurnwrightError) || error.code !== 'data_folder_in_use') throw error;
    const running = await runningEmbedded(config.dataDir);
    if (running === null) throw error;
    return work(running);
  }
}

/** URL of the embedded server that another process runs in this folder; null when none is ready. */
export async function runningEmbedded(dataDir: string): Promise<string | null> {
  try {
    const lock = (await readFile(join(dataDir, 'cluster', 'postmaster.pid'), 'utf8')).split('\n');
    const password = (await readFile(join(dataDir, 'postgres-password'), 'utf8')).trim();
    // PostgreSQL keeps its port in line 4 of its lock file and its state in line 8.
    const port = Number(lock[3]);
    if (!Number.isInteger(port) || lock[7]?.trim() !== 'ready') return null;
    return `postgres://turnwright:${password}@127.0.0.1:${port}/postgres`;
  } catch {
    return null;
  }
}
