/** What the transcript locates and reads: the turns of a lineage that began, and the records of one of them. */
import type pg from 'pg';
import type { StoredRecord } from '../../ledger/verify.ts';
import type { SessionRef, TranscriptTurn } from '../contract.ts';
import { tenantRows } from '../pool.ts';

const LAST_SEQ = '9223372036854775807';

const TURNS = `
  SELECT t.session_id AS session, t.turn_id AS turn, t.number,
    CASE WHEN t.closed_seq <= g.to_seq THEN json_build_object('from', t.first_item, 'to', t.last_item) END AS items,
    nullif(g.to_seq, ${LAST_SEQ})::float8 AS "toSeq"
  FROM turnwright.lineage($1, $2, $3) g
  JOIN turnwright.turns t ON t.tenant_id = $1 AND t.session_id = g.session_id AND t.head_id = g.head_id
    AND t.number BETWEEN g.first_turn AND g.last_turn
  WHERE CASE WHEN t.closed_seq <= g.to_seq
    THEN t.first_item IS NOT NULL AND ($4::integer IS NULL OR (t.last_item >= $4 AND t.first_item <= $5))
    ELSE t.started_at IS NOT NULL END
  ORDER BY t.number`;

const ROWS = `
  SELECT r.seq::float8 AS seq, r.kind, r.class, r.turn_id AS "turnId", r.head_id AS "headId", coalesce(r.body, b.body) AS body, r.bytes,
    encode(r.body_digest, 'hex') AS "bodyDigest", encode(r.digest, 'hex') AS digest, encode(r.prev_digest, 'hex') AS "prevDigest"
  FROM turnwright.records r
  LEFT JOIN turnwright.bodies b ON b.tenant_id = r.tenant_id AND b.session_id = r.session_id AND b.digest = r.body_digest AND r.body IS NULL
  WHERE r.tenant_id = $1 AND r.session_id = $2 AND r.turn_id = $3 AND ($4::bigint IS NULL OR r.seq <= $4) ORDER BY r.seq`;

export function readTranscriptTurns(
  pool: pg.Pool,
  ref: SessionRef,
  head: string,
  items: { readonly from: number; readonly to: number } | null,
): Promise<readonly TranscriptTurn[]> {
  const values = [ref.tenant, ref.session, head, items?.from ?? null, items?.to ?? null];
  return tenantRows(pool, ref.tenant, TURNS, values);
}

export function readTurnRows(
  pool: pg.Pool,
  ref: SessionRef,
  turn: string,
  toSeq: number | null,
): Promise<readonly StoredRecord[]> {
  return tenantRows(pool, ref.tenant, ROWS, [ref.tenant, ref.session, turn, toSeq]);
}
