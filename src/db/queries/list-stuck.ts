/**
 * Turns that nothing moves, each with why. What a healthy deployment still has in hand is left out: a call that
 * runs on a live worker, a row handed over a moment ago or due later, a full pool with a backlog, a timer, a turn
 * that waits for the one before it.
 */
import type pg from 'pg';
import { run, withTenant } from '../pool.ts';

/** In order of precedence: of several causes of one turn, the first is told. */
export const STUCK_CAUSES = [
  'parked',
  'worker_gone',
  'call_lost',
  'call_repeats',
  'unclaimed',
  'event_pending',
  'head_held',
  'not_started',
  'passed_over',
  'timer_overdue',
  'timer_lost',
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
  /** The call, event, timer or turn the cause is about. */
  readonly child: string | null;
  readonly pool: string | null;
  /** Live slots of that pool in the whole deployment. */
  readonly slots: number;
  /** Live worker processes: each of them sweeps. */
  readonly workers: number;
  readonly sinceSeconds: number;
}

export interface StuckLimits {
  /** A worker silent for so long is gone. */
  readonly goneMs: number;
  /** A job that no worker took for so long, or an event nobody applied, is stuck. */
  readonly unclaimedMs: number;
  /** A call claimed so often should have ended long before. */
  readonly repeats: number;
  readonly limit: number;
}

const OF_ACTOR = (alias: string) =>
  `${alias}.tenant_id = c.tenant_id AND ${alias}.session_id = c.session_id AND ${alias}.actor_id = c.actor_id`;
const OLDER = (column: string, parameter: string, factor = 1) =>
  `${column} < clock_timestamp() - make_interval(secs => ${factor} * ${parameter} / 1000.0)`;

/** With live workers a row, event or timer is stuck only after so many times as long: they may have much to do. */
const BUSY_FACTOR = 10;

/** A turn is found by its id through an index; the others are scanned. */
const SCOPES = {
  turn: 't.tenant_id = $1 AND t.turn_id = $7',
  tenant: 't.tenant_id = $1 AND $7::uuid IS NULL',
  deployment: '$1::uuid IS NULL AND $7::uuid IS NULL',
} as const;

/**
 * The parameters are those of `stuckValues`. A deadline alone moves nothing: it only ends the turn. Under row-level
 * security only the tenant's own calls count for how full a pool is; the metric sees all of them.
 */
export function stuckSql(scope: keyof typeof SCOPES): string {
  return `
  WITH live AS (
    SELECT w.worker_id, w.pools FROM turnwright.workers w WHERE NOT (${OLDER('w.beat_at', '$2')})
  ), slots AS (
    SELECT k.key AS pool, sum(k.value::integer)::integer AS slots FROM live l, jsonb_each_text(l.pools) k GROUP BY k.key
  ), running AS (
    SELECT s.pool, count(*)::integer AS calls FROM turnwright.side_calls s JOIN live l ON l.worker_id = s.worker_id
    WHERE s.status = 'running' GROUP BY s.pool
  ), open_turn AS (
    SELECT t.tenant_id, t.session_id, t.turn_id AS actor_id, t.number, t.status, t.head_id, a.machine, a.version, a.parked_reason,
      a.snapshot, a.status AS actor_status, a.changed_at
    FROM turnwright.turns t
    JOIN turnwright.actors a ON a.tenant_id = t.tenant_id AND a.session_id = t.session_id AND a.actor_id = t.turn_id
    WHERE t.status <> 'closed' AND ${SCOPES[scope]}
  ), waiting AS (
    SELECT o.*, coalesce(k.slots, 0) AS slots, coalesce(r.calls, 0) AS calls FROM turnwright.outbox o
    LEFT JOIN slots k ON k.pool = o.pool LEFT JOIN running r ON r.pool = o.pool
    WHERE o.child_id <> 'drain' AND ${OLDER('o.due_at', '$3')}
  ), found AS (${[...FOUND_CALLS, ...FOUND_TURNS].join(' UNION ALL ')}
  ), one AS (
    SELECT DISTINCT ON (f.tenant_id, f.session_id, f.actor_id) f.* FROM found f
    ORDER BY f.tenant_id, f.session_id, f.actor_id, array_position($6::text[], f.cause), f.since
  )
  SELECT o.tenant_id AS tenant, o.session_id AS session, o.actor_id AS turn, o.number, o.cause, o.machine, o.version,
    o.parked_reason AS "parkedReason", o.child, o.pool, extract(epoch FROM clock_timestamp() - o.since)::float8 AS "sinceSeconds",
    coalesce((SELECT k.slots FROM slots k WHERE k.pool = o.pool), 0) AS slots, (SELECT count(*)::integer FROM live) AS workers
  FROM one o ORDER BY o.since LIMIT $5`;
}

