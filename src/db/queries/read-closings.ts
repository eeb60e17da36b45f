/** The records that closed turns of a head: what their cards say. */
import type pg from 'pg';
import type { ClosingRow, SessionRef } from '../contract.ts';
import { withTenant } from '../pool.ts';

const CLOSINGS = `
  SELECT t.session_id AS session, t.number, t.turn_id AS turn, coalesce(r.body, b.body) AS body
  FROM turnwright.lineage($1, $2, $3) g
  JOIN turnwright.turns t ON t.tenant_id = $1 AND t.session_id = g.session_id AND t.head_id = g.head_id
    AND t.number BETWEEN greatest(g.first_turn, $4) AND least(g.last_turn, $5) AND t.closed_seq <= g.to_seq
  JOIN turnwright.records r ON r.tenant_id = t.tenant_id AND r.session_id = t.session_id AND r.seq = t.closed_seq
  LEFT JOIN turnwright.bodies b ON b.tenant_id = r.tenant_id AND b.session_id = r.session_id AND b.digest = r.body_digest
  ORDER BY t.number`;

export function readClosings(
  pool: pg.Pool,
  ref: SessionRef,
  head: string,
  from: number,
  to: number,
): Promise<readonly ClosingRow[]> {
  return withTenant(pool, ref.tenant, async (client) => {
    const { rows } = await client.query<ClosingRow>(CLOSINGS, [ref.tenant, ref.session, head, from, to]);
    return rows;
  });
}
