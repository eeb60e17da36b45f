/** The store in memory. Every body runs whole before its promise is given out, as a statement of Postgres does. */
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
} from '../../../src/db/contract.ts';
import { DRAIN_CHILD, evidenceId } from '../../../src/ledger/ids.ts';
import type { StoredRecord } from '../../../src/ledger/verify.ts';
import { RENDERED_KINDS } from '../../../src/ledger/view.ts';
import { Hop, type Notice, Refusal } from './apply.ts';
import { claimedCall, claimOf, packetsOfStep, weighedTurns } from './claims.ts';
import { pendingEvents, receive } from './events.ts';
import { type Call, dropHandOuts, wake } from './outbox.ts';
import { closedTurns, headOf, loadedOf, turnGist, turnRecords, turnsOfHead } from './reads.ts';
import type { CallRow, Tables, TurnRow } from './rows.ts';
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
  ): Promise<Claim | null> {
    const call = this.#hasty(() => this.#take(ref, worker, token));
    return call === null ? null : claimOf(this.#tables, call, this.#nowMs());
  }

  async claimKnown(
    ref: Call & { readonly dispatch: number },
    worker: string,
    token: number,
    { nextSeq, head, planTurn }: KnownTurn,
  ): Promise<KnownClaim | null> {
    const call = this.#hasty(() => this.#take(ref, worker, token));
    if (call === null) return null;
    const session = this.#tables.sessions.get(ref);
    if (session?.nextSeq !== nextSeq) return { changed: claimOf(this.#tables, call, this.#nowMs()) };
    return {
      call: claimedCall(call),
      watched: headOf(session, this.#nowMs()).watched,
      closed: planTurn === null ? null : weighedTurns(this.#tables, ref, head, planTurn),
      packets: call.src === 'step' ? packetsOfStep(this.#tables, ref, head) : null,
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

  async history(ref: SessionRef, head: string, from: number, to: number): Promise<readonly HistoryTurn[]> {
    return this.#turns(ref, head, from, to).map(({ number, turn }) => ({
      number,
      turn,
      records: turnRecords(this.#tables, ref, turn, RENDERED_KINDS),
    }));
  }

  async closedTurns(ref: SessionRef, head: string, before: number, limit: number) {
    return closedTurns(this.#tables, ref, { head, before, limit });
  }

  async sessionConfig(ref: SessionRef): Promise<string | null> {
    return this.#tables.sessions.get(ref)?.config ?? null;
  }

  async recordBody(ref: SessionRef, seq: number): Promise<string | null> {
    return this.#tables.records.get({ ...ref, seq })?.body ?? null;
  }

  async evidence(ref: SessionRef, ordinal: number): Promise<string | null> {
    const row = this.#tables.evidence.get({ ...ref, ordinal });
    const body = row === undefined ? null : await this.recordBody(ref, row.seq);
    return body === null ? null : (JSON.parse(body) as { readonly content: string }).content;
  }

  async findPacket(ref: SessionRef, head: string, from: number, to: number): Promise<StoredPacketRow | null> {
    const packet = this.#tables.packets.get({ ...ref, head, from, to });
    return packet === undefined ? null : { from, to, seq: packet.seq, bytes: packet.bytes };
  }

  async evidenceIds(ref: SessionRef, limit: number): Promise<readonly string[]> {
    const ordinals = this.#tables.evidence.of(ref).map(({ ordinal }) => ordinal);
    return ordinals
      .sort((a, b) => b - a)
      .slice(0, limit)
      .map(evidenceId);
  }

  async turnGists(ref: SessionRef, head: string, from: number, to: number): Promise<readonly TurnGist[]> {
    return this.#turns(ref, head, from, to).flatMap((turn) => turnGist(this.#tables, turn) ?? []);
  }

  async sessionState(ref: SessionRef): Promise<SessionState | null> {
    return stateOf(this.#tables, ref, this.#nowMs());
  }

  async *records(ref: SessionRef): AsyncGenerator<StoredRecord> {
    for (const { tenant: _, session: __, ...record } of this.#tables.records.of(ref)) yield record;
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

  #turns(ref: SessionRef, head: string, from: number, to: number): readonly TurnRow[] {
    return turnsOfHead(this.#tables, ref, head).filter(({ number }) => number >= from && number <= to);
  }
}
