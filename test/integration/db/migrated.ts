/** A migrated database of a file's own, with connections for each role and for an all-seeing superuser. */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { migrate } from '../../../src/db/migrate.ts';
import { createPool, type DatabaseRole } from '../../../src/db/pool.ts';
import { createDatabase, ensureTemplate } from '../../support/postgres.ts';

export interface MigratedDatabase {
  readonly url: string;
  readonly app: pg.Pool;
  readonly upkeep: pg.Pool;
  /** Sees and may do everything, as a person with the server in their hands would. */
  readonly root: pg.Pool;
  pool(role: DatabaseRole): pg.Pool;
  newTenant(): Promise<string>;
  /** Every row of every table, as text. */
  dump(): Promise<string>;
  close(): Promise<void>;
}

export async function migratedDatabase(): Promise<MigratedDatabase> {
  const database = await createDatabase({ template: await ensureTemplate('migrated', migrate) });
  const { url } = database;
  const pools: pg.Pool[] = [];
  const onError = () => {};
  const pool = (role: DatabaseRole): pg.Pool => {
    const made = createPool({ url, role, max: 4, applicationName: 'test', onError });
    pools.push(made);
    return made;
  };
  const root = new pg.Pool({ connectionString: url, max: 2 });
  root.on('error', onError);
  pools.push(root);
  return {
    url,
    app: pool('turnwright_app'),
    upkeep: pool('turnwright_upkeep'),
    root,
    pool,
    newTenant: async () => {
      const tenant = randomUUID();
      await root.query('INSERT INTO turnwright.tenants (tenant_id, name) VALUES ($1, $2)', [tenant, 'test']);
      return tenant;
    },
    dump: () => dump(root),
    close: async () => {
      await Promise.all(pools.map((open) => open.end()));
      await database.stop();
    },
  };
}

/** Runs `work` with every trigger off: what somebody could do who holds the files of the server. */
export async function tampering(
  root: pg.Pool,
  work: (client: pg.PoolClient) => Promise<unknown>,
): Promise<void> {
  const client = await root.connect();
  try {
    await client.query("SET session_replication_role = 'replica'");
    await work(client);
  } finally {
    await client.query('RESET session_replication_role');
    client.release();
  }
}

async function dump(root: pg.Pool): Promise<string> {
  const { rows: tables } = await root.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c WHERE c.relnamespace = 'turnwright'::regnamespace
      AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY c.relname`,
  );
  const parts: string[] = [];
  for (const { name } of tables) {
    const { rows } = await root.query<{ row: string }>(
      `SELECT to_jsonb(t)::text AS row FROM turnwright.${pg.escapeIdentifier(name)} t ORDER BY 1`,
    );
    parts.push(name, ...rows.map(({ row }) => row));
  }
  return parts.join('\n');
}

/** The SQLSTATE a statement is refused with; null when it was not. */
export async function refusal(work: Promise<unknown>): Promise<string | null> {
  try {
    await work;
    return null;
  } catch (error) {
    return typeof error === 'object' && error !== null && 'code' in error
      ? String(error.code)
      : String(error);
  }
}