/** Each of these is SQL. */
const SELECT = (cause: string, child: string, pool: string, since: string) =>
  `SELECT c.*, ${cause} AS cause, ${child}::text AS child, ${pool}::text AS pool, ${since} AS since FROM open_turn c`;
const IS = (cause: StuckCause) => `'${cause}'`;
const EITHER = (condition: string, cause: StuckCause, other: StuckCause) =>
  `CASE WHEN ${condition} THEN ${IS(cause)} ELSE ${IS(other)} END`;

/** What a turn waits for, and nothing brings. */
const FOUND_CALLS = [
  `${SELECT(IS('parked'), 'NULL', 'NULL', 'c.changed_at')} WHERE c.actor_status = 'parked'`,

  `${SELECT(IS('worker_gone'), 's.child_id', 's.pool', 's.claimed_at')} JOIN turnwright.side_calls s ON ${OF_ACTOR('s')}
    WHERE c.actor_status = 'active' AND s.status = 'running' AND ${OLDER('s.claimed_at', '$2')}
      AND NOT EXISTS (SELECT FROM live l WHERE l.worker_id = s.worker_id)`,

  `${SELECT(IS('call_lost'), 's.child_id', 's.pool', 'c.changed_at')} JOIN turnwright.side_calls s ON ${OF_ACTOR('s')}
    WHERE c.actor_status = 'active' AND s.status = 'queued'
      AND NOT EXISTS (SELECT FROM turnwright.outbox o WHERE ${OF_ACTOR('o')} AND o.child_id = s.child_id)`,

  `${SELECT(IS('call_repeats'), 's.child_id', 's.pool', 'c.changed_at')} JOIN turnwright.side_calls s ON ${OF_ACTOR('s')}
    WHERE c.actor_status = 'active' AND s.status IN ('queued', 'running') AND s.deaths >= $4`,

  // Handed over, and its pool has a free slot; or held back, and its pool does nothing at all.
  `${SELECT(IS('unclaimed'), 'o.child_id', 'o.pool', 'o.due_at')} JOIN waiting o ON ${OF_ACTOR('o')}
    WHERE c.actor_status = 'active' AND (o.slots = 0
      OR (${OLDER('o.admitted_at', '$3', BUSY_FACTOR)} AND o.calls < o.slots)
      OR (o.admitted_at IS NULL AND ${OLDER('o.due_at', '$3', BUSY_FACTOR)} AND o.calls = 0
        AND NOT EXISTS (SELECT FROM turnwright.outbox x WHERE x.pool = o.pool AND x.admitted_at IS NOT NULL)))`,

  // A drain that waits is a queue that is long; one that was taken and left its event is no worker of the version.
  `${SELECT(IS('event_pending'), 'e.event_id', "'turn'", 'e.received_at')} JOIN turnwright.actor_events e ON ${OF_ACTOR('e')}
    WHERE c.actor_status = 'active' AND e.revision IS NULL AND ${OLDER('e.received_at', '$3')}
      AND (${OLDER('e.received_at', '$3', BUSY_FACTOR)} OR NOT EXISTS (SELECT FROM slots k WHERE k.pool = 'turn' AND k.slots > 0)
        OR NOT EXISTS (SELECT FROM turnwright.outbox o WHERE ${OF_ACTOR('o')} AND o.child_id = 'drain' AND ${OLDER('o.due_at', '$2')}))`,
] as const;

const HEAD = `JOIN turnwright.heads h ON h.tenant_id = c.tenant_id AND h.session_id = c.session_id AND h.head_id = c.head_id
    LEFT JOIN turnwright.turns n ON n.tenant_id = c.tenant_id AND n.session_id = c.session_id AND n.turn_id = h.open_turn
      AND n.turn_id <> c.actor_id AND n.status <> 'closed'`;

