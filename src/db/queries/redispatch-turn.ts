/**
 * Hands over again what a stuck turn waits for. Fences make it safe: a worker that still runs the old hand-over
 * finds its claim taken over, and a `once` tool that was let loose is not run again.
 */
import type pg from 'pg';
import type { ActorRef } from '../contract.ts';
import { withTenant } from '../pool.ts';

/** Takes a parked actor up again where its snapshot stands. False when it is not parked at this revision any more. */
export async function unpark(pool: pg.Pool, ref: ActorRef, revision: number): Promise<boolean> {
  return withTenant(pool, ref.tenant, async (client) => {
    const changed = await client.query(
      `UPDATE turnwright.actors SET status = 'active', parked_reason = NULL, changed_at = clock_timestamp()
        WHERE tenant_id = $1 AND session_id = $2 AND actor_id = $3 AND status = 'parked' AND revision = $4`,
      [ref.tenant, ref.session, ref.actor, revision],
    );
    if (changed.rowCount !== 1) return false;
    await handOverAgain(client, ref);
    return true;
  });
}

/** Returns how many calls and drains were handed over. */
export async function redispatchTurn(pool: pg.Pool, ref: ActorRef): Promise<number> {
  return withTenant(pool, ref.tenant, (client) => handOverAgain(client, ref));
}

/** Calls that are open, and calls that ended without their result ever reaching the machine. */
const CALLS = `
  WITH again AS (
    UPDATE turnwright.side_calls s SET status = 'queued', dispatch = s.dispatch + 1, worker_id = NULL, last_error = 'handed over again by hand'
    WHERE s.tenant_id = $1 AND s.session_id = $2 AND s.actor_id = $3 AND NOT EXISTS (
      SELECT FROM turnwright.actor_events e WHERE e.tenant_id = s.tenant_id AND e.session_id = s.session_id
        AND e.actor_id = s.actor_id AND e.event_id = s.child_id)
    RETURNING s.*
  ), gone AS (
    DELETE FROM turnwright.outbox o USING again g
    WHERE o.tenant_id = g.tenant_id AND o.session_id = g.session_id AND o.actor_id = g.actor_id AND o.child_id = g.child_id
  )
  INSERT INTO turnwright.outbox (tenant_id, session_id, actor_id, child_id, dispatch, pool, priority)
  SELECT g.tenant_id, g.session_id, g.actor_id, g.child_id, g.dispatch, g.pool, g.priority FROM again g`;

const DRAIN = `
  WITH woken AS (
    UPDATE turnwright.actors a SET drains = a.drains + 1
    WHERE a.tenant_id = $1 AND a.session_id = $2 AND a.actor_id = $3 AND EXISTS (
      SELECT FROM turnwright.actor_events e WHERE e.tenant_id = a.tenant_id AND e.session_id = a.session_id
        AND e.actor_id = a.actor_id AND e.revision IS NULL)
    RETURNING a.*
  )
  INSERT INTO turnwright.outbox (tenant_id, session_id, actor_id, child_id, dispatch, pool)
  SELECT k.tenant_id, k.session_id, k.actor_id, 'drain', k.drains, 'turn' FROM woken k`;

async function handOverAgain(client: pg.ClientBase, ref: ActorRef): Promise<number> {
  const actor = [ref.tenant, ref.session, ref.actor];
  const calls = await client.query(CALLS, actor);
  const drains = await client.query(DRAIN, actor);
  return (calls.rowCount ?? 0) + (drains.rowCount ?? 0);
}
