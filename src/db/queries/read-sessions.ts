/** Sessions as people list them. Ids are UUIDv7, so their order is the order of creation. */
import type pg from 'pg';
import { LINK_SEQ } from '../../ledger/link.ts';
import { withTenant } from '../pool.ts';

export interface SessionRow {
  readonly session: string;
  readonly status: 'open' | 'archived';
  readonly head: string;
  /** The session it goes on from, or went on from before it was cleared; null where it was not forked. */
  readonly forkedFrom: string | null;
  /** JSON text of the `session-created` record. */
  readonly config: string;
  readonly turns: number;
  readonly records: number;
  readonly lastDigest: string;
  readonly openTurn: string | null;
  readonly createdAt: Date;
}

const COLUMNS = `s.session_id AS session, s.status, s.live_head AS head, s.config, s.next_turn - 1 AS turns,
  (s.next_seq - 1)::float8 AS records, encode(s.last_digest, 'hex') AS "lastDigest", s.created_at AS "createdAt", (
    SELECT h.open_turn FROM turnwright.heads h
    WHERE h.tenant_id = s.tenant_id AND h.session_id = s.session_id AND h.head_id = s.live_head) AS "openTurn", (
    SELECT coalesce(r.body, b.body)::json ->> 'session' FROM turnwright.records r
    LEFT JOIN turnwright.bodies b ON b.tenant_id = r.tenant_id AND b.session_id = r.session_id AND b.digest = r.body_digest AND r.body IS NULL
    WHERE r.tenant_id = s.tenant_id AND r.session_id = s.session_id AND r.seq = ${LINK_SEQ} AND r.kind = 'inherited') AS "forkedFrom"`;

export async function readSession(
  pool: pg.Pool,
  tenant: string,
  session: string,
): Promise<SessionRow | null> {
  return withTenant(pool, tenant, async (client) => {
    const read = await client.query<SessionRow>(
      `SELECT ${COLUMNS} FROM turnwright.sessions s WHERE s.tenant_id = $1 AND s.session_id = $2`,
      [tenant, session],
    );
    return read.rows[0] ?? null;
  });
}

/** Newest first; `before` is the last session of the page before. */
export async function listSessions(
  pool: pg.Pool,
  tenant: string,
  { before, limit }: { readonly before: string | null; readonly limit: number },
): Promise<readonly SessionRow[]> {
  return withTenant(pool, tenant, async (client) => {
    const read = await client.query<SessionRow>(
      `SELECT ${COLUMNS} FROM turnwright.sessions s
        WHERE s.tenant_id = $1 AND ($2::uuid IS NULL OR s.session_id < $2::uuid) ORDER BY s.session_id DESC LIMIT $3`,
      [tenant, before, limit],
    );
    return read.rows;
  });
}
