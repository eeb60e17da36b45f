/** The records that closed turns of a head: what their cards say. */
import type pg from 'pg';
import type { ClosingRow, SessionRef } from '../contract.ts';
import { withTenant } from '../pool.ts';

const CLOSINGS = `
  SELECT t.number, t.turn_id AS turn, coalesce(r.body, b.body) AS body
  FROM turnwright.turns t
  JOIN turnwright.records r ON r.tenant_id = t.tenant_id AND r.session_id = t.session_id AND r.seq = t.closed_seq
  LEFT JOIN turnwright.bodies b ON b.tenant_id = r.tenant_id AND b.session_id = r.session_id AND b.digest = r.body_digest
  WHERE t.tenant_id = $1 AND t.session_id = $2 AND t.head_id = $3 AND t.number BETWEEN $4 AND $5
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
