/** Brings a database to this version's schema. Safe to run twice, and by two processes at once. */
import { fileURLToPath } from 'node:url';
import { drizzle } from 'drizzle-orm/node-postgres';
import { migrate as runMigrations } from 'drizzle-orm/node-postgres/migrator';
import pg from 'pg';
import { databaseError } from './pool.ts';
import { ensureRoles } from './roles.ts';

const FOLDER = fileURLToPath(new URL('../../drizzle', import.meta.url));
const CONNECT_TIMEOUT_MS = 10_000;

/** @throws TurnwrightError `database_unreachable`, or `roles_missing` with the SQL for an administrator. */
export async function migrate(url: string): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'turnwright migrate',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query("SELECT pg_advisory_lock(hashtext('turnwright.migrate'))");
    await ensureRoles(client);
    await client.query('SET ROLE turnwright_owner');
    await runMigrations(drizzle(client), {
      migrationsFolder: FOLDER,
      migrationsSchema: 'turnwright_migrations',
      migrationsTable: 'migrations',
    });
  } catch (error) {
    throw databaseError(unwrap(error));
  } finally {
    await client.end().catch(() => {});
  }
}

/** Work on a schema of the migrating user's own; afterwards the app role may use it. */
export async function withSharedSchema(
  url: string,
  schema: string,
  work: (client: pg.Client) => Promise<void>,
): Promise<void> {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'turnwright migrate',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  client.on('error', () => {});
  const name = pg.escapeIdentifier(schema);
  try {
    await client.connect();
    await work(client);
    for (const grant of [
      `GRANT USAGE ON SCHEMA ${name} TO turnwright_app`,
      `GRANT ALL ON ALL TABLES IN SCHEMA ${name} TO turnwright_app`,
      `GRANT ALL ON ALL SEQUENCES IN SCHEMA ${name} TO turnwright_app`,
    ])
      await client.query(grant);
  } catch (error) {
    throw databaseError(error);
  } finally {
    await client.end().catch(() => {});
  }
}

/** Drizzle wraps what the server said; the server's own error names the cause. */
function unwrap(error: unknown): unknown {
  return error instanceof Error && error.cause instanceof Error && error.name === 'DrizzleQueryError'
    ? error.cause
    : error;
}
