/** The Postgres store: each method one named statement, so the plan is made once a connection. */
import type pg from 'pg';
import { evidenceId } from '../ledger/ids.ts';
import type { StoredRecord } from '../ledger/verify.ts';
import { RENDERED_KINDS } from '../ledger/view.ts';
import { commitJson, INLINE_BODY_BYTES } from './commit.ts';
import type {
  AcceptState,
  ActorRef,
  ApplyResult,
  Claim,
  ClaimName,
  Commit,
  HistoryTurn,
  KnownClaim,
  KnownTurn,
  Loaded,
  PendingEvent,
  RawRecord,
  SessionRef,
  SessionState,
  Store,
  StoredPacketRow,
  TurnGist,
} from './contract.ts';
import { databaseError, errorCode, run, withTenant } from './pool.ts';
import { readSessionState } from './queries/read-session-state.ts';
import { readRecords } from './read-records.ts';

const REFUSALS: Readonly<Record<string, ApplyResult>> = {
  TW001: 'conflict',
  TW002: 'superseded',
  TW003: 'duplicate',
};
/** Two acceptances or closes that race for one number: the loser loads again. */
const RACED_CONSTRAINTS = new Set(['turns_number', 'accepted_keys_tenant_id_session_id_key_pk']);

const TURN_GISTS = `
  SELECT t.number, t.outcome, coalesce(r.body, b.body) AS accepted, (
    SELECT coalesce(json_agg(json_build_object('ordinal', e.ordinal, 'tool', e.tool) ORDER BY e.ordinal), '[]'::json)
    FROM turnwright.evidence e WHERE e.tenant_id = t.tenant_id AND e.session_id = t.session_id AND e.turn_id = t.turn_id) AS evidence
  FROM turnwright.turns t
  JOIN turnwright.records r ON r.tenant_id = t.tenant_id AND r.session_id = t.session_id AND r.turn_id = t.turn_id AND r.kind = 'turn-accepted'
  LEFT JOIN turnwright.bodies b ON b.tenant_id = r.tenant_id AND b.session_id = r.session_id AND b.digest = r.body_digest
  WHERE t.tenant_id = $1 AND t.session_id = $2 AND t.head_id = $3 AND t.number BETWEEN $4 AND $5 ORDER BY t.number`;

type Scalar<T> = { readonly value: T };

export class PostgresStore implements Store {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  claim(
    ref: ActorRef & { readonly child: string; readonly dispatch: number },
    worker: string,
    token: number,
  ): Promise<Claim | null> {
    const values = [ref.tenant, ref.session, ref.actor, ref.child, ref.dispatch, worker, token];
    return this.#scalar('claim', 'SELECT turnwright.claim($1, $2, $3, $4, $5, $6, $7) AS value', values);
  }

  claimKnown(
    ref: ActorRef & { readonly child: string; readonly dispatch: number },
    worker: string,
    token: number,
    { nextSeq, head, planTurn }: KnownTurn,
  ): Promise<KnownClaim | null> {
    const { tenant, session, actor, child, dispatch } = ref;
    const values = [tenant, session, actor, child, dispatch, worker, token, nextSeq, head, planTurn];
    const text = 'SELECT turnwright.claim_known($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) AS value';
    return this.#scalar('claim_known', text, values);
  }

