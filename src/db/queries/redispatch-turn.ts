/**
 * Mends what a stuck turn waits for: rows that are gone are written again, hand-overs nobody took are made again,
 * timers past due become events. Fences make it safe: a worker that still runs an old hand-over finds its claim
 * taken over, and a `once` tool that was let loose is not run again. What moves is left alone.
 */
import type pg from 'pg';
import type { ActorRef } from '../contract.ts';
import { withTenant } from '../pool.ts';

/** What a machine waits for, by its own events. */
export interface AwaitedRows {
  readonly calls: readonly {
    readonly child: string;
    readonly src: string;
    readonly pool: string;
    readonly input: string;
    readonly priority: number;
  }[];
  readonly timers: readonly {
    readonly timer: string;
    readonly event: string;
    readonly revision: number;
    readonly dueMs: number;
  }[];
}

export interface Mending {
  /** The state of the actor the repair stands on. */
  readonly revision: number;
  readonly status: 'active' | 'parked';
  /** null where its machine is not known: then only rows that exist are handed over again. */
  readonly awaited: AwaitedRows | null;
  /** A worker silent for so long is gone; a hand-over this old may be made again. */
  readonly goneMs: number;
}

/**
 * Returns how many rows it mended, null when the actor is not in that state any more. A parked actor is taken up
 * where its snapshot stands. The session's lock comes first, so no hop commits in between.
 */
export async function mendTurn(pool: pg.Pool, ref: ActorRef, mending: Mending): Promise<number | null> {
  return withTenant(pool, ref.tenant, async (client) => {
    const actor = [ref.tenant, ref.session, ref.actor];
    await client.query(LOCK, actor.slice(0, 2));
    const found = await client.query(STANDS, [...actor, mending.revision, mending.status]);
    if (found.rowCount !== 1) return null;
    const mended = [
      await makeCalls(client, actor, mending),
      await client.query(SET_TIMERS, [...actor, JSON.stringify(mending.awaited?.timers ?? [])]),
      await client.query(FIRE, actor),
      ...(mending.status === 'parked' ? [await client.query(UNPARK, actor)] : []),
      await client.query(DRAIN, [...actor, mending.goneMs]),
    ];
    return mended.reduce((sum, { rowCount }) => sum + (rowCount ?? 0), 0);
  });
}

async function makeCalls(client: pg.ClientBase, actor: readonly string[], { awaited, goneMs }: Mending) {
  if (awaited !== null) await client.query(MAKE_CALLS, [...actor, JSON.stringify(awaited.calls)]);
  const children = awaited?.calls.map(({ child }) => child) ?? null;
  return client.query(HAND_OVER, [...actor, children, goneMs]);
}

/** Where an accepted turn stands on its head, and the record number it was seen at. */
export interface HeadPlace {
  readonly nextSeq: number;
  /** No open turn holds its head, and none that was accepted before it waits there. */
  readonly isNext: boolean;
}

export async function readHeadPlace(pool: pg.Pool, ref: ActorRef): Promise<HeadPlace | null> {
  return withTenant(pool, ref.tenant, async (client) => {
    const read = await client.query<HeadPlace>(HEAD_PLACE, [ref.tenant, ref.session, ref.actor]);
    return read.rows[0] ?? null;
  });
}

export interface OpenEventRow {
  readonly id: string;
  readonly event: string;
  readonly revision: number;
  readonly receivedMs: number;
}

/** Every event an open actor was changed by, in order. */
export async function readOpenEvents(pool: pg.Pool, ref: ActorRef): Promise<readonly OpenEventRow[]> {
  return withTenant(pool, ref.tenant, async (client) => {
    const read = await client.query<OpenEventRow>(OPEN_EVENTS, [ref.tenant, ref.session, ref.actor]);
    return read.rows;
  });
}

const THIS = (alias: string) =>
  `${alias}.tenant_id = $1 AND ${alias}.session_id = $2 AND ${alias}.actor_id = $3`;
const WITHIN = (column: string, parameter: string) =>
  `${column} > clock_timestamp() - make_interval(secs => ${parameter} / 1000.0)`;

const LOCK = `SELECT FROM turnwright.sessions s WHERE s.tenant_id = $1 AND s.session_id = $2 FOR NO KEY UPDATE`;
const STANDS = `SELECT FROM turnwright.actors a WHERE ${THIS('a')} AND a.revision = $4 AND a.status = $5`;

/** Whether a tool whose row is gone was let loose is not known: it counts as started. */
const MAKE_CALLS = `
  INSERT INTO turnwright.side_calls (tenant_id, session_id, actor_id, child_id, src, pool, input, status, priority, dispatch, started)
  SELECT $1, $2, $3, c.child, c.src, c.pool, c.input, 'queued', c.priority, 0, c.src = 'tool'
  FROM jsonb_to_recordset($4) AS c(child text, src text, pool text, input text, priority integer)
  WHERE NOT EXISTS (SELECT FROM turnwright.actor_events e WHERE ${THIS('e')} AND e.event_id = c.child)
  ON CONFLICT DO NOTHING`;

