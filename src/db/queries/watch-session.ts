/** Says that somebody follows a session: until the given time passes, commits notify and workers publish deltas. */
import type pg from 'pg';
import type { SessionRef } from '../contract.ts';
import { withTenant } from '../pool.ts';

export async function watchSession(pool: pg.Pool, ref: SessionRef, forMs: number): Promise<void> {
  await withTenant(pool, ref.tenant, async (client) => {
    // A crash that loses this loses the watcher too.
    await client.query('SET LOCAL synchronous_commit = off');
    await client.query(
      `UPDATE turnwright.sessions SET watched_until = clock_timestamp() + make_interval(secs => $3 / 1000.0)
        WHERE tenant_id = $1 AND session_id = $2`,
      [ref.tenant, ref.session, forMs],
    );
  });
}
