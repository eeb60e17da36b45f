import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compareCatalogue, declaredLines } from '../../support/catalogue.ts';
import { type MigratedDatabase, migratedDatabase } from './migrated.ts';

let database: MigratedDatabase;
beforeAll(async () => {
  database = await migratedDatabase();
});
afterAll(() => database.close());

describe('the migrated catalogue', () => {
  it('is what the schema declares: columns, types, nullability, keys and indexes', async () => {
    expect(declaredLines().length).toBeGreaterThan(120);
    expect(await compareCatalogue(database.root)).toEqual({ missing: [], undeclared: [] });
  });

  it('is found to differ in every way it can', async () => {
    const client = await database.root.connect();
    const changedBy = async (sql: string) => {
      await client.query('BEGIN');
      await client.query(sql);
      const difference = await compareCatalogue(client);
      await client.query('ROLLBACK');
      return difference;
    };
    try {
      for (const sql of [
        'ALTER TABLE turnwright.turns ALTER COLUMN reason SET NOT NULL',
        'ALTER TABLE turnwright.turns ALTER COLUMN steps TYPE bigint',
        'ALTER TABLE turnwright.turns ALTER COLUMN steps DROP DEFAULT',
        'DROP INDEX turnwright.turns_number; CREATE INDEX turns_number ON turnwright.turns (tenant_id, session_id, head_id, number)',
      ]) {
        const difference = await changedBy(sql);
        expect([sql, difference.missing.length, difference.undeclared.length]).toEqual([sql, 1, 1]);
      }
      expect((await changedBy('ALTER TABLE turnwright.turns DROP COLUMN reason')).missing).toHaveLength(1);
      expect(
        (await changedBy('CREATE TABLE turnwright.extra (id uuid PRIMARY KEY)')).undeclared,
      ).toHaveLength(2);
      expect((await changedBy('DROP INDEX turnwright.timers_due')).missing).toHaveLength(1);
    } finally {
      client.release();
    }
  });

  it('LED-04 begins every primary and unique key of a session table with tenant and session', async () => {
    const { rows } = await database.root.query<{ table: string; key: string; columns: string[] }>(
      `SELECT c.relname AS "table", x.relname AS key,
          ARRAY(SELECT pg_get_indexdef(i.indexrelid, n, true) FROM generate_series(1, 2) n ORDER BY n) AS columns
        FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid JOIN pg_class x ON x.oid = i.indexrelid
        WHERE c.relnamespace = 'turnwright'::regnamespace AND i.indisunique
          AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'session_id' AND NOT a.attisdropped)`,
    );
    const tables = new Set(rows.map(({ table }) => table));
    for (const name of [
      'sessions',
      'records',
      'bodies',
      'turns',
      'actors',
      'side_calls',
      'outbox',
      'evidence',
    ])
      expect(tables).toContain(name);
    expect(rows.filter(({ columns }) => columns.join() !== 'tenant_id,session_id')).toEqual([]);
  });

  it('LED-04 has sixteen hash partitions of records and of bodies, by tenant and session', async () => {
    const { rows } = await database.root.query(
      `SELECT inhparent::regclass::oid::regclass::text AS parent, pg_get_partkeydef(inhparent) AS key, count(*)::int AS partitions
        FROM pg_inherits WHERE inhparent IN ('turnwright.records'::regclass, 'turnwright.bodies'::regclass) GROUP BY inhparent ORDER BY 1`,
    );
    expect(rows).toEqual(
      ['bodies', 'records'].map((name) => ({
        parent: expect.stringMatching(new RegExp(`(^|\\.)${name}$`, 'u')),
        key: 'HASH (tenant_id, session_id)',
        partitions: 16,
      })),
    );
  });

  it('keeps the live buffer out of the write-ahead log, and nothing else', async () => {
    const { rows } = await database.root.query(
      `SELECT relname FROM pg_class WHERE relnamespace = 'turnwright'::regnamespace AND relkind IN ('r', 'p') AND relpersistence = 'u'`,
    );
    expect(rows).toEqual([{ relname: 'deltas' }]);
  });
});
