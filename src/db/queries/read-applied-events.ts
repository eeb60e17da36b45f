/** The events an actor was changed by, in order: what a replay runs again. */
import type pg from 'pg';
import type { ActorRef } from '../contract.ts';
import { withTenant } from '../pool.ts';

export interface AppliedEventRow {
  readonly id: string;
  readonly event: string;
  readonly digest: string | null;
}

export async function readAppliedEvents(pool: pg.Pool, ref: ActorRef): Promise<readonly AppliedEventRow[]> {
  return withTenant(pool, ref.tenant, async (client) => {
    const read = await client.query<AppliedEventRow>(
      `SELECT event_id AS id, event, encode(snapshot_digest, 'hex') AS digest FROM turnwright.actor_events
        WHERE tenant_id = $1 AND session_id = $2 AND actor_id = $3 AND revision IS NOT NULL
        ORDER BY revision, snapshot_digest IS NULL, received_at`,
      [ref.tenant, ref.session, ref.actor],
    );
    return read.rows;
  });
}
