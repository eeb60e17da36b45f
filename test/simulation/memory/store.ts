/** The store in memory. Every body runs whole before its promise is given out, as a statement of Postgres does. */
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
} from '../../../src/db/contract.ts';
import { DRAIN_CHILD, evidenceId } from '../../../src/ledger/ids.ts';
import type { StoredRecord } from '../../../src/ledger/verify.ts';
import { Hop, type Notice, Refusal } from './apply.ts';
import { claimedCall, claimOf } from './claims.ts';
import { closings, indexedTurns, tenantTurns, toPlan, transcriptTurns } from './closed-turns.ts';
import { pendingEvents, receive } from './events.ts';
import { forkSource, type LineageRow, lineageOf, turnsOfLineage } from './lineage.ts';
import { type Call, dropHandOuts, wake } from './outbox.ts';
import { headOf, loadedOf, turnRecords } from './reads.ts';
import type { CallRow, Tables } from './rows.ts';
import { stateOf } from './state.ts';

export interface MemoryStoreOptions {
  readonly tables: Tables;
  readonly nowMs: () => number;
  readonly notify: (notice: Notice) => void;
}

export class MemoryStore implements Store {
  readonly #tables: Tables;
  readonly #nowMs: () => number;
  readonly #notify: (notice: Notice) => void;

  constructor({ tables, nowMs, notify }: MemoryStoreOptions) {
    this.#tables = tables;
    this.#nowMs = nowMs;
    this.#notify = notify;
  }

