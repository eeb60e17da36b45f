/**
 * One hop's commit, in the order in which `turnwright.apply` (drizzle/0002_hop.sql) goes about it: of several reasons
 * to refuse a commit both name the same one. Runs inside a transaction; a refusal throws, which takes all back.
 */
import type { ApplyResult, ClaimName, Commit, SessionRef } from '../../../src/db/contract.ts';
import { addCounts, NO_USAGE } from '../../../src/ledger/usage.ts';
import { receive } from './events.ts';
import { type Call, dropHandOuts, handOut } from './outbox.ts';
import { turnsOfHead } from './reads.ts';
import type { CallRow, SessionRow, Tables } from './rows.ts';

/** What only the closing of a turn says of it. */
const NOT_CLOSED = {
  closedSeq: null,
  fullBytes: null,
  cardBytes: null,
  firstItem: null,
  lastItem: null,
  terms: null,
} as const;

export interface Notice {
  readonly channel: string;
  readonly payload: string;
}

export class Refusal extends Error {
  readonly result: Exclude<ApplyResult, 'applied'>;

  constructor(result: Exclude<ApplyResult, 'applied'>, reason: string) {
    super(reason);
    this.result = result;
  }
}

export class Hop {
  readonly #tables: Tables;
  readonly #commit: Commit;
  readonly #ref: SessionRef;
  readonly #nowMs: number;
  readonly #notices: Notice[] = [];

  constructor(tables: Tables, commit: Commit, nowMs: number) {
    this.#tables = tables;
    this.#commit = commit;
    this.#ref = { tenant: commit.tenant, session: commit.session };
    this.#nowMs = nowMs;
  }

