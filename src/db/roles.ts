/** The three roles a deployment runs as. They are the server's, so they exist before any schema does. */
import type pg from 'pg';
import { TurnwrightError } from '../ledger/errors.ts';
import { errorCode } from './pool.ts';

/** owner migrates and owns every object; app serves tenants under row-level security; upkeep sweeps across them. */
const ROLES = ['turnwright_owner', 'turnwright_app', 'turnwright_upkeep'] as const;
const FLAGS = 'NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS';
const PERMISSION_DENIED = '42501';
/** Two processes that migrate at once, each in a database of its own, meet at the roles: the later one tries again. */
const RACED = new Set(['42710', '23505', 'XX000']);
const MAX_RACES = 10;

/** @throws TurnwrightError `roles_missing` whose details hold the SQL an administrator must run. */
export async function ensureRoles(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ user: string; database: string }>(
    'SELECT current_user AS "user", current_database() AS database',
  );
  const { user = '', database = '' } = rows[0] ?? {};
  for (let race = 0; !(await isReady(client)); race++) {
    try {
      return await make(client, user, database);
    } catch (error) {
      const code = errorCode(error) ?? '';
      if (RACED.has(code) && race < MAX_RACES) continue;
      if (code !== PERMISSION_DENIED) throw error;
      throw new TurnwrightError(
        'roles_missing',
        `The user "${user}" may not create the roles. Have an administrator run the SQL below, then migrate again.`,
        { cause: error, details: { sql: administratorSql(user, database) } },
      );
    }
  }
}

async function make(client: pg.ClientBase, user: string, database: string): Promise<void> {
  for (const role of ROLES) {
    const found = await client.query('SELECT FROM pg_roles WHERE rolname = $1', [role]);
    if (found.rowCount === 0) await client.query(`CREATE ROLE ${role} ${FLAGS}`);
  }
  for (const statement of grants(user, database)) await client.query(statement);
}

function grants(user: string, database: string): readonly string[] {
  return [
    ...ROLES.map((role) => `GRANT ${role} TO ${quote(user)}`),
    `GRANT CREATE, CONNECT ON DATABASE ${quote(database)} TO turnwright_owner`,
  ];
}

export function administratorSql(user: string, database: string): string {
  const lines = [...ROLES.map((role) => `CREATE ROLE ${role} ${FLAGS}`), ...grants(user, database)];
  return lines.map((line) => `${line};`).join('\n');
}

async function isReady(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ ready: boolean }>(
    `SELECT count(*) = ${ROLES.length} AND bool_and(pg_has_role(current_user, oid, 'MEMBER'))
        AND bool_or(rolname = 'turnwright_owner' AND has_database_privilege(oid, current_database(), 'CREATE')) AS ready
      FROM pg_roles WHERE rolname = ANY ($1)`,
    [[...ROLES]],
  );
  return rows[0]?.ready ?? false;
}

function quote(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`;
}
