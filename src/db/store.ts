/** The Postgres store: each method one named statement, so the plan is made once a connection. */
import type pg from 'pg';
import type { RecordKind } from '../ledger/kinds.ts';
import type { StoredRecord } from '../ledger/verify.ts';
import { commitJson, INLINE_BODY_BYTES } from './commit.ts';
import type {
  AcceptState,
  ActorRef,
  ApplyResult,
  Claim,
  ClaimName,
  ClosingRow,
  Commit,
  ForkSource,
  HistoryTurn,
  IndexedTo,
  IndexedTurnRow,
  KnownClaim,
  KnownTurn,
  LineageTurn,
  Loaded,
  PendingEvent,
  RawRecord,
  RecordRun,
  SessionRef,
  SessionState,
  Store,
  TenantTurn,
  ToPlan,
  TranscriptTurn,
} from './contract.ts';
import { addressOf, databaseError, errorCode, run, withTenant } from './pool.ts';
import { readClosings } from './queries/read-closings.ts';
import { readForkSource } from './queries/read-fork-source.ts';
import {
  findInLineage,
  type RecordPlace,
  readEvidenceIds,
  readTurnAt,
  readTurnsBack,
} from './queries/read-lineage.ts';
import { readSessionState } from './queries/read-session-state.ts';
import { readTenantTurns } from './queries/read-tenant-turns.ts';
import { readTranscriptTurns, readTurnRows } from './queries/read-transcript.ts';
import { readRecords } from './read-records.ts';

const REFUSALS: Readonly<Record<string, ApplyResult>> = {
  TW001: 'conflict',
  TW002: 'superseded',
  TW003: 'duplicate',
};
/** Two acceptances or closes that race for one number: the loser loads again. */
const RACED_CONSTRAINTS = new Set(['turns_number', 'accepted_keys_tenant_id_session_id_key_pk']);

type Scalar<T> = { readonly value: T };

