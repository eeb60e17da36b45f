import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { migrate } from '../../../src/db/migrate.ts';
import { createPool } from '../../../src/db/pool.ts';
import { administratorSql } from '../../../src/db/roles.ts';
import { PostgresStore } from '../../../src/db/store.ts';
import { TurnwrightError } from '../../../src/ledger/errors.ts';
import { compareCatalogue } from '../../support/catalogue.ts';
import { startPostgres, type TestDatabase } from '../../support/postgres.ts';

let database: TestDatabase;
let root: pg.Pool;
const logins: string[] = [];

beforeEach(async () => {
  database = await startPostgres();
  root = new pg.Pool({ connectionString: database.url, max: 2 });
  root.on('error', () => {});
});
afterEach(async () => {
  for (const name of logins.splice(0)) {
    await root.query(`DROP OWNED BY ${name}`);
    await root.query(`DROP ROLE ${name}`);
  }
  await root.end();
  await database.stop();
});

async function failure(work: Promise<unknown>): Promise<TurnwrightError> {
  const thrown: unknown = await work.then(
    () => null,
    (error: unknown) => error,
  );
  if (!(thrown instanceof TurnwrightError))
    throw new Error(`expected a named error, found ${String(thrown)}`);
  return thrown;
}

async function applied(): Promise<readonly unknown[]> {
  return (await root.query('SELECT hash, created_at FROM turnwright_migrations.migrations ORDER BY id')).rows;
}

/** A login that may neither create roles nor act as ours, and its URL. */
async function plainLogin(): Promise<{ readonly name: string; readonly url: string }> {
  const name = `plain_${randomBytes(4).toString('hex')}`;
  await root.query(`CREATE ROLE ${name} LOGIN PASSWORD 'plain' NOCREATEROLE`);
  logins.push(name);
  const url = new URL(database.url);
  url.username = name;
  url.password = 'plain';
  return { name, url: url.href };
}

describe('migrating', () => {
  it('twice is as good as once', async () => {
    await migrate(database.url);
    const first = await applied();
    expect(first.length).toBeGreaterThanOrEqual(4);
    await migrate(database.url);
    expect(await applied()).toEqual(first);
    expect(await compareCatalogue(root)).toEqual({ missing: [], undeclared: [] });
  });

  it('by several processes at once applies each migration once', async () => {
    await Promise.all([migrate(database.url), migrate(database.url), migrate(database.url)]);
    const rows = await applied();
    expect(new Set(rows.map((row) => JSON.stringify(row))).size).toBe(rows.length);
    expect(await compareCatalogue(root)).toEqual({ missing: [], undeclared: [] });
  });

  it('makes the owner role own every table and function', async () => {
    await migrate(database.url);
    const { rows } = await root.query(
      `SELECT DISTINCT pg_get_userbyid(owner) AS owner FROM (
        SELECT relowner AS owner FROM pg_class WHERE relnamespace = 'turnwright'::regnamespace
        UNION SELECT proowner FROM pg_proc WHERE pronamespace = 'turnwright'::regnamespace) o`,
    );
    expect(rows).toEqual([{ owner: 'turnwright_owner' }]);
  });

  it('as a user that may not create roles says so, with the SQL an administrator must run', async () => {
    const { name, url } = await plainLogin();
    const error = await failure(migrate(url));
    expect(error.code).toBe('roles_missing');
    expect(error.message).toContain(name);
    expect(error.details?.sql).toBe(administratorSql(name, database.name));
    for (const role of ['turnwright_owner', 'turnwright_app', 'turnwright_upkeep'])
      expect(String(error.details?.sql)).toContain(`CREATE ROLE ${role}`);
    expect((await root.query("SELECT FROM pg_namespace WHERE nspname = 'turnwright'")).rowCount).toBe(0);
  });

  it('as that user succeeds once the administrator ran the SQL', async () => {
    const { url } = await plainLogin();
    const { details } = await failure(migrate(url));
    for (const statement of String(details?.sql).split('\n')) {
      // The roles belong to the server: another database of it may have made them before.
      await root.query(statement).catch((error: unknown) => {
        if (!statement.startsWith('CREATE ROLE')) throw error;
      });
    }
    await migrate(url);
    expect(await compareCatalogue(root)).toEqual({ missing: [], undeclared: [] });
  });

  it('of a server that does not answer is an error to try again, without the password in it', async () => {
    const url = new URL(database.url);
    url.port = '1';
    url.password = 'marker-secret';
    const error = await failure(migrate(url.href));
    expect([error.code, error.retryable]).toEqual(['database_unreachable', true]);
    expect(`${error.message} ${JSON.stringify(error.details ?? {})}`).not.toContain('marker-secret');
  });
});

describe('a store on a database that was never migrated', () => {
  it('says what to run', async () => {
    const pool = createPool({
      url: database.url,
      role: 'turnwright_app',
      max: 1,
      applicationName: 'test',
      onError: () => {},
    });
    try {
      const ref = { tenant: crypto.randomUUID(), session: crypto.randomUUID() };
      const error = await failure(new PostgresStore(pool).loadSession(ref, null));
      expect(error.code).toBe('migration_required');
      expect(error.message).toContain('turnwright migrate');
    } finally {
      await pool.end();
    }
  });
});
