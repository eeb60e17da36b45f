/** Whether the database has the newest migration this program knows. */
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import { TurnwrightError } from '../../ledger/errors.ts';
import { run } from '../pool.ts';

const JOURNAL = fileURLToPath(new URL('../../../drizzle/meta/_journal.json', import.meta.url));

let newest: Promise<number> | null = null;

/** @throws TurnwrightError `database_unreachable`, or `migration_required` when the schema is older. */
export async function checkMigrated(pool: pg.Pool): Promise<void> {
  newest ??= readNewest();
  const wanted = await newest;
  const rows = await run<{ found: number | null }>(pool, {
    text: 'SELECT max(created_at)::float8 AS found FROM turnwright_migrations.migrations',
    values: [],
  });
  const found = rows[0]?.found ?? 0;
  if (found < wanted)
    throw new TurnwrightError(
      'migration_required',
      'The database schema is older than this program. Run `turnwright migrate`.',
    );
}

async function readNewest(): Promise<number> {
  const journal = JSON.parse(await readFile(JOURNAL, 'utf8')) as {
    readonly entries: readonly { readonly when: number }[];
  };
  return Math.max(...journal.entries.map((entry) => entry.when));
}
