/** Streams a session's records in order, a page at a time: memory stays flat however long the session is. */
import type pg from 'pg';
import type { StoredRecord } from '../ledger/verify.ts';
import type { RecordRun, SessionRef } from './contract.ts';
import { withTenant } from './pool.ts';

const PAGE_ROWS = 500;

export async function* readRecords(
  pool: pg.Pool,
  ref: SessionRef,
  run: RecordRun = { after: 0 },
): AsyncGenerator<StoredRecord> {
  let { after } = run;
  for (;;) {
    const page = await withTenant(pool, ref.tenant, async (client) => {
      const result = await client.query<StoredRecord>(
        `SELECT r.seq::float8 AS seq, r.kind, r.class, r.turn_id AS "turnId", r.head_id AS "headId", coalesce(r.body, b.body) AS body, r.bytes,
            encode(r.body_digest, 'hex') AS "bodyDigest", encode(r.digest, 'hex') AS digest, encode(r.prev_digest, 'hex') AS "prevDigest"
          FROM turnwright.records r
          LEFT JOIN turnwright.bodies b ON b.tenant_id = r.tenant_id AND b.session_id = r.session_id AND b.digest = r.body_digest AND r.body IS NULL
          WHERE r.tenant_id = $1 AND r.session_id = $2 AND r.seq > $3 AND ($5::bigint IS NULL OR r.seq <= $5)
          ORDER BY r.seq LIMIT $4`,
        [ref.tenant, ref.session, after, PAGE_ROWS, run.to ?? null],
      );
      return result.rows;
    });
    yield* page;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE_ROWS) return;
    after = last.seq;
  }
}
