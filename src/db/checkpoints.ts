/** Deep checkpoints: a session, those it goes on from, their records, the events of its turns. */
import type pg from 'pg';
import type { CheckpointEvent, CheckpointRecord } from '../ledger/checkpoint.ts';
import type { CheckpointInserts, CheckpointOutline, CheckpointStore } from './checkpoint-contract.ts';
import { PostgresInserts } from './checkpoint-inserts.ts';
import type { SessionRef } from './contract.ts';
import { tenantRows, withTenant } from './pool.ts';

const PAGE_ROWS = 500;

type RecordRow = Omit<CheckpointRecord, 'type' | 'session'>;
type EventRow = Omit<CheckpointEvent, 'type'>;

/** An ancestor comes as far as any link of the lineage reaches, and on to where an erasure of its content is recorded. */
const PARTS = `
  WITH RECURSIVE reached AS (
    SELECT g.from_session AS session_id, g.to_seq FROM turnwright.segments g
    WHERE g.tenant_id = $1 AND g.session_id = $2 AND g.from_session <> $2
    UNION
    SELECT g.from_session, g.to_seq FROM reached
    JOIN turnwright.segments g ON g.tenant_id = $1 AND g.session_id = reached.session_id AND g.from_session <> $2
  ), linked AS (
    SELECT session_id, max(to_seq) AS to_seq FROM reached GROUP BY session_id
  ), ends AS (
    SELECT l.session_id, greatest(l.to_seq, (
      SELECT max(r.seq) FROM turnwright.records r WHERE r.tenant_id = $1 AND r.session_id = l.session_id AND r.kind = 'erased'
        AND (r.body::json ->> 'seq')::bigint <= l.to_seq)) AS seq
    FROM linked l
    UNION ALL
    SELECT $2::uuid, s.next_seq - 1 FROM turnwright.sessions s WHERE s.tenant_id = $1 AND s.session_id = $2
  )
  SELECT e.session_id AS session, CASE WHEN r.seq IS NOT NULL THEN e.seq::float8 END AS records, encode(r.digest, 'hex') AS digest
  FROM ends e
  LEFT JOIN turnwright.records r ON r.tenant_id = $1 AND r.session_id = e.session_id AND r.seq = e.seq
  LEFT JOIN turnwright.records f ON f.tenant_id = $1 AND f.session_id = e.session_id AND f.seq = 1
  ORDER BY e.session_id = $2, f.at, e.session_id`;

const OPEN = `
  SELECT t.turn_id AS turn FROM turnwright.turns t
  WHERE t.tenant_id = $1 AND t.session_id = $2 AND t.status <> 'closed' ORDER BY t.number LIMIT 1`;

const ROWS = `
  SELECT r.seq::float8 AS seq, to_char(r.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') AS at, r.head_id AS head, r.turn_id AS turn,
    r.kind, r.class, coalesce(r.body, b.body) AS body, r.bytes,
    encode(r.body_digest, 'hex') AS body_digest, encode(r.digest, 'hex') AS digest, encode(r.prev_digest, 'hex') AS prev_digest
  FROM turnwright.records r
  LEFT JOIN turnwright.bodies b ON b.tenant_id = r.tenant_id AND b.session_id = r.session_id AND b.digest = r.body_digest AND r.body IS NULL
  WHERE r.tenant_id = $1 AND r.session_id = $2 AND r.seq > $3 AND r.seq <= $4 ORDER BY r.seq LIMIT ${PAGE_ROWS}`;

/** Of turns that had closed by then: a later one is no part of the checkpoint. */
const EVENTS = `
  SELECT e.actor_id AS actor, e.event_id AS id, e.event, e.revision, encode(e.snapshot_digest, 'hex') AS digest,
    to_char(e.received_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS at
  FROM turnwright.turns t
  JOIN turnwright.actors a ON a.tenant_id = t.tenant_id AND a.session_id = t.session_id AND a.turn_id = t.turn_id
  JOIN turnwright.actor_events e ON e.tenant_id = a.tenant_id AND e.session_id = a.session_id AND e.actor_id = a.actor_id
  WHERE t.tenant_id = $1 AND t.session_id = $2 AND t.closed_seq <= $3 AND e.revision IS NOT NULL
    AND (e.actor_id, e.event_id) > ($4, $5)
  ORDER BY e.actor_id, e.event_id LIMIT ${PAGE_ROWS}`;

const FIRST_ACTOR = '00000000-0000-0000-0000-000000000000';

export class PostgresCheckpoints implements CheckpointStore {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  async outline(ref: SessionRef): Promise<CheckpointOutline | null> {
    return withTenant(this.#pool, ref.tenant, async (client) => {
      const values = [ref.tenant, ref.session];
      const { rows: parts } = await client.query<CheckpointOutline['parts'][number]>(PARTS, values);
      if (parts.at(-1)?.session !== ref.session) return null;
      const { rows: open } = await client.query<{ readonly turn: string }>(OPEN, values);
      return { parts, openTurn: open[0]?.turn ?? null };
    });
  }

  async *records({ tenant, session }: SessionRef, records: number): AsyncGenerator<RecordRow> {
    let after = 0;
    while (after < records) {
      const page = await tenantRows<RecordRow>(this.#pool, tenant, ROWS, [tenant, session, after, records]);
      yield* page;
      const last = page.at(-1);
      if (last === undefined) return;
      after = last.seq;
    }
  }

  async *events({ tenant, session }: SessionRef, records: number): AsyncGenerator<EventRow> {
    let [actor, id] = [FIRST_ACTOR, ''];
    for (;;) {
      const page = await tenantRows<EventRow>(this.#pool, tenant, EVENTS, [
        tenant,
        session,
        records,
        actor,
        id,
      ]);
      yield* page;
      const last = page.at(-1);
      if (last === undefined || page.length < PAGE_ROWS) return;
      ({ actor, id } = last);
    }
  }

  taking<T>(tenant: string, work: (inserts: CheckpointInserts) => Promise<T>): Promise<T> {
    return withTenant(this.#pool, tenant, (client) => work(new PostgresInserts(client, tenant)));
  }
}
