/**
 * Everything that says what a turn waits for, in one statement, so of one state of the database. Times are
 * milliseconds since 1970 by the database's clock, as is `nowMs`.
 */
import type pg from 'pg';
import { withTenant } from '../pool.ts';
import type { TurnRow } from './find-turn.ts';
import { type StuckLimits, type StuckRow, stuckSql, stuckValues } from './list-stuck.ts';

export interface WorkerFacts {
  readonly id: string;
  /** null when its row is gone: it retired, or was silent for long. */
  readonly host: string | null;
  readonly pid: number | null;
  readonly beatMs: number | null;
}

export interface CallFacts {
  readonly child: string;
  readonly src: string;
  readonly pool: string;
  readonly status: 'queued' | 'running';
  readonly attempt: number;
  readonly fence: number;
  readonly dispatch: number;
  readonly claimedMs: number | null;
  readonly lastError: string | null;
  readonly worker: WorkerFacts | null;
  /** Live slots of its pool in the deployment. */
  readonly slots: number;
  /** The row that hands it over; null once it was claimed, or when it was lost. */
  readonly handOver: {
    readonly dueMs: number;
    /** null while Postgres holds it back. */
    readonly admittedMs: number | null;
    /** Due rows of the pool that this tenant has before it, held back as it is. */
    readonly before: number;
  } | null;
}

export interface ExplainedTurn extends Omit<TurnRow, 'acceptedAt' | 'startedAt' | 'closedAt'> {
  readonly nowMs: number;
  readonly acceptedMs: number;
  readonly startedMs: number | null;
  readonly closedMs: number | null;
  /** When its actor changed last. */
  readonly changedMs: number;
  /** Open calls. */
  readonly calls: readonly CallFacts[];
  readonly timers: readonly { readonly timer: string; readonly dueMs: number }[];
  /** Events from outside that wait to be applied; `event` is JSON text. */
  readonly events: readonly { readonly id: string; readonly event: string; readonly receivedMs: number }[];
  /** What its head runs while it waits its place. */
  readonly behind:
    | (Pick<TurnRow, 'turn' | 'number' | 'status'> & {
        readonly actor: Pick<TurnRow['actor'], 'snapshot' | 'status'>;
      })
    | null;
  /** Accepted turns that start before it on its head. */
  readonly waitingBefore: number;
  /** The newest receipt that tells of a failure, as JSON text. */
  readonly failedReceipt: string | null;
  readonly stuck: StuckRow | null;
}

const MAX_EVENTS = 20;

const MS = (column: string) => `(extract(epoch FROM ${column}) * 1000)::float8`;
const OF_TURN = (alias: string) =>
  `${alias}.tenant_id = t.tenant_id AND ${alias}.session_id = t.session_id AND ${alias}.actor_id = t.turn_id`;
const LIST = (item: string, from: string) =>
  `(SELECT coalesce(json_agg(${item}), '[]'::json) FROM (${from}) x)`;

const HAND_OVER = `(SELECT json_build_object('dueMs', ${MS('o.due_at')}, 'admittedMs', ${MS('o.admitted_at')}, 'before', (
      SELECT count(*) FROM turnwright.outbox b WHERE b.tenant_id = o.tenant_id AND b.pool = o.pool AND b.admitted_at IS NULL
        AND o.admitted_at IS NULL AND b.due_at <= clock_timestamp() AND (b.priority, b.position) < (o.priority, o.position)))
    FROM turnwright.outbox o WHERE o.tenant_id = x.tenant_id AND o.session_id = x.session_id AND o.actor_id = x.actor_id
      AND o.child_id = x.child_id ORDER BY o.dispatch DESC LIMIT 1)`;

const WORKER = `CASE WHEN x.worker_id IS NOT NULL THEN json_build_object('id', x.worker_id, 'host', w.host, 'pid', w.pid,
    'beatMs', ${MS('w.beat_at')}) END`;

/** $2 is the age from which a worker counts as gone, as in the statement of stuck turns. */
const SLOTS = `(SELECT coalesce(sum((l.pools ->> x.pool)::integer), 0)::integer FROM turnwright.workers l
    WHERE l.beat_at > clock_timestamp() - make_interval(secs => $2 / 1000.0))`;

