/** The three roles a deployment runs as. They are the server's, so they exist before any schema does. */
import type pg from 'pg';
import { TurnwrightError } from '../ledger/errors.ts';
import { errorCode } from './pool.ts';

/** owner migrates and owns every object; app serves tenants under row-level security; upkeep sweeps across them. */
const ROLES = ['turnwright_owner', 'turnwright_app', 'turnwright_upkeep'] as const;
const FLAGS = 'NOLOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOBYPASSRLS';
const PERMISSION_DENIED = '42501';
/** Two processes that migrate at once make each role once. */
const ALREADY_THERE = new Set(['42710', '23505']);

/** @throws TurnwrightError `roles_missing` whose details hold the SQL an administrator must run. */
export async function ensureRoles(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ user: string; database: string }>(
    'SELECT current_user AS "user", current_database() AS database',
  );
  const { user = '', database = '' } = rows[0] ?? {};
  try {
    for (const role of ROLES) await ensureRole(client, role);
    for (const statement of grants(user, database)) await client.query(statement);
  } catch (error) {
    if (errorCode(error) !== PERMISSION_DENIED) throw error;
    const ready = await alreadyGranted(client);
    if (ready) return;
    throw new TurnwrightError(
      'roles_missing',
      `The user "${user}" may not create the roles. Have an administrator run the SQL below, then migrate again.`,
      {
        cause: error,
        details: { sql: administratorSql(user, database) },
      },
    );
  }
}

async function ensureRole(client: pg.ClientBase, role: string): Promise<void> {
  const found = await client.query('SELECT FROM pg_roles WHERE rolname = $1', [role]);
  if (found.rowCount === 1) return;
  try {
    await client.query(`CREATE ROLE ${role} ${FLAGS}`);
  } catch (error) {
    if (!ALREADY_THERE.has(errorCode(error) ?? '')) throw error;
  }
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

async function alreadyGranted(client: pg.ClientBase): Promise<boolean> {
  const { rows } = await client.query<{ ready: boolean }>(
    `SELECT count(*) = ${ROLES.length} AS ready FROM pg_roles WHERE rolname = ANY ($1) AND pg_has_role(current_user, oid, 'MEMBER')`,
    [[...ROLES]],
  );
  return rows[0]?.ready ?? false;
}

function quote(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`;
}
