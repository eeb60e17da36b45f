/**
 * Turns that nothing moves, each with why. What a healthy deployment still has in hand is left out: a call that
 * runs on a live worker, a row handed over a moment ago, a timer, a turn that waits for the one before it.
 */
import type pg from 'pg';
import { run, withTenant } from '../pool.ts';

export const STUCK_CAUSES = [
  'parked',
  'worker_gone',
  'unclaimed',
  'event_pending',
  'not_started',
  'nothing_pending',
] as const;
export type StuckCause = (typeof STUCK_CAUSES)[number];

export interface StuckRow {
  readonly tenant: string;
  readonly session: string;
  readonly turn: string;
  readonly number: number;
  readonly cause: StuckCause;
  readonly machine: string;
  readonly version: number;
  readonly parkedReason: string | null;
  /** The call or job the cause is about. */
  readonly child: string | null;
  readonly pool: string | null;
  /** Live slots of that pool in the whole deployment. */
  readonly slots: number;
  readonly sinceSeconds: number;
}

export interface StuckLimits {
  /** A worker silent for so long is gone. */
  readonly goneMs: number;
  /** A job that no worker took for so long, or an event nobody applied, is stuck. */
  readonly unclaimedMs: number;
  readonly limit: number;
}

const OF_ACTOR = (alias: string) =>
  `${alias}.tenant_id = c.tenant_id AND ${alias}.session_id = c.session_id AND ${alias}.actor_id = c.actor_id`;

/** A pool with live workers may be full for a while: its rows are stuck only after so many times as long. */
const BUSY_FACTOR = 10;

/** A deadline alone moves nothing: it only ends the turn. */
const STUCK = `
  WITH open_turn AS (
    SELECT t.tenant_id, t.session_id, t.turn_id AS actor_id, t.number, t.status, t.head_id, a.machine, a.version, a.parked_reason,
      a.status AS actor_status, a.changed_at
    FROM turnwright.turns t
    JOIN turnwright.actors a ON a.tenant_id = t.tenant_id AND a.session_id = t.session_id AND a.actor_id = t.turn_id
    WHERE t.status <> 'closed' AND ($1::uuid IS NULL OR t.tenant_id = $1)
  ), found AS (
    SELECT c.*, 'parked' AS cause, NULL::text AS child, NULL::text AS pool, c.changed_at AS since
    FROM open_turn c WHERE c.actor_status = 'parked'
    UNION ALL
    SELECT c.*, 'worker_gone', s.child_id, s.pool, s.claimed_at FROM open_turn c JOIN turnwright.side_calls s ON ${OF_ACTOR('s')}
    WHERE c.actor_status = 'active' AND s.status = 'running' AND s.claimed_at < clock_timestamp() - make_interval(secs => $2 / 1000.0)
      AND NOT EXISTS (SELECT FROM turnwright.workers w WHERE w.worker_id = s.worker_id
        AND w.beat_at > clock_timestamp() - make_interval(secs => $2 / 1000.0))
    UNION ALL
    SELECT c.*, 'unclaimed', o.child_id, o.pool, o.due_at FROM open_turn c JOIN turnwright.outbox o ON ${OF_ACTOR('o')}
    WHERE c.actor_status = 'active' AND o.child_id <> 'drain' AND o.due_at < clock_timestamp() - make_interval(secs => $3 / 1000.0)
      AND (o.admitted_at < clock_timestamp() - make_interval(secs => ${BUSY_FACTOR} * $3 / 1000.0) OR NOT EXISTS (
        SELECT FROM turnwright.workers w WHERE (w.pools ->> o.pool)::integer > 0
          AND w.beat_at > clock_timestamp() - make_interval(secs => $2 / 1000.0)))
    UNION ALL
    SELECT c.*, 'event_pending', e.event_id, 'turn', e.received_at FROM open_turn c JOIN turnwright.actor_events e ON ${OF_ACTOR('e')}
    WHERE c.actor_status = 'active' AND e.revision IS NULL AND e.received_at < clock_timestamp() - make_interval(secs => $3 / 1000.0)
    UNION ALL
    SELECT c.*, 'not_started', NULL, NULL, c.changed_at FROM open_turn c
    JOIN turnwright.heads h ON h.tenant_id = c.tenant_id AND h.session_id = c.session_id AND h.head_id = c.head_id
    WHERE c.actor_status = 'active' AND c.status = 'accepted' AND h.open_turn IS NULL
    UNION ALL
    SELECT c.*, 'nothing_pending', NULL, NULL, c.changed_at FROM open_turn c
    WHERE c.actor_status = 'active' AND c.status = 'running'
      AND NOT EXISTS (SELECT FROM turnwright.side_calls s WHERE ${OF_ACTOR('s')} AND s.status = 'running')
      AND NOT EXISTS (SELECT FROM turnwright.outbox o WHERE ${OF_ACTOR('o')})
      AND NOT EXISTS (SELECT FROM turnwright.timers m WHERE ${OF_ACTOR('m')} AND m.timer_id <> 'deadline')
      AND NOT EXISTS (SELECT FROM turnwright.actor_events e WHERE ${OF_ACTOR('e')} AND e.revision IS NULL)
  ), one AS (
    SELECT DISTINCT ON (f.tenant_id, f.session_id, f.actor_id) f.* FROM found f
    ORDER BY f.tenant_id, f.session_id, f.actor_id, array_position($5::text[], f.cause), f.since
  )
  SELECT o.tenant_id AS tenant, o.session_id AS session, o.actor_id AS turn, o.number, o.cause, o.machine, o.version,
    o.parked_reason AS "parkedReason", o.child, o.pool, extract(epoch FROM clock_timestamp() - o.since)::float8 AS "sinceSeconds", (
      SELECT coalesce(sum((w.pools ->> o.pool)::integer), 0)::integer FROM turnwright.workers w
      WHERE w.beat_at > clock_timestamp() - make_interval(secs => $2 / 1000.0)) AS slots
  FROM one o ORDER BY o.since LIMIT $4`;

const values = (tenant: string | null, limits: StuckLimits) => [
  tenant,
  limits.goneMs,
  limits.unclaimedMs,
  limits.limit,
  [...STUCK_CAUSES],
];

/** The longest stuck first, one row a turn. */
export async function listStuck(
  pool: pg.Pool,
  tenant: string,
  limits: StuckLimits,
): Promise<readonly StuckRow[]> {
  return withTenant(pool, tenant, async (client) => {
    const read = await client.query<StuckRow>(STUCK, values(tenant, limits));
    return read.rows;
  });
}

/** Across tenants, on a pool of the role `turnwright_upkeep`. */
export async function countStuck(upkeepPool: pg.Pool, limits: StuckLimits): Promise<number> {
  const rows = await run<{ count: number }>(upkeepPool, {
    text: `SELECT count(*)::integer AS count FROM (${STUCK}) stuck`,
    values: values(null, limits),
  });
  return rows[0]?.count ?? 0;
}