const CALLS = `(SELECT coalesce(json_agg(json_build_object('child', x.child_id, 'src', x.src, 'pool', x.pool, 'status', x.status,
      'attempt', x.attempt, 'fence', x.fence, 'dispatch', x.dispatch, 'claimedMs', ${MS('x.claimed_at')}, 'lastError', x.last_error,
      'worker', ${WORKER}, 'slots', ${SLOTS}, 'handOver', ${HAND_OVER}) ORDER BY x.child_id), '[]'::json)
    FROM turnwright.side_calls x LEFT JOIN turnwright.workers w ON w.worker_id = x.worker_id
    WHERE ${OF_TURN('x')} AND x.status IN ('queued', 'running'))`;

const TIMERS = LIST(
  `json_build_object('timer', x.timer_id, 'dueMs', ${MS('x.due_at')})`,
  `SELECT m.* FROM turnwright.timers m WHERE ${OF_TURN('m')} ORDER BY m.due_at`,
);

const EVENTS = LIST(
  `json_build_object('id', x.event_id, 'event', x.event, 'receivedMs', ${MS('x.received_at')})`,
  `SELECT e.* FROM turnwright.actor_events e WHERE ${OF_TURN('e')} AND e.revision IS NULL ORDER BY e.received_at LIMIT ${MAX_EVENTS}`,
);

const BEHIND = `(SELECT json_build_object('turn', n.turn_id, 'number', n.number, 'status', n.status,
      'actor', json_build_object('snapshot', na.snapshot, 'status', na.status))
    FROM turnwright.heads h
    JOIN turnwright.turns n ON n.tenant_id = h.tenant_id AND n.session_id = h.session_id AND n.turn_id = h.open_turn
    JOIN turnwright.actors na ON na.tenant_id = n.tenant_id AND na.session_id = n.session_id AND na.actor_id = n.turn_id
    WHERE h.tenant_id = t.tenant_id AND h.session_id = t.session_id AND h.head_id = t.head_id
      AND t.status = 'accepted' AND n.turn_id <> t.turn_id)`;

const WAITING_BEFORE = `(SELECT count(*)::integer FROM turnwright.turns b WHERE b.tenant_id = t.tenant_id AND b.session_id = t.session_id
      AND b.head_id = t.head_id AND t.status = 'accepted' AND b.status = 'accepted' AND b.number < t.number)`;

/** A member of canonical JSON; inside a text its quotes would be escaped. */
const NO_PROBLEM = '"problem":null';

const FAILED_RECEIPT = `(SELECT r.body FROM turnwright.records r WHERE r.tenant_id = t.tenant_id AND r.session_id = t.session_id
      AND r.turn_id = t.turn_id AND r.kind = 'work-receipt' AND position('${NO_PROBLEM}' IN r.body) = 0 ORDER BY r.seq DESC LIMIT 1)`;

const EXPLAIN = `
  SELECT t.turn_id AS turn, t.session_id AS session, t.head_id AS head, t.number, t.status, t.outcome, t.reason, t.steps, t.priority,
    ${MS('clock_timestamp()')} AS "nowMs", ${MS('t.accepted_at')} AS "acceptedMs", ${MS('t.started_at')} AS "startedMs",
    ${MS('t.closed_at')} AS "closedMs", ${MS('a.changed_at')} AS "changedMs",
    json_build_object('machine', a.machine, 'version', a.version, 'revision', a.revision, 'snapshot', a.snapshot,
      'status', a.status, 'parkedReason', a.parked_reason) AS actor,
    ${CALLS} AS calls, ${TIMERS} AS timers, ${EVENTS} AS events, ${BEHIND} AS behind, ${WAITING_BEFORE} AS "waitingBefore",
    ${FAILED_RECEIPT} AS "failedReceipt", (SELECT row_to_json(f) FROM (${stuckSql('turn')}) f) AS stuck
  FROM turnwright.turns t
  JOIN turnwright.actors a ON a.tenant_id = t.tenant_id AND a.session_id = t.session_id AND a.actor_id = t.turn_id
  WHERE t.tenant_id = $1 AND t.turn_id = $7`;

export async function explainTurn(
  pool: pg.Pool,
  tenant: string,
  turn: string,
  limits: StuckLimits,
): Promise<ExplainedTurn | null> {
  return withTenant(pool, tenant, async (client) => {
    const read = await client.query<ExplainedTurn>(EXPLAIN, [...stuckValues(tenant, turn, limits)]);
    return read.rows[0] ?? null;
  });
}
