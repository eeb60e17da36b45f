/** Reads everything that is stored of a session beside its records, in one statement: one moment of it. */
import type pg from 'pg';
import type { SessionRef, SessionState } from '../contract.ts';
import { withTenant } from '../pool.ts';

const OF_SESSION = 'WHERE x.tenant_id = s.tenant_id AND x.session_id = s.session_id';

/** A table's rows of the session as a JSON list; `members` alternates names and columns. */
function list(table: string, members: string, order: string): string {
  return `(SELECT coalesce(json_agg(json_build_object(${members}) ORDER BY ${order}), '[]'::json) FROM turnwright.${table} x ${OF_SESSION})`;
}

const inMs = (column: string): string => `extract(epoch FROM x.${column} - clock_timestamp())::float8 * 1000`;

const STATE = `
  SELECT json_build_object(
    'session', json_build_object('status', s.status, 'leg', s.leg, 'config', s.config, 'liveHead', s.live_head, 'nextSeq', s.next_seq,
      'lastDigest', encode(s.last_digest, 'hex'), 'nextTurn', s.next_turn, 'nextEvidence', s.next_evidence,
      'nextPresentation', s.next_presentation, 'nextItem', s.next_item, 'prefix', encode(s.prefix_digest, 'hex'), 'epoch', s.epoch, 'profileAt', s.profile_at,
      'parent', CASE WHEN s.parent_turn IS NOT NULL THEN json_build_object('session', s.parent_session, 'turn', s.parent_turn) END),
    'heads', ${list('heads', `'head', x.head_id, 'from', x.from_head, 'atSeq', x.at_seq, 'openTurn', x.open_turn, 'reset', x.reset_seq, 'clearedSeq', x.cleared_seq, 'firstTurn', x.first_turn`, 'x.head_id')},
    'turns', ${list('turns', `'turn', x.turn_id, 'head', x.head_id, 'number', x.number, 'status', x.status, 'priority', x.priority, 'outcome', x.outcome, 'reason', x.reason, 'steps', x.steps, 'closedSeq', x.closed_seq, 'fullBytes', x.full_bytes, 'cardBytes', x.card_bytes, 'firstItem', x.first_item, 'lastItem', x.last_item, 'terms', translate(encode(x.terms, 'base64'), E'\\n', '')`, 'x.number, x.turn_id')},
    'keys', ${list('accepted_keys', `'key', x.key, 'turn', x.turn_id, 'inputDigest', encode(x.input_digest, 'hex')`, `x.key COLLATE "C"`)},
    'evidence', ${list('evidence', `'ordinal', x.ordinal, 'seq', x.seq, 'turn', x.turn_id, 'tool', x.tool`, 'x.ordinal')},
    'packets', ${list('packets', `'head', x.head_id, 'from', x.from_turn, 'to', x.to_turn, 'seq', x.seq, 'bytes', x.bytes, 'quality', x.quality`, 'x.head_id, x.from_turn, x.to_turn')},
    'evictions', ${list('evictions', `'head', x.head_id, 'seq', x.seq, 'from', x.from_item, 'to', x.to_item, 'note', x.note, 'author', x.author`, 'x.head_id, x.seq')},
    'segments', ${list('segments', `'head', x.head_id, 'ordinal', x.ordinal, 'fromSession', x.from_session, 'fromHead', x.from_head, 'afterSeq', x.after_seq, 'toSeq', x.to_seq, 'digest', encode(x.digest, 'hex'), 'firstTurn', x.first_turn, 'lastTurn', x.last_turn, 'firstItem', x.first_item, 'lastItem', x.last_item`, 'x.head_id, x.ordinal')},
    'edges', ${list('edges', `'turn', x.turn_id, 'ordinal', x.ordinal, 'kind', x.kind, 'to', x.target, 'provenance', x.provenance, 'retracted', x.retracted`, 'x.turn_id, x.ordinal')},
    'presentations', ${list('presentations', `'ordinal', x.ordinal, 'seq', x.seq, 'turn', x.turn_id, 'type', x.type`, 'x.ordinal')},
    'vectors', ${list('turn_vectors', `'turn', x.turn_id, 'model', x.model, 'vector', translate(encode(x.vector, 'base64'), E'\\n', ''), 'seq', x.seq`, 'x.seq')},
    'prefixes', ${list('prefixes', `'digest', encode(x.digest, 'hex'), 'seq', x.seq`, 'x.seq')},
    'usage', ${list(
      'usage',
      `'day', x.day, 'leg', x.leg, 'purpose', x.purpose, 'calls', x.calls, 'inputTokens', x.input_tokens, 'cacheReadTokens', x.cache_read_tokens, 'cacheWriteTokens', x.cache_write_tokens, 'outputTokens', x.output_tokens, 'reasoningTokens', x.reasoning_tokens, 'microUsd', x.micro_usd, 'priced', x.priced, 'unpriced', x.unpriced, 'looked', x.looked, 'cached', x.cached, 'processLooked', x.process_looked, 'processHits', x.process_hits, 'storeLooked', x.store_looked, 'storeHits', x.store_hits`,
      'x.day, x.leg COLLATE "C", x.purpose COLLATE "C"',
    )},
    'actors', ${list('actors', `'actor', x.actor_id, 'turn', x.turn_id, 'machine', x.machine, 'version', x.version, 'revision', x.revision, 'snapshot', x.snapshot, 'status', x.status, 'parkedReason', x.parked_reason, 'compacted', x.compacted`, 'x.actor_id')},
    'events', ${list('actor_events', `'actor', x.actor_id, 'id', x.event_id, 'event', x.event, 'revision', x.revision, 'digest', encode(x.snapshot_digest, 'hex'), 'receivedInMs', ${inMs('received_at')}`, 'x.actor_id, x.revision, x.snapshot_digest IS NULL, x.received_at, x.event_id')},
    'calls', ${list('side_calls', `'actor', x.actor_id, 'child', x.child_id, 'src', x.src, 'pool', x.pool, 'input', x.input, 'status', x.status, 'priority', x.priority, 'attempt', x.attempt, 'fence', x.fence, 'token', x.token, 'dispatch', x.dispatch, 'started', x.started, 'worker', x.worker_id`, `x.actor_id, x.child_id COLLATE "C"`)},
    'timers', ${list('timers', `'actor', x.actor_id, 'timer', x.timer_id, 'event', x.event, 'revision', x.revision, 'dueInMs', ${inMs('due_at')}`, `x.actor_id, x.timer_id COLLATE "C"`)},
    'outbox', ${list('outbox', `'actor', x.actor_id, 'child', x.child_id, 'dispatch', x.dispatch, 'pool', x.pool, 'priority', x.priority, 'dueInMs', ${inMs('due_at')}, 'admitted', x.admitted_at IS NOT NULL`, `x.actor_id, x.child_id COLLATE "C", x.dispatch`)}
  ) AS state
  FROM turnwright.sessions s WHERE s.tenant_id = $1 AND s.session_id = $2`;

export async function readSessionState(pool: pg.Pool, ref: SessionRef): Promise<SessionState | null> {
  return withTenant(pool, ref.tenant, async (client) => {
    const read = await client.query<{ readonly state: SessionState }>(STATE, [ref.tenant, ref.session]);
    return read.rows[0]?.state ?? null;
  });
}
