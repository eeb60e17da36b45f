/** Which models are being probed: one probe of a model in the whole deployment, by the database's clock. */
import type pg from 'pg';
import type { ActorRef } from './contract.ts';
import { run } from './pool.ts';
import type { ProfileKey } from './profiles.ts';

/** A notice is a `ProbeFlight` as JSON, or empty when some may have been missed. */
export const PROBES_CHANNEL = 'turnwright_probes';

export type ModelKey = Omit<ProfileKey, 'quantisation'>;

/** `actor` is null once the probe of the model ended. */
export interface ProbeFlight {
  readonly key: ModelKey;
  readonly actor: ActorRef | null;
}

export interface ProbeFlightStore {
  /**
   * Takes the model for this probe, or goes on holding it. False while another holds it, or when the last one began
   * less than `spacingMs` ago.
   */
  hold(flight: {
    readonly key: ModelKey;
    readonly actor: ActorRef;
    readonly leaseMs: number;
    readonly spacingMs: number;
  }): Promise<boolean>;
  release(key: ModelKey, actor: ActorRef): Promise<void>;
  /** Those held within the lease. */
  held(leaseMs: number): Promise<readonly ProbeFlight[]>;
}

type Row = { readonly flight: { readonly key: ModelKey; readonly holder: string | null } };

/** Reads a notice of `PROBES_CHANNEL` that is not empty. */
export function flightOf(notice: string): ProbeFlight {
  return read(JSON.parse(notice) as Row['flight']);
}

function read({ key, holder }: Row['flight']): ProbeFlight {
  const [tenant = '', session = '', actor = ''] = holder?.split('/') ?? [];
  return { key, actor: holder === null ? null : { tenant, session, actor } };
}

function holderOf({ tenant, session, actor }: ActorRef): string {
  return `${tenant}/${session}/${actor}`;
}

const KEY_JSON = `json_build_object('provider', provider, 'endpointDigest', endpoint_digest, 'model', model)`;
const FLIGHT_JSON = `json_build_object('key', ${KEY_JSON}, 'holder', holder)`;

export class PostgresProbeFlights implements ProbeFlightStore {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  async hold({ key, actor, leaseMs, spacingMs }: Parameters<ProbeFlightStore['hold']>[0]): Promise<boolean> {
    const rows = await run(this.#pool, {
      name: 'probe_hold',
      text: `WITH taken AS (
          INSERT INTO turnwright.probe_flights AS f (provider, endpoint_digest, model, holder) VALUES ($1, $2, $3, $4)
          ON CONFLICT (provider, endpoint_digest, model) DO UPDATE SET holder = excluded.holder, held_at = clock_timestamp(),
            began_at = CASE WHEN f.holder = excluded.holder THEN f.began_at ELSE clock_timestamp() END
          WHERE f.holder = excluded.holder
            OR ((f.holder IS NULL OR f.held_at < clock_timestamp() - make_interval(secs => $5 / 1000.0))
              AND f.began_at <= clock_timestamp() - make_interval(secs => $6 / 1000.0))
          RETURNING *)
        SELECT pg_notify('${PROBES_CHANNEL}', ${FLIGHT_JSON}::text) FROM taken`,
      values: [key.provider, key.endpointDigest, key.model, holderOf(actor), leaseMs, spacingMs],
    });
    return rows.length === 1;
  }

  async release(key: ModelKey, actor: ActorRef): Promise<void> {
    await run(this.#pool, {
      name: 'probe_release',
      text: `WITH ended AS (
          UPDATE turnwright.probe_flights SET holder = NULL
          WHERE provider = $1 AND endpoint_digest = $2 AND model = $3 AND holder = $4 RETURNING *)
        SELECT pg_notify('${PROBES_CHANNEL}', ${FLIGHT_JSON}::text) FROM ended`,
      values: [key.provider, key.endpointDigest, key.model, holderOf(actor)],
    });
  }

  async held(leaseMs: number): Promise<readonly ProbeFlight[]> {
    const rows = await run<Row>(this.#pool, {
      name: 'probe_flights',
      text: `SELECT ${FLIGHT_JSON} AS flight FROM turnwright.probe_flights
        WHERE holder IS NOT NULL AND held_at > clock_timestamp() - make_interval(secs => $1 / 1000.0)`,
      values: [leaseMs],
    });
    return rows.map(({ flight }) => read(flight));
  }
}