export class PostgresStore implements Store {
  readonly address: Store['address'];
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.address = addressOf(pool);
    this.#pool = pool;
  }

  claim(
    ref: ActorRef & { readonly child: string; readonly dispatch: number },
    worker: string,
    token: number,
    indexed: IndexedTo,
  ): Promise<Claim | null> {
    const { tenant, session, actor, child, dispatch } = ref;
    const values = [tenant, session, actor, child, dispatch, worker, token, indexed.turn, indexed.recordSeq];
    const text = 'SELECT turnwright.claim($1, $2, $3, $4, $5, $6, $7, $8, $9) AS value';
    return this.#scalar('claim', text, values);
  }

  claimKnown(
    ref: ActorRef & { readonly child: string; readonly dispatch: number },
    worker: string,
    token: number,
    { nextSeq, head, toPlan }: KnownTurn,
    { turn, recordSeq }: IndexedTo,
  ): Promise<KnownClaim | null> {
    const { tenant, session, actor, child, dispatch } = ref;
    const claim = [tenant, session, actor, child, dispatch, worker, token];
    const values = [...claim, nextSeq, head, toPlan, turn, recordSeq];
    const text = 'SELECT turnwright.claim_known($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) AS value';
    return this.#scalar('claim_known', text, values);
  }

  load(ref: ActorRef): Promise<Loaded | null> {
    const values = [ref.tenant, ref.session, ref.actor];
    return this.#scalar('load', 'SELECT turnwright.load($1, $2, $3) AS value', values);
  }

  loadSession(ref: SessionRef, idempotencyKey: string | null): Promise<AcceptState | null> {
    const values = [ref.tenant, ref.session, idempotencyKey];
    return this.#scalar('load_session', 'SELECT turnwright.load_session($1, $2, $3) AS value', values);
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

  history(
    ref: SessionRef,
    head: string,
    { from, to }: { readonly from: number; readonly to: number },
    kinds: readonly RecordKind[],
  ): Promise<readonly HistoryTurn[]> {
    const text = 'SELECT turnwright.history($1, $2, $3, $4, $5, $6) AS value';
    return this.#scalar('history', text, [ref.tenant, ref.session, head, from, to, kinds]);
  }

  indexedTurns(
    ref: SessionRef,
    head: string,
    after: number,
    limit: number,
  ): Promise<readonly IndexedTurnRow[]> {
    const values = [ref.tenant, ref.session, head, after, limit];
    const text = 'SELECT turnwright.indexed_turns($1, $2, $3, $4, $5) AS value';
    return this.#scalar('indexed_turns', text, values);
  }

  toPlan(ref: SessionRef, head: string, { turn, recordSeq }: IndexedTo): Promise<ToPlan> {
    const text = 'SELECT turnwright.to_plan($1, $2, $3, $4, $5) AS value';
    return this.#inTenant(ref, text, [ref.tenant, ref.session, head, turn, recordSeq]);
  }

  closings(ref: SessionRef, head: string, from: number, to: number): Promise<readonly ClosingRow[]> {
    return readClosings(this.#pool, ref, head, from, to);
  }

  tenantTurns(ref: SessionRef, before: string | null, limit: number): Promise<readonly TenantTurn[]> {
    return readTenantTurns(this.#pool, ref, before, limit);
  }

  async presentation(ref: SessionRef, ordinal: number): Promise<string | null> {
    return this.#bodyOf(ref, await findInLineage(this.#pool, ref, 'presentations', ordinal));
  }

  async prefix(ref: SessionRef, digest: string): Promise<string | null> {
    const text = `SELECT seq::float8 AS value FROM turnwright.prefixes
      WHERE tenant_id = $1 AND session_id = $2 AND digest = decode($3, 'hex')`;
    return this.#bodyAt(ref, text, [ref.tenant, ref.session, digest]);
  }

  turnAt(ref: SessionRef, head: string, number: number): Promise<LineageTurn | null> {
    return readTurnAt(this.#pool, ref, head, number);
  }

  turnsBack(ref: SessionRef, head: string, back: number): Promise<readonly number[]> {
    return readTurnsBack(this.#pool, ref, head, back);
  }

  forkSource(ref: SessionRef, head: string | null): Promise<ForkSource | null> {
    return readForkSource(this.#pool, ref, head);
  }

  transcriptTurns(...asked: Parameters<Store['transcriptTurns']>): Promise<readonly TranscriptTurn[]> {
    return readTranscriptTurns(this.#pool, ...asked);
  }

  turnRows(ref: SessionRef, turn: string, toSeq: number | null): Promise<readonly StoredRecord[]> {
    return readTurnRows(this.#pool, ref, turn, toSeq);
  }

  async isActive(ref: SessionRef, machine: string): Promise<boolean> {
    const text = `SELECT EXISTS (SELECT FROM turnwright.actors
      WHERE tenant_id = $1 AND session_id = $2 AND machine = $3 AND status = 'active') AS value`;
    return this.#inTenant(ref, text, [ref.tenant, ref.session, machine]);
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
    const body = await this.#bodyOf(ref, await findInLineage(this.#pool, ref, 'evidence', ordinal));
    return body === null ? null : (JSON.parse(body) as { content: string }).content;
  }

  evidenceIds(ref: SessionRef, limit: number): Promise<readonly string[]> {
    return readEvidenceIds(this.#pool, ref, limit);
  }

  sessionState(ref: SessionRef): Promise<SessionState | null> {
    return readSessionState(this.#pool, ref);
  }

  records(ref: SessionRef, run?: RecordRun): AsyncIterable<StoredRecord> {
    return readRecords(this.#pool, ref, run);
  }

  #bodyOf({ tenant }: SessionRef, at: RecordPlace | null): Promise<string | null> {
    return at === null ? Promise.resolve(null) : this.recordBody({ tenant, session: at.session }, at.seq);
  }

  /** The body of the record whose number `text` selects. */
  async #bodyAt(ref: SessionRef, text: string, values: readonly unknown[]): Promise<string | null> {
    const seq: number | null = await this.#inTenant(ref, text, values);
    return seq === null ? null : this.recordBody(ref, seq);
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
