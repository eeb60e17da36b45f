/** What the ledger takes on disk: after VACUUM, without the write-ahead log and the queue's own schema. */
import type { Services } from '../src/app/services.ts';
import { runSql } from './servers.ts';

const FOLD_BATCH = 500;

export interface Disk {
  readonly bytes: number;
  /** By table, indexes and what is stored out of line included; the partitions of one table together. */
  readonly tables: Readonly<Record<string, number>>;
}

/** Folds what is closed first, as upkeep does in time. */
export async function diskOf({ upkeep, databaseUrl }: Services): Promise<Disk> {
  while ((await upkeep.compact(FOLD_BATCH)) > 0);
  await runSql(databaseUrl, 'VACUUM (ANALYZE)');
  const rows = await runSql<{ name: string; bytes: string }>(
    databaseUrl,
    `SELECT regexp_replace(relname, '_p?\\d+$', '') AS name, sum(pg_total_relation_size(oid)) AS bytes
       FROM pg_class WHERE relnamespace = 'turnwright'::regnamespace AND relkind = 'r' GROUP BY 1 ORDER BY 2 DESC`,
  );
  const tables = Object.fromEntries(rows.map(({ name, bytes }) => [name, Number(bytes)]));
  return { bytes: rows.reduce((sum, row) => sum + Number(row.bytes), 0), tables };
}

export function grownBy(before: Disk, after: Disk): Disk {
  const tables = Object.entries(after.tables).map(([name, bytes]) => [
    name,
    bytes - (before.tables[name] ?? 0),
  ]);
  return { bytes: after.bytes - before.bytes, tables: Object.fromEntries(tables) };
}
