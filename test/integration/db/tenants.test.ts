import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withTenant } from '../../../src/db/pool.ts';
import { PostgresStore } from '../../../src/db/store.ts';
import { SessionUnderTest } from '../../contract/session-under-test.ts';
import { type MigratedDatabase, migratedDatabase, refusal } from './migrated.ts';

const PERMISSION_DENIED = '42501';
const ROLES = ['turnwright_owner', 'turnwright_app', 'turnwright_upkeep'];

let database: MigratedDatabase;
let session: SessionUnderTest;
let turn: string;

beforeAll(async () => {
  database = await migratedDatabase();
  session = await SessionUnderTest.open(new PostgresStore(database.app), await database.newTenant());
  turn = (await session.accept({ child: 'step-1' })).turn;
});
afterAll(() => database.close());

describe('the roles', () => {
  it('LED-01 cannot pass by row security, log in, or make databases and roles', async () => {
    const { rows } = await database.root.query(
      'SELECT rolname FROM pg_roles WHERE rolname = ANY ($1) AND NOT (rolsuper OR rolbypassrls OR rolcanlogin OR rolcreatedb OR rolcreaterole)',
      [ROLES],
    );
    expect(rows).toHaveLength(ROLES.length);
  });

  it('LED-01 the app has no UPDATE, DELETE or TRUNCATE on records and bodies, not even on a partition', async () => {
    const { rows } = await database.root.query(
      `SELECT c.relname, p.privilege FROM pg_class c, unnest(ARRAY['UPDATE', 'DELETE', 'TRUNCATE', 'TRIGGER']) p(privilege)
        WHERE c.relnamespace = 'turnwright'::regnamespace AND c.relname ~ '^(records|bodies)' AND c.relkind IN ('r', 'p')
          AND has_table_privilege('turnwright_app', c.oid, p.privilege)`,
    );
    expect(rows).toEqual([]);
    for (const sql of [
      'DELETE FROM turnwright.records',
      'UPDATE turnwright.records SET body = NULL',
      'TRUNCATE turnwright.records',
      'DROP TABLE turnwright.records',
      'ALTER TABLE turnwright.records DISABLE TRIGGER ALL',
      'SELECT FROM turnwright.records_p00',
      "SET session_replication_role = 'replica'",
    ])
      expect([sql, await refusal(database.app.query(sql))]).toEqual([sql, PERMISSION_DENIED]);
  });

  it('upkeep reads no content of the originals', async () => {
    for (const sql of ['SELECT body FROM turnwright.records', 'SELECT body FROM turnwright.bodies'])
      expect(await refusal(database.upkeep.query(sql))).toBe(PERMISSION_DENIED);
  });
});

describe('row security', () => {
  const tables = async () => {
    const { rows } = await database.root.query<{ name: string; forced: boolean; readable: boolean }>(
      `SELECT c.relname AS name, c.relrowsecurity AND c.relforcerowsecurity AS forced,
          has_table_privilege('turnwright_app', c.oid, 'SELECT') AS readable FROM pg_class c
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id'
        WHERE c.relnamespace = 'turnwright'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition`,
    );
    return rows;
  };

  it('LED-04 is forced on every table that has a tenant', async () => {
    const found = await tables();
    expect(found.length).toBeGreaterThanOrEqual(15);
    expect(found.filter(({ forced }) => !forced)).toEqual([]);
  });

  it('LED-04 shows no row where no tenant is set, and none of another tenant', async () => {
    const other = await database.newTenant();
    const found = await tables();
    const closed = found.filter(({ readable }) => !readable).map(({ name }) => name);
    expect(closed.sort()).toEqual(['rate_waits', 'tenant_shares']);
    for (const { name } of found.filter(({ readable }) => readable)) {
      const count = `SELECT count(*)::int AS count FROM turnwright.${name}`;
      const blind = await database.app.query<{ count: number }>(count);
      const strange = await withTenant(database.app, other, (client) =>
        client.query<{ count: number }>(`${count} WHERE tenant_id <> '${other}'`),
      );
      expect([name, blind.rows[0]?.count, strange.rows[0]?.count]).toEqual([name, 0, 0]);
    }
    const own = await withTenant(database.app, session.ref.tenant, (client) =>
      client.query('SELECT FROM turnwright.records'),
    );
    expect(own.rowCount).toBe(3);
  });

  it('LED-04 refuses rows written for another tenant, or for none', async () => {
    const before = await database.dump();
    const insert = `INSERT INTO turnwright.heads (tenant_id, session_id, head_id, at_seq) VALUES ('${session.ref.tenant}', '${session.ref.session}', '${randomUUID()}', 0)`;
    expect(await refusal(database.app.query(insert))).toBe(PERMISSION_DENIED);
    const other = await database.newTenant();
    const afterTenant = await database.dump();
    const stolen = withTenant(database.app, other, (client) => client.query(insert));
    expect(await refusal(stolen)).toBe(PERMISSION_DENIED);
    const moved = withTenant(database.app, session.ref.tenant, (client) =>
      client.query('UPDATE turnwright.turns SET tenant_id = $1', [other]),
    );
    expect(await refusal(moved)).toBe(PERMISSION_DENIED);
    expect(await database.dump()).toBe(afterTenant);
    expect(afterTenant.length).toBeGreaterThan(before.length);
  });

  it('LED-04 forgets the tenant with its transaction', async () => {
    const client = await database.app.connect();
    try {
      await client.query('BEGIN');
      await client.query("SELECT set_config('turnwright.tenant', $1, true)", [session.ref.tenant]);
      expect((await client.query('SELECT FROM turnwright.turns')).rowCount).toBe(1);
      await client.query('COMMIT');
      expect((await client.query('SELECT FROM turnwright.turns')).rowCount).toBe(0);
    } finally {
      client.release();
    }
  });

  it('LED-05 gives each record, call and event of a turn the id of that turn', async () => {
    const { rows } = await database.root.query(
      `SELECT (SELECT turn_id FROM turnwright.records WHERE kind = 'turn-accepted') AS record,
        (SELECT actor_id FROM turnwright.side_calls) AS call, (SELECT actor_id FROM turnwright.actor_events) AS event`,
    );
    expect(rows).toEqual([{ record: turn, call: turn, event: turn }]);
  });
});

describe('the lookup of a key', () => {
  it('finds a key by its id before the tenant is known, and nothing else does', async () => {
    const keyId = randomUUID();
    await database.root.query(
      `INSERT INTO turnwright.api_keys (tenant_id, key_id, name, secret_hash, scopes) VALUES ($1, $2, 'k', '\\x01', '{turns:read}')`,
      [session.ref.tenant, keyId],
    );
    const found = await database.app.query('SELECT tenant_id, scopes FROM turnwright.find_key($1)', [keyId]);
    expect(found.rows).toEqual([{ tenant_id: session.ref.tenant, scopes: ['turns:read'] }]);
    expect((await database.app.query('SELECT FROM turnwright.find_key($1)', [randomUUID()])).rowCount).toBe(
      0,
    );
    expect((await database.app.query('SELECT FROM turnwright.api_keys')).rowCount).toBe(0);
    expect(await refusal(database.upkeep.query('SELECT FROM turnwright.find_key($1)', [keyId]))).toBe(
      PERMISSION_DENIED,
    );
  });
});
