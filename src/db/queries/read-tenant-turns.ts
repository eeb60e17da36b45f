/** Closed turns across the sessions of a tenant, newest first: ids of turns ascend with time. */
import type pg from 'pg';
import type { SessionRef, TenantTurn } from '../contract.ts';
import { withTenant } from '../pool.ts';

const TENANT_TURNS = `
  SELECT t.session_id AS session, t.turn_id AS turn, t.number, translate(encode(t.terms, 'base64'), E'\\n', '') AS terms,
    t.closed_seq::float8 AS "closedSeq", to_char(t.closed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS "closedAt"
  FROM turnwright.turns t
  JOIN turnwright.heads h ON h.tenant_id = t.tenant_id AND h.session_id = t.session_id AND h.head_id = t.head_id AND t.number >= h.first_turn
  WHERE t.tenant_id = $1 AND t.session_id <> $2 AND t.status = 'closed' AND t.terms IS NOT NULL
    AND ($3::uuid IS NULL OR t.turn_id < $3)
  ORDER BY t.turn_id DESC LIMIT $4`;

export function readTenantTurns(
  pool: pg.Pool,
  ref: SessionRef,
  before: string | null,
  limit: number,
): Promise<readonly TenantTurn[]> {
  return withTenant(pool, ref.tenant, async (client) => {
    const { rows } = await client.query<TenantTurn>(TENANT_TURNS, [ref.tenant, ref.session, before, limit]);
    return rows;
  });
}