  load(ref: ActorRef): Promise<Loaded | null> {
    return this.#scalar('load', 'SELECT turnwright.load($1, $2, $3) AS value', [
      ref.tenant,
      ref.session,
      ref.actor,
    ]);
  }

  loadSession(ref: SessionRef, idempotencyKey: string | null): Promise<AcceptState | null> {
    return this.#scalar('load_session', 'SELECT turnwright.load_session($1, $2, $3) AS value', [
      ref.tenant,
      ref.session,
      idempotencyKey,
    ]);
  }

  async apply(commit: Commit): Promise<ApplyResult> {
    const large = commit.records.filter((record) => record.bytes > INLINE_BODY_BYTES);
    if (large.length > 0) await this.#storeBodies(commit, large);
    try {
      await this.#pool.query({
        name: 'apply',
        text: 'SELECT turnwright.apply($1)',
        values: [commitJson(commit)],
      });
      return 'applied';
    } catch (error) {
      const refusal = REFUSALS[errorCode(error) ?? ''] ?? raced(error);
      if (refusal !== null) return refusal;
      throw databaseError(error);
    }
  }

  drain(ref: ActorRef, dispatch: number): Promise<readonly PendingEvent[]> {
    return this.#scalar('drain', 'SELECT turnwright.drain($1, $2, $3, $4) AS value', [
      ref.tenant,
      ref.session,
      ref.actor,
      dispatch,
    ]);
  }

  submitEvent(ref: ActorRef, id: string, event: string): Promise<number | null> {
    const values = [ref.tenant, ref.session, ref.actor, id, event];
    return this.#scalar(
      'submit_event',
      'SELECT turnwright.submit_event($1, $2, $3, $4, $5) AS value',
      values,
    );
  }

  async markStarted(
    ref: ActorRef & { readonly child: string },
    { fence, token }: ClaimName,
  ): Promise<boolean> {
    return withTenant(this.#pool, ref.tenant, async (client) => {
      const result = await client.query(
        `UPDATE turnwright.side_calls SET started = true WHERE tenant_id = $1 AND session_id = $2 AND actor_id = $3
          AND child_id = $4 AND fence = $5 AND token = $6 AND status = 'running' AND NOT started`,
        [ref.tenant, ref.session, ref.actor, ref.child, fence, token],
      );
      return result.rowCount === 1;
    });
  }

  turnRecords(ref: SessionRef, turn: string): Promise<readonly RawRecord[]> {
    return this.#inTenant(ref, 'SELECT turnwright.turn_records($1, $2, $3, NULL) AS value', [
      ref.tenant,
      ref.session,
      turn,
    ]);
  }

  history(ref: SessionRef, head: string, from: number, to: number): Promise<readonly HistoryTurn[]> {
    return this.#scalar('history', 'SELECT turnwright.history($1, $2, $3, $4, $5, $6) AS value', [
      ref.tenant,
      ref.session,
      head,
      from,
      to,
      RENDERED_KINDS,
    ]);
  }

  closedTurns(
    ref: SessionRef,
    head: string,
    before: number,
    limit: number,
  ): Promise<readonly (readonly [number, number])[]> {
    const values = [ref.tenant, ref.session, head, before, limit];
    return this.#scalar(
      'closed_turns',
      'SELECT turnwright.closed_turns($1, $2, $3, $4, $5) AS value',
      values,
    );
  }

  sessionConfig(ref: SessionRef): Promise<string | null> {
    const text = 'SELECT config AS value FROM turnwright.sessions WHERE tenant_id = $1 AND session_id = $2';
    return this.#inTenant(ref, text, [ref.tenant, ref.session]);
  }

  recordBody(ref: SessionRef, seq: number): Promise<string | null> {
    const text = `SELECT coalesce(r.body, b.body) AS value FROM turnwright.records r
      LEFT JOIN turnwright.bodies b ON b.tenant_id = r.tenant_id AND b.session_id = r.session_id AND b.digest = r.body_digest
      WHERE r.tenant_id = $1 AND r.session_id = $2 AND r.seq = $3`;
    return this.#inTenant(ref, text, [ref.tenant, ref.session, seq]);
  }

  async evidence(ref: SessionRef, ordinal: number): Promise<string | null> {
    const text =
      'SELECT seq::float8 AS value FROM turnwright.evidence WHERE tenant_id = $1 AND session_id = $2 AND ordinal = $3';
    const seq: number | null = await this.#inTenant(ref, text, [ref.tenant, ref.session, ordinal]);
    const body = seq === null ? null : await this.recordBody(ref, seq);
    return body === null ? null : (JSON.parse(body) as { content: string }).content;
  }

  async findPacket(ref: SessionRef, head: string, from: number, to: number): Promise<StoredPacketRow | null> {
    const text = `SELECT json_build_object('from', from_turn, 'to', to_turn, 'seq', seq, 'bytes', bytes) AS value FROM turnwright.packets
      WHERE tenant_id = $1 AND session_id = $2 AND head_id = $3 AND from_turn = $4 AND to_turn = $5`;
    return this.#inTenant(ref, text, [ref.tenant, ref.session, head, from, to]);
  }

  async evidenceIds(ref: SessionRef, limit: number): Promise<readonly string[]> {
    return withTenant(this.#pool, ref.tenant, async (client) => {
      const text =
        'SELECT ordinal FROM turnwright.evidence WHERE tenant_id = $1 AND session_id = $2 ORDER BY ordinal DESC LIMIT $3';
      const result = await client.query<{ readonly ordinal: number }>(text, [ref.tenant, ref.session, limit]);
      return result.rows.map((row) => evidenceId(row.ordinal));
    });
  }

  async turnGists(ref: SessionRef, head: string, from: number, to: number): Promise<readonly TurnGist[]> {
    return withTenant(this.#pool, ref.tenant, async (client) => {
      const result = await client.query<TurnGist>(TURN_GISTS, [ref.tenant, ref.session, head, from, to]);
      return result.rows;
    });
  }

  sessionState(ref: SessionRef): Promise<SessionState | null> {
    return readSessionState(this.#pool, ref);
  }

  records(ref: SessionRef): AsyncIterable<StoredRecord> {
    return readRecords(this.#pool, ref);
  }

  async #storeBodies(ref: SessionRef, large: Commit['records']): Promise<void> {
    await withTenant(this.#pool, ref.tenant, async (client) => {
      for (const record of large) {
        await client.query(
          `INSERT INTO turnwright.bodies (tenant_id, session_id, digest, body) VALUES ($1, $2, decode($3, 'hex'), $4) ON CONFLICT DO NOTHING`,
          [ref.tenant, ref.session, record.bodyDigest, record.body],
        );
      }
    });
  }

  async #scalar<T>(name: string, text: string, values: readonly unknown[]): Promise<T> {
    const rows = await run<Scalar<T>>(this.#pool, { name, text, values });
    return rows[0]?.value as T;
  }

  async #inTenant<T>(ref: SessionRef, text: string, values: readonly unknown[]): Promise<T> {
    return withTenant(this.#pool, ref.tenant, async (client) => {
      const result = await client.query<Scalar<T>>(text, [...values]);
      return (result.rows[0]?.value ?? null) as T;
    });
  }
}

function raced(error: unknown): ApplyResult | null {
  if (errorCode(error) !== '23505') return null;
  const constraint = (error as { constraint?: string }).constraint ?? '';
  return RACED_CONSTRAINTS.has(constraint) ? 'conflict' : null;
}