  async claim(
    ref: Call & { readonly dispatch: number },
    worker: string,
    token: number,
    indexed: IndexedTo,
  ): Promise<Claim | null> {
    const call = this.#hasty(() => this.#take(ref, worker, token));
    return call === null ? null : claimOf(this.#tables, call, indexed, this.#nowMs());
  }

  async claimKnown(
    ref: Call & { readonly dispatch: number },
    worker: string,
    token: number,
    known: KnownTurn,
    indexed: IndexedTo,
  ): Promise<KnownClaim | null> {
    const call = this.#hasty(() => this.#take(ref, worker, token));
    if (call === null) return null;
    const session = this.#tables.sessions.get(ref);
    if (session?.nextSeq !== known.nextSeq)
      return { changed: claimOf(this.#tables, call, indexed, this.#nowMs()) };
    return {
      call: claimedCall(call),
      watched: headOf(session, this.#nowMs()).watched,
      toPlan: known.toPlan ? toPlan(this.#tables, ref, known.head, indexed) : null,
    };
  }

  async load(ref: ActorRef): Promise<Loaded | null> {
    return loadedOf(this.#tables, ref, this.#nowMs());
  }

  async loadSession(ref: SessionRef, idempotencyKey: string | null): Promise<AcceptState | null> {
    const session = this.#tables.sessions.get(ref);
    if (session === undefined) return null;
    const same = idempotencyKey === null ? undefined : this.#tables.keys.get({ ...ref, key: idempotencyKey });
    return {
      session: headOf(session, this.#nowMs()),
      openTurn: this.#tables.heads.get({ ...ref, head: session.liveHead })?.openTurn ?? null,
      sameKey: same === undefined ? null : { turn: same.turn, inputDigest: same.inputDigest },
    };
  }

  async apply(commit: Commit): Promise<ApplyResult> {
    try {
      const hop = new Hop(this.#tables, commit, this.#nowMs());
      for (const notice of this.#tables.journal.transaction(() => hop.apply())) this.#notify(notice);
      return 'applied';
    } catch (error) {
      if (error instanceof Refusal) return error.result;
      throw error;
    }
  }

  async drain(ref: ActorRef, dispatch: number): Promise<readonly PendingEvent[]> {
    this.#hasty(() => dropHandOuts(this.#tables, { ...ref, child: DRAIN_CHILD }, dispatch));
    return pendingEvents(this.#tables, ref);
  }

  async submitEvent(ref: ActorRef, id: string, event: string): Promise<number | null> {
    const actor = this.#tables.actors.get(ref);
    const nowMs = this.#nowMs();
    if (actor?.status !== 'active') return null;
    return this.#tables.journal.transaction(() => {
      if (!receive(this.#tables, { ...ref, id, event, revision: null, digest: null }, nowMs)) return null;
      return wake(this.#tables, actor, { dueMs: nowMs, admittedMs: nowMs });
    });
  }

  async markStarted(ref: Call, { fence, token }: ClaimName): Promise<boolean> {
    const call = this.#tables.calls.get(ref);
    if (call?.fence !== fence || call.token !== token || call.status !== 'running' || call.started)
      return false;
    this.#tables.journal.transaction(() => this.#tables.calls.put({ ...call, started: true }));
    return true;
  }

  async turnRecords(ref: SessionRef, turn: string): Promise<readonly RawRecord[]> {
    return turnRecords(this.#tables, ref, turn);
  }

  async history(
    ref: SessionRef,
    head: string,
    { from, to }: { readonly from: number; readonly to: number },
    kinds: readonly string[],
  ): Promise<readonly HistoryTurn[]> {
    return this.#turns(ref, head, from, to).map((row) => ({
      session: row.session,
      number: row.number,
      turn: row.turn,
      records: turnRecords(this.#tables, row, row.turn, kinds).filter(({ seq }) => seq <= row.toSeq),
    }));
  }

  async indexedTurns(
    ref: SessionRef,
    head: string,
    after: number,
    limit: number,
  ): Promise<readonly IndexedTurnRow[]> {
    return indexedTurns(this.#tables, ref, { head, after, limit });
  }

  async toPlan(ref: SessionRef, head: string, indexed: IndexedTo): Promise<ToPlan> {
    return toPlan(this.#tables, ref, head, indexed);
  }

  async closings(ref: SessionRef, head: string, from: number, to: number): Promise<readonly ClosingRow[]> {
    return closings(this.#tables, ref, { head, from, to });
  }

  async tenantTurns(ref: SessionRef, before: string | null, limit: number): Promise<readonly TenantTurn[]> {
    return tenantTurns(this.#tables, ref, before, limit);
  }

  async presentation(ref: SessionRef, ordinal: number): Promise<string | null> {
    const row = this.#inLineage(ref, this.#tables.presentations).find((one) => one.ordinal === ordinal);
    return row === undefined ? null : this.#bodyOf(row, row);
  }

  async prefix(ref: SessionRef, digest: string): Promise<string | null> {
    return this.#bodyOf(ref, this.#tables.prefixes.get({ ...ref, digest }));
  }

  async turnAt(ref: SessionRef, head: string, number: number): Promise<LineageTurn | null> {
    const [row] = this.#turns(ref, head, number, number);
    return row === undefined ? null : { session: row.session, turn: row.turn, number };
  }

  async forkSource(ref: SessionRef, head: string | null): Promise<ForkSource | null> {
    return forkSource(this.#tables, ref, head, this.#nowMs());
  }

  async turnsBack(ref: SessionRef, head: string, back: number): Promise<readonly number[]> {
    const turns = transcriptTurns(this.#tables, ref, head, null).map(({ number }) => number);
    return turns.toReversed().slice(back - 1, back + 1);
  }

  async transcriptTurns(
    ref: SessionRef,
    head: string,
    items: { readonly from: number; readonly to: number } | null,
  ): Promise<readonly TranscriptTurn[]> {
    return transcriptTurns(this.#tables, ref, head, items);
  }

  async turnRows(ref: SessionRef, turn: string, toSeq: number | null): Promise<readonly StoredRecord[]> {
    return this.#tables.records
      .of(ref)
      .filter((row) => row.turnId === turn && (toSeq === null || row.seq <= toSeq))
      .sort((a, b) => a.seq - b.seq)
      .map(({ tenant: _, session: __, atMs: ___, ...row }) => row);
  }

  async isActive(ref: SessionRef, machine: string): Promise<boolean> {
    return this.#tables.actors.of(ref).some((row) => row.machine === machine && row.status === 'active');
  }

  async sessionConfig(ref: SessionRef): Promise<string | null> {
    return this.#tables.sessions.get(ref)?.config ?? null;
  }

  async recordBody(ref: SessionRef, seq: number): Promise<string | null> {
    return this.#bodyOf(ref, { seq });
  }

  async evidence(ref: SessionRef, ordinal: number): Promise<string | null> {
    const row = this.#inLineage(ref, this.#tables.evidence).find((one) => one.ordinal === ordinal);
    const body = row === undefined ? null : this.#bodyOf(row, row);
    return body === null ? null : (JSON.parse(body) as { readonly content: string }).content;
  }

  async evidenceIds(ref: SessionRef, limit: number): Promise<readonly string[]> {
    const ordinals = this.#inLineage(ref, this.#tables.evidence).map(({ ordinal }) => ordinal);
    return ordinals
      .sort((a, b) => b - a)
      .slice(0, limit)
      .map(evidenceId);
  }

  async sessionState(ref: SessionRef): Promise<SessionState | null> {
    return stateOf(this.#tables, ref, this.#nowMs());
  }

  async *records(ref: SessionRef, { after, to = Infinity }: RecordRun = { after: 0 }) {
    for (const { tenant: _, session: __, atMs: ___, ...record } of this.#tables.records.of(ref))
      if (record.seq > after && record.seq <= to) yield record satisfies StoredRecord;
  }

  #hasty<T>(work: () => T): T {
    return this.#tables.journal.hasty(this.#nowMs(), work);
  }

  #take(ref: Call & { readonly dispatch: number }, worker: string, token: number): CallRow | null {
    dropHandOuts(this.#tables, ref, ref.dispatch);
    const call = this.#tables.calls.get(ref);
    if (call?.status !== 'queued' || call.dispatch !== ref.dispatch) return null;
    const claimed = { worker, token, fence: call.fence + 1, claimedMs: this.#nowMs() };
    this.#tables.calls.put({ ...call, ...claimed, status: 'running' });
    return { ...call, ...claimed, status: 'running' };
  }

  #bodyOf(ref: SessionRef, row: { readonly seq: number } | undefined): string | null {
    return row === undefined ? null : (this.#tables.records.get({ ...ref, seq: row.seq })?.body ?? null);
  }

  /** Rows of the lineage of the live head. */
  #inLineage<Row extends SessionRef & { readonly seq: number; readonly turn: string }>(
    ref: SessionRef,
    table: { of(ref: SessionRef): readonly Row[] },
  ): readonly Row[] {
    const live = this.#tables.sessions.get(ref)?.liveHead ?? '';
    return lineageOf(this.#tables, ref, live).flatMap(({ session, head, afterSeq, toSeq }) =>
      table
        .of({ ...ref, session })
        .filter(({ seq }) => seq > afterSeq && seq <= toSeq)
        .filter(({ turn }) => this.#tables.turns.get({ ...ref, session, turn })?.head === head),
    );
  }

  #turns(ref: SessionRef, head: string, from: number, to: number): readonly LineageRow[] {
    return turnsOfLineage(this.#tables, ref, head).filter(({ number }) => number >= from && number <= to);
  }
}
