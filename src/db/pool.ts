/** Connections. Every one of them acts as a role that row-level security binds, whoever it logged in as. */
import pg from 'pg';
import { TurnwrightError } from '../ledger/errors.ts';

export type DatabaseRole = 'turnwright_owner' | 'turnwright_app' | 'turnwright_upkeep';

const CONNECT_TIMEOUT_MS = 5_000;
const UNREACHABLE = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EPIPE',
  '57P01',
  '57P02',
  '57P03',
  '53300',
  '08006',
  '08001',
  '08003',
  '3D000',
  '28P01',
  '28000',
]);

export interface PoolOptions {
  readonly url: string;
  readonly role: DatabaseRole;
  readonly max: number;
  readonly applicationName: string;
  readonly onError: (error: Error) => void;
}

/** What a thread needs to open a pool of its own. Holds the password: it never leaves the process. */
export type PoolAddress = Pick<PoolOptions, 'url' | 'role' | 'applicationName'>;

const ADDRESSES = new WeakMap<pg.Pool, PoolAddress>();

export function createPool(options: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: checkedUrl(options.url),
    max: options.max,
    application_name: options.applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    options: `-c role=${options.role} -c search_path=turnwright -c plan_cache_mode=force_generic_plan`,
  });
  const { url, role, applicationName } = options;
  ADDRESSES.set(pool, { url, role, applicationName });
  pool.on('error', options.onError);
  // The pool listens to idle connections only: one that is cut between two statements of its holder would end the process.
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/** undefined for a pool that was not made here. */
export function addressOf(pool: pg.Pool): PoolAddress | undefined {
  return ADDRESSES.get(pool);
}

/** A URL's own `options` would replace the role, and with it row-level security. */
function checkedUrl(url: string): string {
  if (!new URL(url).searchParams.has('options')) return url;
  const found =
    'The database URL has an "options" parameter, which would replace the role every connection acts as.';
  throw new TurnwrightError(
    'config_invalid',
    `${found} Remove it; set server options on the login or the database.`,
  );
}

/** Says what a failed connection means; never repeats the URL, which may hold a password. */
export function databaseError(error: unknown): unknown {
  const code = errorCode(error);
  const timedOut =
    error instanceof Error &&
    /timeout exceeded when trying to connect|Connection terminated|is not queryable/u.test(error.message);
  if (timedOut || (code !== null && UNREACHABLE.has(code))) {
    const found = error instanceof Error ? error.message : String(error);
    return new TurnwrightError(
      'database_unreachable',
      `Postgres does not answer (${found}). Check DATABASE_URL and that the server runs.`,
      { cause: error },
    );
  }
  if (code === '3F000' || code === '42P01' || code === '42883') {
    return new TurnwrightError(
      'migration_required',
      'The database has no Turnwright schema, or an older one. Run `turnwright migrate`.',
      { cause: error },
    );
  }
  if (code === '42704' || code === '22023') {
    return new TurnwrightError(
      'migration_required',
      'The database lacks the Turnwright roles. Run `turnwright migrate`.',
      { cause: error },
    );
  }
  return error;
}

export function errorCode(error: unknown): string | null {
  if (typeof error === 'object' && error !== null && 'code' in error && typeof error.code === 'string')
    return error.code;
  return null;
}

/** One statement that is its own transaction. `name` makes it a prepared statement of the connection. */
export interface Statement {
  readonly name?: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

export async function run<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  { name, text, values }: Statement,
): Promise<readonly Row[]> {
  try {
    const result = await pool.query<Row>({
      ...(name === undefined ? {} : { name }),
      text,
      values: [...values],
    });
    return result.rows;
  } catch (error) {
    throw databaseError(error);
  }
}

/** Rows of one statement, which sees one tenant's and no others. */
export function tenantRows<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  tenant: string,
  text: string,
  values: readonly unknown[],
): Promise<readonly Row[]> {
  return withTenant(pool, tenant, async (client) => (await client.query<Row>(text, [...values])).rows);
}

/** A transaction of one tenant: row-level security lets it see that tenant's rows and no others. */
export async function withTenant<T>(
  pool: pg.Pool,
  tenant: string,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect().catch((error: unknown) => {
    throw databaseError(error);
  });
  let broken = false;
  try {
    await client.query('BEGIN');
    await client.query("SELECT set_config('turnwright.tenant', $1, true)", [tenant]);
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    broken = await client.query('ROLLBACK').then(
      () => false,
      () => true,
    );
    throw databaseError(error);
  } finally {
    client.release(broken);
  }
}
