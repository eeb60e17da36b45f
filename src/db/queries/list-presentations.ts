/** The cards of a session in the order they were shown, or one of them by its number. */
import type pg from 'pg';
import type { SessionRef } from '../contract.ts';
import { withTenant } from '../pool.ts';

export interface PresentationRecord {
  readonly ordinal: number;
  readonly turn: string;
  readonly number: number;
  /** JSON text of the record; null when it was erased. */
  readonly body: string | null;
}

const PRESENTATIONS = `
  SELECT x.ordinal, x.turn_id AS turn, t.number, coalesce(r.body, b.body) AS body
  FROM turnwright.presentations x
  JOIN turnwright.turns t ON t.tenant_id = x.tenant_id AND t.session_id = x.session_id AND t.turn_id = x.turn_id
  JOIN turnwright.records r ON r.tenant_id = x.tenant_id AND r.session_id = x.session_id AND r.seq = x.seq
  LEFT JOIN turnwright.bodies b ON b.tenant_id = r.tenant_id AND b.session_id = r.session_id AND b.digest = r.body_digest
  WHERE x.tenant_id = $1 AND x.session_id = $2 AND x.ordinal > $3
  ORDER BY x.ordinal LIMIT $4`;

/** Those after the number `after`. */
export async function listPresentations(
  pool: pg.Pool,
  ref: SessionRef,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<readonly PresentationRecord[]> {
  return withTenant(pool, ref.tenant, async (client) => {
    const values = [ref.tenant, ref.session, after, limit];
    return (await client.query<PresentationRecord>(PRESENTATIONS, values)).rows;
  });
}