/** Calls whose result never reached the machine, but those that a live worker runs, that were just handed over, or that are due later. */
const HAND_OVER = `
  WITH again AS (
    UPDATE turnwright.side_calls s SET status = 'queued', dispatch = s.dispatch + 1, worker_id = NULL,
      last_error = coalesce(s.last_error, 'handed over again by hand')
    WHERE ${THIS('s')} AND (s.child_id = ANY ($4::text[]) OR ($4::text[] IS NULL AND s.status IN ('queued', 'running')))
      AND NOT EXISTS (SELECT FROM turnwright.actor_events e WHERE ${THIS('e')} AND e.event_id = s.child_id)
      AND NOT (s.status = 'running' AND EXISTS (
        SELECT FROM turnwright.workers w WHERE w.worker_id = s.worker_id AND ${WITHIN('w.beat_at', '$5')}))
      AND NOT (s.status = 'queued' AND EXISTS (
        SELECT FROM turnwright.outbox o WHERE ${THIS('o')} AND o.child_id = s.child_id AND ${WITHIN('o.due_at', '$5')}))
    RETURNING s.*
  ), gone AS (
    DELETE FROM turnwright.outbox o USING again g WHERE ${THIS('o')} AND o.child_id = g.child_id
  )
  INSERT INTO turnwright.outbox (tenant_id, session_id, actor_id, child_id, dispatch, pool, priority)
  SELECT g.tenant_id, g.session_id, g.actor_id, g.child_id, g.dispatch, g.pool, g.priority FROM again g`;

const SET_TIMERS = `
  INSERT INTO turnwright.timers (tenant_id, session_id, actor_id, timer_id, event, revision, due_at)
  SELECT $1, $2, $3, t.timer, t.event, t.revision, to_timestamp(t."dueMs" / 1000.0)
  FROM jsonb_to_recordset($4) AS t(timer text, event text, revision integer, "dueMs" double precision)
  WHERE NOT EXISTS (SELECT FROM turnwright.actor_events e WHERE ${THIS('e')} AND e.event_id = 'timer.' || t.timer || '.' || t.revision)
  ON CONFLICT DO NOTHING`;

const FIRE = `
  WITH fired AS (
    DELETE FROM turnwright.timers t WHERE ${THIS('t')} AND t.due_at <= clock_timestamp() RETURNING t.*
  )
  INSERT INTO turnwright.actor_events (tenant_id, session_id, actor_id, event_id, event)
  SELECT f.tenant_id, f.session_id, f.actor_id, 'timer.' || f.timer_id || '.' || f.revision, f.event FROM fired f
  ON CONFLICT DO NOTHING`;

const UNPARK = `
  UPDATE turnwright.actors a SET status = 'active', parked_reason = NULL, changed_at = clock_timestamp() WHERE ${THIS('a')}`;

const DRAIN = `
  WITH woken AS (
    UPDATE turnwright.actors a SET drains = a.drains + 1
    WHERE ${THIS('a')} AND EXISTS (SELECT FROM turnwright.actor_events e WHERE ${THIS('e')} AND e.revision IS NULL)
      AND NOT EXISTS (SELECT FROM turnwright.outbox o WHERE ${THIS('o')} AND o.child_id = 'drain' AND ${WITHIN('o.due_at', '$4')})
    RETURNING a.*
  )
  INSERT INTO turnwright.outbox (tenant_id, session_id, actor_id, child_id, dispatch, pool)
  SELECT k.tenant_id, k.session_id, k.actor_id, 'drain', k.drains, 'turn' FROM woken k`;

const HEAD_PLACE = `
  SELECT s.next_seq::float8 AS "nextSeq", NOT EXISTS (
      SELECT FROM turnwright.turns n WHERE n.tenant_id = t.tenant_id AND n.session_id = t.session_id AND n.turn_id = h.open_turn
        AND n.turn_id <> t.turn_id AND n.status <> 'closed')
    AND NOT EXISTS (
      SELECT FROM turnwright.turns w WHERE w.tenant_id = t.tenant_id AND w.session_id = t.session_id AND w.head_id = t.head_id
        AND w.status = 'accepted' AND w.number < t.number) AS "isNext"
  FROM turnwright.turns t
  JOIN turnwright.sessions s ON s.tenant_id = t.tenant_id AND s.session_id = t.session_id
  JOIN turnwright.heads h ON h.tenant_id = t.tenant_id AND h.session_id = t.session_id AND h.head_id = t.head_id
  WHERE t.tenant_id = $1 AND t.session_id = $2 AND t.turn_id = $3`;

const OPEN_EVENTS = `
  SELECT e.event_id AS id, e.event, e.revision, extract(epoch FROM e.received_at)::float8 * 1000 AS "receivedMs"
  FROM turnwright.actor_events e WHERE ${THIS('e')} AND e.revision IS NOT NULL AND e.snapshot_digest IS NOT NULL ORDER BY e.revision`;
