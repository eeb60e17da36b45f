/** New records of a turn, erased ones left out, and how far the session had come when they were read. */
import type pg from 'pg';
import type { RawRecord, SessionRef } from '../contract.ts';
import { withTenant } from '../pool.ts';

export interface TurnNews {
  readonly records: readonly RawRecord[];
  /** Every record up to this number was seen by the read. */
  readonly readTo: number;
  readonly closed: boolean;
  /** The turn's machine, as stored. */
  readonly snapshot: string;
}

const READ = `
  SELECT (s.next_seq - 1)::float8 AS "readTo", t.status = 'closed' AS closed, a.snapshot, (
    SELECT coalesce(json_agg(json_build_object('seq', r.seq, 'kind', r.kind, 'class', r.class, 'turnId', r.turn_id,
      'body', coalesce(r.body, b.body)) ORDER BY r.seq), '[]'::json)
    FROM turnwright.records r
    LEFT JOIN turnwright.bodies b ON b.tenant_id = r.tenant_id AND b.session_id = r.session_id AND b.digest = r.body_digest AND r.body IS NULL
    WHERE r.tenant_id = $1 AND r.session_id = $2 AND r.turn_id = $3 AND r.seq > $4 AND r.kind = ANY ($5)
      AND coalesce(r.body, b.body) IS NOT NULL) AS records
  FROM turnwright.sessions s
  JOIN turnwright.turns t ON t.tenant_id = s.tenant_id AND t.session_id = s.session_id AND t.turn_id = $3
  JOIN turnwright.actors a ON a.tenant_id = s.tenant_id AND a.session_id = s.session_id AND a.actor_id = $3
  WHERE s.tenant_id = $1 AND s.session_id = $2`;

export async function readTurnEvents(
  pool: pg.Pool,
  ref: SessionRef,
  turn: string,
  { after, kinds }: { readonly after: number; readonly kinds: readonly string[] },
): Promise<TurnNews | null> {
  return withTenant(pool, ref.tenant, async (client) => {
    const read = await client.query<TurnNews>(READ, [ref.tenant, ref.session, turn, after, [...kinds]]);
    return read.rows[0] ?? null;
  });
}
