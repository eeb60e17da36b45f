/** Rows by their numbers, wherever in a lineage they were recorded. */
import type pg from 'pg';
import { evidenceId } from '../../ledger/ids.ts';
import type { LineageTurn, SessionRef } from '../contract.ts';
import { tenantRows, withTenant } from '../pool.ts';

/** What the live head of a session goes on from, and its own records. */
const LIVE_LINEAGE = `turnwright.sessions s CROSS JOIN LATERAL turnwright.lineage(s.tenant_id, s.session_id, s.live_head) g`;
/** A row of the tenant that a turn of the lineage made. */
const IN_LINEAGE = `ON s.tenant_id = $1 AND s.session_id = $2 AND x.tenant_id = $1 AND x.session_id = g.session_id
  AND x.seq > g.after_seq AND x.seq <= g.to_seq
  JOIN turnwright.turns t ON t.tenant_id = $1 AND t.session_id = g.session_id AND t.turn_id = x.turn_id AND t.head_id = g.head_id`;

const TURN_AT = `SELECT t.session_id AS session, t.turn_id AS turn, t.number
  FROM turnwright.lineage($1, $2, $3) g JOIN turnwright.turns t ON t.tenant_id = $1 AND t.session_id = g.session_id
    AND t.head_id = g.head_id AND t.number BETWEEN g.first_turn AND g.last_turn AND t.number = $4`;

/** The newest of each part are enough: the parts follow one another. */
const TURNS_BACK = `SELECT x.number
  FROM turnwright.lineage($1, $2, $3) g CROSS JOIN LATERAL (
    SELECT t.number FROM turnwright.turns t
    WHERE t.tenant_id = $1 AND t.session_id = g.session_id AND t.head_id = g.head_id AND t.number BETWEEN g.first_turn AND g.last_turn
      AND CASE WHEN t.closed_seq <= g.to_seq THEN t.first_item IS NOT NULL ELSE t.started_at IS NOT NULL END
    ORDER BY t.number DESC LIMIT $4 + 1) x
  ORDER BY x.number DESC OFFSET $4 - 1 LIMIT 2`;

export interface RecordPlace {
  readonly session: string;
  readonly seq: number;
}

/** The record that has this number in the lineage of the live head. */
export function findInLineage(
  pool: pg.Pool,
  ref: SessionRef,
  table: 'evidence' | 'presentations',
  ordinal: number,
): Promise<RecordPlace | null> {
  return firstRow(
    pool,
    ref,
    `SELECT x.session_id AS session, x.seq::float8 AS seq
      FROM ${LIVE_LINEAGE} JOIN turnwright.${table} x ${IN_LINEAGE} WHERE x.ordinal = $3`,
    [ordinal],
  );
}

export function readTurnAt(
  pool: pg.Pool,
  ref: SessionRef,
  head: string,
  number: number,
): Promise<LineageTurn | null> {
  return firstRow(pool, ref, TURN_AT, [head, number]);
}

export async function readTurnsBack(
  pool: pg.Pool,
  { tenant, session }: SessionRef,
  head: string,
  back: number,
): Promise<readonly number[]> {
  const values = [tenant, session, head, back];
  const rows = await tenantRows<{ readonly number: number }>(pool, tenant, TURNS_BACK, values);
  return rows.map(({ number }) => number);
}

/** Ids that exist, newest first. */
export function readEvidenceIds(pool: pg.Pool, ref: SessionRef, limit: number): Promise<readonly string[]> {
  return withTenant(pool, ref.tenant, async (client) => {
    const text = `SELECT x.ordinal FROM ${LIVE_LINEAGE} JOIN turnwright.evidence x ${IN_LINEAGE}
      ORDER BY x.ordinal DESC LIMIT $3`;
    const result = await client.query<{ readonly ordinal: number }>(text, [ref.tenant, ref.session, limit]);
    return result.rows.map((row) => evidenceId(row.ordinal));
  });
}

function firstRow<Row extends object>(
  pool: pg.Pool,
  ref: SessionRef,
  text: string,
  values: readonly unknown[],
): Promise<Row | null> {
  return withTenant(pool, ref.tenant, async (client) => {
    const { rows } = await client.query<Row>(text, [ref.tenant, ref.session, ...values]);
    return rows[0] ?? null;
  });
}