  /** Returns what listeners are told once the commit stands. */
  apply(): readonly Notice[] {
    this.#create();
    this.#makeHead();
    const session = this.#advanceSession();
    this.#settle();
    this.#acceptTurns();
    this.#changeActors();
    this.#takeEvents();
    for (const record of this.#commit.records)
      this.#tables.records.insert({ ...this.#ref, ...record, atMs: this.#nowMs });
    this.#openCalls();
    this.#handOut();
    this.#cancel();
    this.#setTimers();
    this.#changeTurns();
    this.#project();
    if ((session.watchedUntilMs ?? 0) > this.#nowMs)
      this.#notices.push({ channel: 'turnwright_session', payload: session.session });
    return this.#notices;
  }

  #create(): void {
    const { create, baseSeq, lastDigest } = this.#commit;
    if (create === undefined) return;
    const { leg, config, head, firstTurn = 1, parent = null } = create;
    const numbers = {
      nextSeq: baseSeq,
      lastDigest,
      nextTurn: 1,
      nextEvidence: 1,
      nextPresentation: 1,
      nextItem: 1,
      epoch: 0,
      profileAt: 0,
    };
    this.#tables.sessions.insert({
      ...this.#ref,
      ...numbers,
      status: 'open',
      leg,
      config,
      liveHead: head,
      prefix: null,
      parent,
      watchedUntilMs: null,
    });
    const fresh = { from: null, atSeq: 0, openTurn: null, reset: null, clearedSeq: 0, firstTurn };
    this.#tables.heads.insert({ ...this.#ref, head, ...fresh });
  }

  #makeHead(): void {
    const { newHead } = this.#commit;
    if (newHead === undefined) return;
    const fresh = { openTurn: null, reset: null, clearedSeq: 0 };
    this.#tables.heads.insert({ ...this.#ref, ...newHead, ...fresh });
  }

  #advanceSession(): SessionRow {
    const {
      baseSeq,
      nextSeq,
      lastDigest,
      nextTurn,
      nextEvidence,
      nextPresentation,
      nextItem,
      prefix,
      epoch,
      profileAt,
    } = this.#commit;
    const session = this.#tables.sessions.get(this.#ref);
    if (session?.nextSeq !== baseSeq) throw new Refusal('conflict', 'the session moved on');
    const { status = session.status, liveHead = session.liveHead } = this.#commit;
    const numbers = {
      nextSeq,
      lastDigest,
      nextTurn,
      nextEvidence,
      nextPresentation,
      nextItem,
      prefix,
      epoch,
      profileAt,
    };
    this.#tables.sessions.put({ ...session, status, liveHead, ...numbers });
    return session;
  }

  #settle(): void {
    const { settle } = this.#commit;
    if (settle === undefined) return;
    const { actor, child, fence, token, status, attemptBy, dispatchBy, error } = settle;
    const call = this.#tables.calls.get({ ...this.#ref, actor, child });
    if (call?.fence !== fence || call.token !== token || call.status !== 'running')
      throw notRunning(call, { fence, token });
    this.#tables.calls.put({
      ...call,
      status,
      worker: null,
      attempt: call.attempt + attemptBy,
      dispatch: call.dispatch + dispatchBy,
      lastError: error ?? call.lastError,
    });
  }

  #acceptTurns(): void {
    const { turns, keys } = this.#tables;
    for (const turn of this.#commit.turns) {
      const fresh = { status: 'accepted', outcome: null, reason: null, steps: 0 } as const;
      turns.insert({ ...this.#ref, ...turn, ...fresh, ...NOT_CLOSED });
      const sameNumber = turnsOfHead(this.#tables, this.#ref, turn.head).filter(
        ({ number }) => number === turn.number,
      );
      if (sameNumber.length > 1) throw new Refusal('conflict', 'another turn took the number');
    }
    for (const key of this.#commit.keys) {
      if (keys.get({ ...this.#ref, ...key }) !== undefined)
        throw new Refusal('conflict', 'the key names a turn');
      keys.insert({ ...this.#ref, ...key });
    }
  }

  #changeActors(): void {
    for (const { base, parkedReason = null, ...change } of this.#commit.actors) {
      const { revision, snapshot, status } = change;
      if (base === 0) {
        const fresh = { parkedReason: null, drains: 0, compacted: false };
        this.#tables.actors.insert({ ...this.#ref, ...change, ...fresh });
        continue;
      }
      const actor = this.#tables.actors.get({ ...this.#ref, actor: change.actor });
      if (actor?.revision !== base) throw new Refusal('conflict', 'the actor moved on');
      this.#tables.actors.put({ ...actor, revision, snapshot, status, parkedReason });
    }
  }

  #takeEvents(): void {
    const { events } = this.#tables;
    const taken = new Set<string>();
    let known = false;
    for (const event of this.#commit.events) {
      const { actor, id, revision, digest } = event;
      const before = events.get({ ...this.#ref, ...event });
      if (taken.has(`${actor}~${id}`)) throw new Error(`event ${id} comes twice in one commit`);
      if (before !== undefined && before.revision !== null) known = true;
      else {
        taken.add(`${actor}~${id}`);
        if (before === undefined) receive(this.#tables, { ...this.#ref, ...event }, this.#nowMs);
        else
          events.put({ ...before, revision, digest, event: revision === null ? before.event : event.event });
      }
    }
    if (known) throw new Refusal('duplicate', 'an event was applied before');
  }

  #openCalls(): void {
    const fresh = {
      status: 'queued',
      attempt: 1,
      fence: 0,
      token: 0,
      dispatch: 1,
      started: false,
      deaths: 0,
    } as const;
    const unclaimed = { worker: null, lastError: null, claimedMs: null };
    for (const call of this.#commit.calls)
      this.#tables.calls.insert({ ...this.#ref, ...call, ...fresh, ...unclaimed });
  }

  #handOut(): void {
    for (const { delayMs, admitted, ...row } of this.#commit.outbox) {
      const times = { dueMs: this.#nowMs + delayMs, admittedMs: admitted ? this.#nowMs : null };
      handOut(this.#tables, { ...this.#ref, ...row, ...times });
    }
  }

  #cancel(): void {
    for (const { actor, child } of this.#commit.cancels) {
      const ref: Call = { ...this.#ref, actor, child };
      dropHandOuts(this.#tables, ref);
      const call = this.#tables.calls.get(ref);
      if (call?.status !== 'queued' && call?.status !== 'running') continue;
      this.#tables.calls.put({ ...call, status: 'cancelled', worker: null });
      this.#notices.push({ channel: 'turnwright_cancel', payload: `${actor}~${child}` });
    }
  }

  #setTimers(): void {
    for (const { actor, timer } of this.#commit.clearedTimers)
      for (const row of this.#tables.timers.of(this.#ref))
        if (row.actor === actor && (timer === null || row.timer === timer)) this.#tables.timers.remove(row);
    for (const { delayMs, ...timer } of this.#commit.timers)
      this.#tables.timers.put({ ...this.#ref, ...timer, dueMs: this.#nowMs + delayMs });
  }

  #changeTurns(): void {
    for (const change of this.#commit.turnChanges) {
      const turn = this.#tables.turns.get({ ...this.#ref, turn: change.turn });
      if (turn !== undefined) this.#tables.turns.put({ ...turn, ...NOT_CLOSED, ...change });
    }
  }

  #project(): void {
    const { heads, packets, evidence, presentations, prefixes, vectors, usage } = this.#tables;
    for (const { head, openTurn } of this.#commit.heads) {
      const known = heads.get({ ...this.#ref, head });
      if (known !== undefined) heads.put({ ...known, openTurn });
    }
    for (const packet of this.#commit.packets) {
      if (packets.get({ ...this.#ref, ...packet }) === undefined) packets.insert({ ...this.#ref, ...packet });
    }
    this.#link();
    for (const row of this.#commit.presentations) presentations.insert({ ...this.#ref, ...row });
    for (const { head, seq } of this.#commit.resets) {
      const known = heads.get({ ...this.#ref, head });
      if (known !== undefined) heads.put({ ...known, reset: seq });
    }
    this.#line();
    for (const row of this.#commit.prefixes) prefixes.insert({ ...this.#ref, ...row });
    for (const row of this.#commit.vectors) vectors.insert({ ...this.#ref, ...row });
    for (const row of this.#commit.evidence) evidence.insert({ ...this.#ref, ...row });
    for (const row of this.#commit.usage) {
      const key = { ...this.#ref, ...row };
      usage.put({ ...key, ...addCounts(usage.get(key) ?? NO_USAGE, row) });
    }
  }

  #line(): void {
    const { heads, evictions, segments } = this.#tables;
    for (const row of this.#commit.evictions) evictions.insert({ ...this.#ref, ...row });
    for (const row of this.#commit.segments) segments.insert({ ...this.#ref, ...row });
    for (const { head, seq, firstTurn } of this.#commit.cleared) {
      for (const row of segments.of(this.#ref)) if (row.head === head) segments.remove(row);
      const known = heads.get({ ...this.#ref, head });
      if (known !== undefined) heads.put({ ...known, clearedSeq: seq, firstTurn, reset: null });
    }
  }

  #link(): void {
    const { edges } = this.#tables;
    for (const edge of this.#commit.edges) edges.insert({ ...this.#ref, ...edge, retracted: false });
    for (const { turn, kind, to } of this.#commit.retractedEdges)
      for (const edge of edges.of(this.#ref))
        if (edge.turn === turn && edge.kind === kind && edge.to === to)
          edges.put({ ...edge, retracted: true });
  }
}

/** A claim has one holder: a call that ended under it was settled by this very claim, whose answer was lost. */
function notRunning(call: CallRow | undefined, { fence, token }: ClaimName): Refusal {
  const ended = call?.status === 'done' || call?.status === 'failed';
  if (ended && call.fence === fence && call.token === token)
    return new Refusal('duplicate', 'the call was settled before');
  return new Refusal('superseded', 'the call was taken over');
}