/** `value` is the last member of a canonical snapshot. */
const IS_WAITING = `c.snapshot LIKE '%"value":"waiting"}'`;

/** What should start, move or end a turn, and does not. */
const FOUND_TURNS = [
  `${SELECT(EITHER('h.open_turn IS NULL OR h.open_turn = c.actor_id', 'not_started', 'head_held'), 'h.open_turn', 'NULL', 'c.changed_at')} ${HEAD}
    WHERE c.actor_status = 'active' AND c.status = 'accepted' AND n.turn_id IS NULL
      AND NOT EXISTS (SELECT FROM turnwright.turns w WHERE w.tenant_id = c.tenant_id AND w.session_id = c.session_id
        AND w.head_id = c.head_id AND w.status = 'accepted' AND w.number < c.number)`,

  `${SELECT(IS('passed_over'), 'n.turn_id', 'NULL', 'c.changed_at')} ${HEAD}
    WHERE c.actor_status = 'active' AND c.status = 'accepted' AND n.number > c.number`,

  `${SELECT(IS('timer_overdue'), 'm.timer_id', 'NULL', 'm.due_at')} JOIN turnwright.timers m ON ${OF_ACTOR('m')}
    WHERE c.actor_status = 'active' AND ${OLDER('m.due_at', '$3')}
      AND (${OLDER('m.due_at', '$3', BUSY_FACTOR)} OR NOT EXISTS (SELECT FROM live))`,

  `${SELECT(EITHER(IS_WAITING, 'timer_lost', 'nothing_pending'), 'NULL', 'NULL', 'c.changed_at')}
    WHERE c.actor_status = 'active' AND c.status = 'running'
      AND NOT EXISTS (SELECT FROM turnwright.side_calls s WHERE ${OF_ACTOR('s')} AND s.status = 'running')
      AND NOT EXISTS (SELECT FROM turnwright.outbox o WHERE ${OF_ACTOR('o')})
      AND NOT EXISTS (SELECT FROM turnwright.timers m WHERE ${OF_ACTOR('m')} AND m.timer_id <> 'deadline')
      AND NOT EXISTS (SELECT FROM turnwright.actor_events e WHERE ${OF_ACTOR('e')} AND e.revision IS NULL)`,
] as const;

export function stuckValues(
  tenant: string | null,
  turn: string | null,
  { goneMs, unclaimedMs, repeats, limit }: StuckLimits,
): readonly unknown[] {
  return [tenant, goneMs, unclaimedMs, repeats, limit, [...STUCK_CAUSES], turn];
}

/** The longest stuck first, one row a turn. */
export async function listStuck(
  pool: pg.Pool,
  tenant: string,
  limits: StuckLimits,
): Promise<readonly StuckRow[]> {
  return withTenant(pool, tenant, async (client) => {
    const read = await client.query<StuckRow>(stuckSql('tenant'), [...stuckValues(tenant, null, limits)]);
    return read.rows;
  });
}

/** Whether this turn is stuck, and why; null when something moves it. */
export async function findStuck(
  pool: pg.Pool,
  tenant: string,
  turn: string,
  limits: StuckLimits,
): Promise<StuckRow | null> {
  return withTenant(pool, tenant, async (client) => {
    const read = await client.query<StuckRow>(stuckSql('turn'), [...stuckValues(tenant, turn, limits)]);
    return read.rows[0] ?? null;
  });
}

/** Across tenants, on a pool of the role `turnwright_upkeep`. */
export function listStuckEverywhere(upkeepPool: pg.Pool, limits: StuckLimits): Promise<readonly StuckRow[]> {
  return run<StuckRow>(upkeepPool, {
    text: stuckSql('deployment'),
    values: stuckValues(null, null, limits),
  });
}

/** Across tenants, on a pool of the role `turnwright_upkeep`. */
export async function countStuck(upkeepPool: pg.Pool, limits: StuckLimits): Promise<number> {
  const rows = await run<{ count: number }>(upkeepPool, {
    text: `SELECT count(*)::integer AS count FROM (${stuckSql('deployment')}) stuck`,
    values: stuckValues(null, null, limits),
  });
  return rows[0]?.count ?? 0;
}
