/** Replies kept for all processes of a deployment. They are a cache of what a provider can be asked again. */
import type pg from 'pg';
import { withTenant } from './pool.ts';

export interface ResponseKey {
  readonly tenant: string;
  /** Of the request, as hex. */
  readonly digest: string;
}

export interface ResponseRow {
  /** JSON text. */
  readonly reply: string;
  /** By the database's clock, more than 0. */
  readonly leftMs: number;
}

export interface ResponseStore {
  /** null when no reply is kept, or its time is over. */
  read(key: ResponseKey): Promise<ResponseRow | null>;
  /** The first reply kept under a key stays until its time is over. */
  keep(key: ResponseKey, reply: string, ttlMs: number): Promise<void>;
}

export class PostgresResponseCache implements ResponseStore {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  read({ tenant, digest }: ResponseKey): Promise<ResponseRow | null> {
    return withTenant(this.#pool, tenant, async (client) => {
      const result = await client.query<ResponseRow>(
        `SELECT reply, (extract(epoch FROM expires_at - now()) * 1000)::float8 AS "leftMs"
          FROM turnwright.response_cache WHERE tenant_id = $1 AND key = $2 AND expires_at > now()`,
        [tenant, digest],
      );
      return result.rows[0] ?? null;
    });
  }

  keep({ tenant, digest }: ResponseKey, reply: string, ttlMs: number): Promise<void> {
    return withTenant(this.#pool, tenant, async (client) => {
      // A reply that a crash loses is asked for again.
      await client.query('SET LOCAL synchronous_commit = off');
      await client.query(
        `INSERT INTO turnwright.response_cache AS c (tenant_id, key, reply, reply_bytes, expires_at)
          VALUES ($1, $2, $3, octet_length($3::text), now() + make_interval(secs => $4 / 1000.0))
          ON CONFLICT (tenant_id, key) DO UPDATE SET reply = excluded.reply, reply_bytes = excluded.reply_bytes,
            created_at = now(), expires_at = excluded.expires_at WHERE c.expires_at <= now()`,
        [tenant, digest, reply, ttlMs],
      );
    });
  }
}
