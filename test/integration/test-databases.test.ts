import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDatabase, ensureTemplate, startPostgres, type TestDatabase } from '../support/postgres.ts';

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

describe('databases for tests', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await startPostgres();
  });
  afterAll(() => database.stop());

  it('are empty, each of its own name', async () => {
    const other = await startPostgres();
    try {
      expect(other.name).not.toBe(database.name);
      expect(
        await query(database.url, `SELECT 1 FROM pg_class WHERE relnamespace = 'public'::regnamespace`),
      ).toEqual([]);
    } finally {
      await other.stop();
    }
  });

  it('write durably, or no crash test could be believed', async () => {
    expect(
      await query(
        database.url,
        `SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit`,
      ),
    ).toEqual([{ fsync: 'on', commit: 'on' }]);
  });

  it('are copies of a template that is prepared once however many ask at the same time', async () => {
    let prepared = 0;
    const prepare = async (url: string): Promise<void> => {
      prepared += 1;
      await query(url, 'CREATE TABLE kept (word text); INSERT INTO kept VALUES ($$here$$)');
    };
    const names = await Promise.all([1, 2, 3].map(() => ensureTemplate('copied', prepare)));
    expect(new Set(names).size).toBe(1);
    expect(prepared).toBe(1);
    const copies = await Promise.all(names.map((template) => createDatabase({ template })));
    try {
      for (const copy of copies)
        expect(await query(copy.url, 'SELECT word FROM kept')).toEqual([{ word: 'here' }]);
    } finally {
      await Promise.all(copies.map((copy) => copy.stop()));
    }
  });

  it('are dropped by stop even while someone is connected', async () => {
    const doomed = await startPostgres();
    const client = new pg.Client({ connectionString: doomed.url });
    const ended = new Promise<void>((resolve) => client.on('error', () => resolve()));
    await client.connect();
    await doomed.stop();
    await ended;
    await client.end().catch(() => undefined);
    expect(await query(database.url, `SELECT 1 FROM pg_database WHERE datname = '${doomed.name}'`)).toEqual(
      [],
    );
  });
});
