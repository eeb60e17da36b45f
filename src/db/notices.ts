/**
 * LISTEN/NOTIFY on one connection a process. States: idle (nobody listens, no connection), connected,
 * reconnecting (backs off, then listens again and tells every listener with an empty payload that notices
 * may have been missed), closed.
 */
import pg from 'pg';
import { databaseError } from './pool.ts';

const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 5_000;

type Handler = (payload: string) => void;

export class PostgresNotices {
  readonly #url: string;
  readonly #pool: pg.Pool;
  readonly #onError: (error: Error) => void;
  readonly #handlers = new Map<string, Set<Handler>>();
  #client: Promise<pg.Client> | null = null;
  #retryMs = FIRST_RETRY_MS;
  #timer: NodeJS.Timeout | null = null;
  #closed = false;

  /** `pool` sends; a connection of its own listens. */
  constructor(options: {
    readonly url: string;
    readonly pool: pg.Pool;
    readonly onError: (error: Error) => void;
  }) {
    this.#url = options.url;
    this.#pool = options.pool;
    this.#onError = options.onError;
  }

  async listen(channel: string, handler: Handler): Promise<() => Promise<void>> {
    const handlers = this.#handlers.get(channel) ?? new Set<Handler>();
    handlers.add(handler);
    if (!this.#handlers.has(channel)) {
      this.#handlers.set(channel, handlers);
      const client = await this.#connected();
      await client.query(`LISTEN ${pg.escapeIdentifier(channel)}`);
    } else await this.#connected();
    return async () => {
      handlers.delete(handler);
      if (handlers.size > 0 || this.#closed) return;
      this.#handlers.delete(channel);
      const client = await this.#client;
      await client?.query(`UNLISTEN ${pg.escapeIdentifier(channel)}`).catch(() => {});
    };
  }

  async notify(channel: string, payload: string): Promise<void> {
    await this.#pool.query('SELECT pg_notify($1, $2)', [channel, payload]).catch((error: unknown) => {
      throw databaseError(error);
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    const client = await this.#client?.catch(() => null);
    this.#client = null;
    await client?.end().catch(() => {});
  }

  #connected(): Promise<pg.Client> {
    this.#client ??= this.#connect();
    return this.#client;
  }

  async #connect(): Promise<pg.Client> {
    const client = new pg.Client({
      connectionString: this.#url,
      application_name: 'turnwright listen',
      keepAlive: true,
    });
    client.on('notification', ({ channel, payload }) => this.#deliver(channel, payload ?? ''));
    client.on('error', (error) => this.#onError(error));
    client.on('end', () => this.#lost());
    try {
      await client.connect();
      for (const channel of this.#handlers.keys())
        await client.query(`LISTEN ${pg.escapeIdentifier(channel)}`);
    } catch (error) {
      this.#client = null;
      throw databaseError(error);
    }
    this.#retryMs = FIRST_RETRY_MS;
    return client;
  }

  #deliver(channel: string, payload: string): void {
    for (const handler of this.#handlers.get(channel) ?? []) handler(payload);
  }

  #lost(): void {
    this.#client = null;
    if (this.#closed || this.#timer !== null || this.#handlers.size === 0) return;
    this.#timer = setTimeout(() => {
      this.#timer = null;
      this.#connected().then(
        () => {
          for (const channel of this.#handlers.keys()) this.#deliver(channel, '');
        },
        (error: unknown) => {
          this.#onError(error instanceof Error ? error : new Error(String(error)));
          this.#lost();
        },
      );
    }, this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, LONGEST_RETRY_MS);
  }
}
