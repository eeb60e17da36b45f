/** Databases for tests, in the server that the run's global setup started. */
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';

export interface TestDatabase {
  readonly name: string;
  readonly url: string;
  /** Drops the database, whoever is still connected. */
  stop(): Promise<void>;
}

/** Held while a template is made; any number does that nothing else uses on a test server. */
const TEMPLATE_LOCK = 721_839_104;

/** A fresh, empty database. */
export function startPostgres(): Promise<TestDatabase> {
  return createDatabase();
}

/** A fresh database: empty, or a copy of a template made by `ensureTemplate`. */
export async function createDatabase(options: { readonly template?: string } = {}): Promise<TestDatabase> {
  const name = `${inject('postgresPrefix')}_${randomBytes(6).toString('hex')}`;
  const from = options.template === undefined ? 'template0' : options.template;
  await asAdmin((client) => client.query(`CREATE DATABASE ${quoted(name)} TEMPLATE ${quoted(from)}`));
  return {
    name,
    url: urlOf(name),
    stop: () => asAdmin(async (client) => void (await client.query(dropSql(name)))),
  };
}

/**
 * Makes the template `label` once a run, whichever file asks first, and returns its name. `prepare` gets
 * the URL of an empty database and must have closed its connections when it ends.
 */
export async function ensureTemplate(
  label: string,
  prepare: (url: string) => Promise<void>,
): Promise<string> {
  const name = `${inject('postgresPrefix')}_t_${label}`;
  const draft = `${name}_draft`;
  await asAdmin(async (client) => {
    await client.query('SELECT pg_advisory_lock($1)', [TEMPLATE_LOCK]);
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [name]);
    if (found.rowCount !== 0) return;
    await client.query(dropSql(draft));
    await client.query(`CREATE DATABASE ${quoted(draft)} TEMPLATE template0`);
    await prepare(urlOf(draft));
    await client.query(`ALTER DATABASE ${quoted(draft)} RENAME TO ${quoted(name)}`);
  });
  return name;
}

/** What a run left behind on a server that outlives it. */
export async function dropDatabases(adminUrl: string, prefix: string): Promise<void> {
  await withClient(adminUrl, async (client) => {
    const found = await client.query<{ datname: string }>(
      'SELECT datname FROM pg_database WHERE starts_with(datname, $1)',
      [`${prefix}_`],
    );
    for (const { datname } of found.rows) await client.query(dropSql(datname));
  });
}

function urlOf(name: string): string {
  const url = new URL(inject('postgresAdminUrl'));
  url.pathname = `/${name}`;
  return url.href;
}

function dropSql(name: string): string {
  return `DROP DATABASE IF EXISTS ${quoted(name)} WITH (FORCE)`;
}

function quoted(name: string): string {
  return pg.escapeIdentifier(name);
}

function asAdmin<Result>(work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  return withClient(inject('postgresAdminUrl'), work);
}

async function withClient<Result>(
  url: string,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
