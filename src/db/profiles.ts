/** Measured profiles, shared by the deployment. They are a cache of what a probe can measure again. */
import type pg from 'pg';
import { run } from './pool.ts';

export interface ProfileKey {
  readonly provider: string;
  readonly endpointDigest: string;
  readonly model: string;
  /** '' where the provider names none. */
  readonly quantisation: string;
}

export interface ProfileRow {
  /** JSON text. */
  readonly profile: string;
  readonly version: number;
  readonly quantisation: string;
}

export interface ProfileStore {
  /** The newest profile of the model, whatever its quantisation. */
  read(key: Omit<ProfileKey, 'quantisation'>): Promise<ProfileRow | null>;
  /** Writes over `base`, the version read before (0 for none); false when somebody was faster. */
  write(key: ProfileKey, profile: string, base: number): Promise<boolean>;
}

export class PostgresProfiles implements ProfileStore {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  async read(key: Omit<ProfileKey, 'quantisation'>): Promise<ProfileRow | null> {
    const rows = await run<ProfileRow>(this.#pool, {
      text: `SELECT profile, version, quantisation FROM turnwright.capacity_profiles WHERE provider = $1 AND endpoint_digest = $2 AND model = $3
        ORDER BY changed_at DESC LIMIT 1`,
      values: [key.provider, key.endpointDigest, key.model],
    });
    return rows[0] ?? null;
  }

  async write(key: ProfileKey, profile: string, base: number): Promise<boolean> {
    const rows = await run(this.#pool, {
      text: `INSERT INTO turnwright.capacity_profiles AS c (provider, endpoint_digest, model, quantisation, profile, version)
        VALUES ($1, $2, $3, $4, $5, $6 + 1)
        ON CONFLICT (provider, endpoint_digest, model, quantisation) DO UPDATE SET profile = excluded.profile,
          version = excluded.version, changed_at = clock_timestamp() WHERE c.version = $6 RETURNING version`,
      values: [key.provider, key.endpointDigest, key.model, key.quantisation, profile, base],
    });
    return rows.length === 1;
  }
}
