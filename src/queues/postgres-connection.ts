/**
 * One connection pool and one LISTEN client for every BullMQ queue and worker of a process.
 *
 * BullMQ would open a pool and a LISTEN client per queue object: 100 connections are soon used up, and
 * every add would wake a backend per listener.
 *
 * States of the schema: unknown → ready, and back to unknown when it was dropped under us (the queue is
 * disposable: the next call builds it again).
 */
import { EventEmitter } from 'node:events';
import {
  assertSchemaCompatibility,
  LATEST_SCHEMA_VERSION,
  PostgresConnection,
  quoteSchemaName,
  runMigrations,
  SchemaMigrationRequiredError,
} from 'bullmq';
import { describe } from './reporter.ts';

/** Any client of `pg`: one session, not a pool. */
export type MigratingClient = Parameters<typeof runMigrations>[0];
type ListenClient = Awaited<ReturnType<PostgresConnection['getListenClient']>>;

/** Down is refused at once by the operating system; this bounds a host that does not answer. */
const CONNECT_MS = 5_000;

/** Undefined table, undefined function, unknown schema: the schema was dropped. */
const SCHEMA_GONE: ReadonlySet<string> = new Set(['42P01', '42883', '3F000']);

/** SQLSTATE class 08, the shutdown codes, deadlock and serialisation, and what the socket says. */
const PASSING_CODE =
  /^(08...|57P0[123]|40P01|40001|ECONNRESET|ECONNREFUSED|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN)$/;
const PASSING_MESSAGE =
  /connection terminated|timeout exceeded when trying to connect|client has encountered a connection error/i;

/** Creates or upgrades BullMQ's tables where this user may, and leaves a current schema alone. */
export async function prepareSchema(client: MigratingClient, schema: string): Promise<void> {
  try {
    const version = await assertSchemaCompatibility(client, schema);
    if (version >= LATEST_SCHEMA_VERSION) return;
  } catch (error) {
    if (!(error instanceof SchemaMigrationRequiredError)) throw error;
  }
  await runMigrations(client, schema);
}

export class SharedConnection extends PostgresConnection {
  readonly #ordered = new WeakSet<ListenClient>();
  #prepared: Promise<void> | undefined;

  constructor(connectionString: string, schema: string, poolSize: number) {
    // Losing the last moment of the queue in a database crash is allowed: the outbox still holds every row.
    const settings = `set search_path to ${quoteSchemaName(schema)}; set synchronous_commit to off`;
    super({
      connectionString,
      schema,
      // The LISTEN client stands beside the pool.
      max: poolSize - 1,
      application_name: 'turnwright-queue',
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_MS,
      // Said again here: an address may carry startup options of its own, which replace BullMQ's.
      onConnect: (client: MigratingClient) => client.query(settings),
    });
    // The pool listens to idle connections only: one cut between two statements of its holder would end the process.
    this.pool.on('connect', (client) => client.on('error', () => {}));
    // One listener a worker; their number is bounded by the pools.
    this.setMaxListeners(0);
  }

  async ping(): Promise<void> {
    await this.pool.query('select 1');
  }

  /** BullMQ remembers a failed start for ever; this one is tried again by the next call. */
  override waitUntilReady(): Promise<void> {
    this.#prepared ??= this.#prepare();
    return this.#prepared;
  }

  /** True when `error` says that the schema is gone: the next call prepares it again. */
  forgetIfGone(error: unknown): boolean {
    if (!SCHEMA_GONE.has(codeOf(error))) return false;
    this.#prepared = undefined;
    return true;
  }

  /** BullMQ would block for up to an hour on a LISTEN it believes in; a missed wake-up must cost seconds. */
  override get hasListenClientKeepAlive(): boolean {
    return false;
  }

  override async getListenClient(): Promise<ListenClient> {
    const client = await super.getListenClient();
    if (!this.#ordered.has(client)) {
      this.#ordered.add(client);
      oneAtATime(client);
    }
    return client;
  }

  async #prepare(): Promise<void> {
    try {
      const client = await this.pool.connect();
      try {
        await prepareSchema(client, this.schema);
      } finally {
        client.release();
      }
    } catch (error) {
      this.#prepared = undefined;
      throw error;
    }
  }
}

/** A failure that passes, in the form BullMQ knows: it then tries again instead of failing the job. */
export function asBullError(error: unknown): unknown {
  if (!passes(error) || codeOf(error) === 'ECONNREFUSED') return error;
  return Object.assign(new Error(`tried again after: ${describe(error)}`, { cause: error }), {
    code: 'ECONNREFUSED',
  });
}

export function passes(error: unknown): boolean {
  if (PASSING_CODE.test(codeOf(error))) return true;
  return error instanceof Error && PASSING_MESSAGE.test(error.message);
}

function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return '';
  return typeof error.code === 'string' ? error.code : '';
}

/** The workers share the client and `pg` refuses a second query while one runs. */
function oneAtATime(client: ListenClient): void {
  if (client instanceof EventEmitter) client.setMaxListeners(0);
  const query = client.query.bind(client);
  let last: Promise<unknown> = Promise.resolve();
  client.query = <R>(text: string, params?: readonly unknown[]) => {
    const next = last.then(() => query<R>(text, params));
    last = next.catch(() => undefined);
    return next;
  };
}
