/** The heads of a session as people list them, in the order in which they were made. */
import type pg from 'pg';
import type { SessionRef } from '../contract.ts';
import { tenantRows } from '../pool.ts';

export interface ShownHead {
  readonly head: string;
  readonly from: string | null;
  readonly live: boolean;
  readonly openTurn: string | null;
  /** Of the turns recorded on it: how many there are, and the number of the newest, which may be open. */
  readonly turns: number;
  readonly newestTurn: number | null;
  /** The newest turn that it goes on from; null for none. */
  readonly afterTurn: number | null;
}

const HEADS = `
  SELECT h.head_id AS head, h.from_head AS from, h.head_id = s.live_head AS live, h.open_turn AS "openTurn",
    own.count AS turns, own.newest AS "newestTurn", (
      SELECT max(g.last_turn) FROM turnwright.segments g WHERE g.tenant_id = h.tenant_id AND g.session_id = h.session_id
        AND g.head_id = h.head_id AND g.last_turn >= g.first_turn) AS "afterTurn"
  FROM turnwright.sessions s
  JOIN turnwright.heads h ON h.tenant_id = s.tenant_id AND h.session_id = s.session_id
  CROSS JOIN LATERAL (
    SELECT count(*)::integer AS count, max(t.number) AS newest FROM turnwright.turns t
    WHERE t.tenant_id = h.tenant_id AND t.session_id = h.session_id AND t.head_id = h.head_id) own
  WHERE s.tenant_id = $1 AND s.session_id = $2
  ORDER BY h.at_seq, h.first_turn, h.head_id`;

export function readHeads(pool: pg.Pool, { tenant, session }: SessionRef): Promise<readonly ShownHead[]> {
  return tenantRows(pool, tenant, HEADS, [tenant, session]);
}
