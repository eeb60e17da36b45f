/** What a fork of a head would go on from, in one statement: one moment of it. */
import type pg from 'pg';
import type { ForkSource, SessionRef } from '../contract.ts';
import { withTenant } from '../pool.ts';

const OF_HEAD = 'x.tenant_id = s.tenant_id AND x.session_id = s.session_id AND x.head_id = h.head_id';
const RANGE = (from: string, to: string): string =>
  `CASE WHEN ${from} IS NOT NULL THEN json_build_object('from', ${from}, 'to', ${to}) END`;

const SEGMENTS = `(SELECT coalesce(json_agg(json_build_object('head', x.head_id, 'ordinal', x.ordinal, 'fromSession', x.from_session,
      'fromHead', x.from_head, 'afterSeq', x.after_seq, 'toSeq', x.to_seq, 'digest', encode(x.digest, 'hex'), 'firstTurn', x.first_turn,
      'lastTurn', x.last_turn, 'firstItem', x.first_item, 'lastItem', x.last_item) ORDER BY x.ordinal), '[]'::json)
    FROM turnwright.segments x WHERE ${OF_HEAD})`;

/** Turns that began and closed have items in their row; those of the open one stand in its records alone. */
const SOURCE = `
  SELECT json_build_object(
    'session', json_build_object(
      'tenant', s.tenant_id, 'session', s.session_id, 'status', s.status, 'leg', s.leg, 'liveHead', s.live_head,
      'nextSeq', s.next_seq, 'lastDigest', encode(s.last_digest, 'hex'), 'nextTurn', s.next_turn, 'nextEvidence', s.next_evidence,
      'nextPresentation', s.next_presentation, 'nextItem', s.next_item, 'prefix', encode(s.prefix_digest, 'hex'), 'epoch', s.epoch,
      'profileAt', s.profile_at, 'watched', coalesce(s.watched_until > now(), false)),
    'config', s.config, 'head', h.head_id, 'segments', ${SEGMENTS}, 'clearedSeq', h.cleared_seq, 'firstTurn', h.first_turn,
    'turns', ${RANGE('began.first_turn', 'began.last_turn')},
    'items', ${RANGE('least(began.first_item, running.first_item)', 'greatest(began.last_item, running.last_item)')}) AS source
  FROM turnwright.sessions s
  JOIN turnwright.heads h ON h.tenant_id = s.tenant_id AND h.session_id = s.session_id AND h.head_id = coalesce($3, s.live_head)
  CROSS JOIN LATERAL (
    SELECT min(x.number) AS first_turn, max(x.number) AS last_turn, min(x.first_item) AS first_item, max(x.last_item) AS last_item
    FROM turnwright.turns x WHERE ${OF_HEAD} AND x.number >= h.first_turn AND (x.status = 'running' OR x.first_item IS NOT NULL)) began
  CROSS JOIN LATERAL (
    SELECT min(o.item) AS first_item, max(o.item) AS last_item FROM (
      SELECT (coalesce(r.body, b.body)::json ->> 'item')::integer AS item FROM turnwright.records r
      LEFT JOIN turnwright.bodies b ON b.tenant_id = r.tenant_id AND b.session_id = r.session_id AND b.digest = r.body_digest AND r.body IS NULL
      WHERE r.tenant_id = s.tenant_id AND r.session_id = s.session_id AND r.turn_id = h.open_turn
        AND r.kind IN ('turn-context', 'assistant-message')) o) running
  WHERE s.tenant_id = $1 AND s.session_id = $2`;

export async function readForkSource(
  pool: pg.Pool,
  ref: SessionRef,
  head: string | null,
): Promise<ForkSource | null> {
  return withTenant(pool, ref.tenant, async (client) => {
    const values = [ref.tenant, ref.session, head];
    const read = await client.query<{ readonly source: ForkSource }>(SOURCE, values);
    return read.rows[0]?.source ?? null;
  });
}
