/** Puts the lines of a checkpoint where they belong, in one transaction. */
import type pg from 'pg';
import type { CheckpointEvent, CheckpointRecord } from '../ledger/checkpoint.ts';
import type { CheckpointInserts, Standing } from './checkpoint-contract.ts';
import { INLINE_BODY_BYTES } from './commit.ts';

const RECORDS = `
  INSERT INTO turnwright.records (tenant_id, session_id, seq, head_id, turn_id, kind, class, body, bytes, body_digest, digest, prev_digest, at)
  SELECT $1, $2, r.seq, r.head, r.turn, r.kind, r.class, CASE WHEN r.bytes <= ${INLINE_BODY_BYTES} THEN r.body END, r.bytes,
    decode(r.body_digest, 'hex'), decode(r.digest, 'hex'), decode(r.prev_digest, 'hex'), r.at
  FROM json_to_recordset($3) AS r(seq bigint, head uuid, turn uuid, kind text, class text, body text, bytes integer, body_digest text,
    digest text, prev_digest text, at timestamptz)
  ON CONFLICT DO NOTHING`;

const BODIES = `
  INSERT INTO turnwright.bodies (tenant_id, session_id, digest, body)
  SELECT $1, $2, decode(r.body_digest, 'hex'), r.body
  FROM json_to_recordset($3) AS r(body text, bytes integer, body_digest text)
  WHERE r.bytes > ${INLINE_BODY_BYTES} ON CONFLICT DO NOTHING`;

const EVENTS = `
  INSERT INTO turnwright.actor_events (tenant_id, session_id, actor_id, event_id, event, revision, snapshot_digest, received_at)
  SELECT $1, $2, e.actor, e.id, e.event, e.revision, decode(e.digest, 'hex'), e.at
  FROM json_to_recordset($3) AS e(actor uuid, id text, event text, revision integer, digest text, at timestamptz)
  ON CONFLICT DO NOTHING`;

const DIGEST_AT = `
  SELECT encode(r.digest, 'hex') AS digest FROM turnwright.records r
  WHERE r.tenant_id = $1 AND r.session_id = $2 AND r.seq = $3`;

const STANDING = `
  SELECT EXISTS (SELECT FROM turnwright.sessions s WHERE s.tenant_id = $1 AND s.session_id = $2) AS listed,
    (SELECT max(r.seq)::float8 FROM turnwright.records r WHERE r.tenant_id = $1 AND r.session_id = $2) AS records`;

/** Of one tenant. */
export class PostgresInserts implements CheckpointInserts {
  readonly #client: pg.ClientBase;
  readonly #tenant: string;

  constructor(client: pg.ClientBase, tenant: string) {
    this.#client = client;
    this.#tenant = tenant;
  }

  async standing(session: string): Promise<Standing> {
    const { rows } = await this.#client.query<Standing>(STANDING, [this.#tenant, session]);
    return rows[0] ?? { listed: false, records: null };
  }

  async digestAt(session: string, seq: number): Promise<string | null> {
    const values = [this.#tenant, session, seq];
    const { rows } = await this.#client.query<{ readonly digest: string }>(DIGEST_AT, values);
    return rows[0]?.digest ?? null;
  }

  async records(session: string, records: readonly CheckpointRecord[]): Promise<void> {
    const values = [this.#tenant, session, JSON.stringify(records)];
    if (records.some(({ bytes }) => bytes > INLINE_BODY_BYTES)) await this.#client.query(BODIES, values);
    await this.#client.query(RECORDS, values);
  }

  async events(session: string, events: readonly CheckpointEvent[]): Promise<void> {
    await this.#client.query(EVENTS, [this.#tenant, session, JSON.stringify(events)]);
  }
}
