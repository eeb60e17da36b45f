/** What the runtime needs of storage. One suite holds every implementation to it. */
import type { ChainedRecord } from '../ledger/chain.ts';
import type { Outcome } from '../ledger/kinds.ts';
import type { StoredRecord } from '../ledger/verify.ts';
import type { RecordView } from '../ledger/view.ts';

export interface SessionRef {
  readonly tenant: string;
  readonly session: string;
}

export interface ActorRef extends SessionRef {
  readonly actor: string;
}

/** A session as a hop needs it: where the chain ends and which numbers come next. */
export interface SessionHead extends SessionRef {
  readonly status: 'open' | 'archived';
  readonly leg: string;
  readonly liveHead: string;
  readonly nextSeq: number;
  readonly lastDigest: string;
  readonly nextTurn: number;
  readonly nextEvidence: number;
  /** Somebody follows the session's turns live. */
  readonly watched: boolean;
}

export type ActorStatus = 'active' | 'done' | 'parked';

export interface ActorState {
  readonly actor: string;
  readonly turn: string | null;
  readonly machine: string;
  readonly version: number;
  readonly revision: number;
  /** Canonical JSON of `{value, context, status, output?}`. */
  readonly snapshot: string;
  readonly status: ActorStatus;
  readonly openChildren: readonly string[];
}

export interface TurnPlace {
  readonly head: string;
  readonly number: number;
  readonly status: 'accepted' | 'running' | 'closed';
  readonly priority: number;
}

/** The accepted turn that waits behind the loaded one on its head. */
export interface NextTurn extends Omit<ActorState, 'openChildren'> {
  readonly turn: string;
  readonly priority: number;
  readonly number: number;
}

export interface Loaded {
  readonly session: SessionHead;
  readonly actor: ActorState;
  readonly turn: TurnPlace | null;
  readonly next: NextTurn | null;
}

export interface ClaimedCall {
  readonly child: string;
  readonly src: string;
  /** JSON text; ids and numbers only. */
  readonly input: string;
  readonly attempt: number;
  readonly fence: number;
  readonly dispatch: number;
  /** A `once` tool was already let loose under an earlier fence. */
  readonly started: boolean;
}

export interface StoredPacketRow {
  readonly from: number;
  readonly to: number;
  readonly seq: number;
  readonly bytes: number;
}

export interface Claim {
  readonly call: ClaimedCall;
  readonly loaded: Loaded;
  /** Records of the turn, in order; `body` is JSON text. */
  readonly records: readonly RawRecord[];
  /** `[number, bytes]` newest first, only for a step that has no plan yet. */
  readonly closed: readonly (readonly [number, number])[] | null;
  readonly packets: readonly StoredPacketRow[] | null;
}

export interface RawRecord extends Omit<RecordView, 'body'> {
  readonly body: string;
}

export interface PendingEvent {
  readonly id: string;
  readonly event: string;
}

export interface AcceptState {
  readonly session: SessionHead;
  readonly openTurn: string | null;
  readonly sameKey: { readonly turn: string; readonly inputDigest: string } | null;
}

export interface ActorChange {
  readonly actor: string;
  readonly turn: string | null;
  readonly machine: string;
  readonly version: number;
  /** The revision the change stands on; 0 creates the actor. */
  readonly base: number;
  readonly revision: number;
  readonly snapshot: string;
  readonly status: ActorStatus;
  readonly parkedReason?: string;
}

/** Everything one hop changes. It commits whole, or not at all. */
export interface Commit extends SessionRef {
  readonly create?: { readonly leg: string; readonly config: string; readonly head: string };
  readonly baseSeq: number;
  readonly nextSeq: number;
  readonly lastDigest: string;
  readonly nextTurn: number;
  readonly nextEvidence: number;
  readonly settle?: {
    readonly actor: string;
    readonly child: string;
    readonly fence: number;
    readonly status: 'done' | 'failed' | 'queued';
    /** 1 when the next hand-over is the next attempt: a retry counts against the policy, a hand-back does not. */
    readonly attemptBy: 0 | 1;
    /** 1 when the call is handed over again. */
    readonly dispatchBy: 0 | 1;
    readonly error?: string;
  };
  readonly actors: readonly ActorChange[];
  readonly events: readonly EventRow[];
  readonly records: readonly ChainedRecord[];
  readonly calls: readonly {
    readonly actor: string;
    readonly child: string;
    readonly src: string;
    readonly pool: string;
    readonly input: string;
    readonly priority: number;
  }[];
  readonly outbox: readonly OutboxRow[];
  readonly cancels: readonly { readonly actor: string; readonly child: string }[];
  readonly timers: readonly {
    readonly actor: string;
    readonly timer: string;
    readonly event: string;
    readonly revision: number;
    readonly delayMs: number;
  }[];
  /** `timer: null` clears every timer of the actor. */
  readonly clearedTimers: readonly { readonly actor: string; readonly timer: string | null }[];
  readonly turns: readonly {
    readonly turn: string;
    readonly head: string;
    readonly number: number;
    readonly priority: number;
    readonly key: string | null;
    readonly inputDigest: string;
  }[];
  readonly turnChanges: readonly TurnChange[];
  readonly heads: readonly { readonly head: string; readonly openTurn: string | null }[];
  readonly packets: readonly (StoredPacketRow & { readonly head: string })[];
  readonly evidence: readonly EvidenceRow[];
}

export interface EventRow {
  readonly actor: string;
  readonly id: string;
  readonly event: string;
  /** The actor's revision after it; null leaves it for a worker that knows the machine's version. */
  readonly revision: number | null;
  /** Digest of the snapshot after it; null where it changed nothing. */
  readonly digest: string | null;
}

export interface EvidenceRow {
  readonly ordinal: number;
  /** The record that holds the whole result. */
  readonly seq: number;
  readonly turn: string;
  readonly tool: string;
}

export interface TurnChange {
  readonly turn: string;
  readonly status: 'running' | 'closed';
  readonly outcome?: Outcome;
  readonly reason?: string;
  readonly steps?: number;
  readonly bytes?: number;
}

export interface OutboxRow {
  readonly actor: string;
  readonly child: string;
  readonly dispatch: number;
  readonly pool: string;
  readonly priority: number;
  readonly delayMs: number;
  /** The committing process hands it to the queue itself, right after the commit. */
  readonly admitted: boolean;
}

/** `conflict`: the session or actor moved on, load and try again. `superseded`: the fence was taken over. */
export type ApplyResult = 'applied' | 'conflict' | 'superseded' | 'duplicate';

export interface HistoryTurn {
  readonly number: number;
  readonly turn: string;
  readonly records: readonly RawRecord[];
}

export interface TurnGist {
  readonly number: number;
  /** The body of the turn's `turn-accepted` record. */
  readonly accepted: string;
  readonly outcome: string | null;
  readonly evidence: readonly { readonly ordinal: number; readonly tool: string }[];
}

/** Inside one tenant; the first six are the hot path, one statement each. */
export interface Store {
  claim(
    ref: ActorRef & { readonly child: string; readonly dispatch: number },
    worker: string,
  ): Promise<Claim | null>;
  load(ref: ActorRef): Promise<Loaded | null>;
  loadSession(ref: SessionRef, idempotencyKey: string | null): Promise<AcceptState | null>;
  apply(commit: Commit): Promise<ApplyResult>;
  drain(ref: ActorRef, dispatch: number): Promise<readonly PendingEvent[]>;
  /** The drain's dispatch number, or null when the event was known or the actor has ended. */
  submitEvent(ref: ActorRef, id: string, event: string): Promise<number | null>;
  /** Durable: a crash after it makes the outcome unknown. False when the fence was taken over. */
  markStarted(ref: ActorRef & { readonly child: string }, fence: number): Promise<boolean>;
  turnRecords(ref: SessionRef, turn: string): Promise<readonly RawRecord[]>;
  history(ref: SessionRef, head: string, from: number, to: number): Promise<readonly HistoryTurn[]>;
  closedTurns(
    ref: SessionRef,
    head: string,
    before: number,
    limit: number,
  ): Promise<readonly (readonly [number, number])[]>;
  sessionConfig(ref: SessionRef): Promise<string | null>;
  recordBody(ref: SessionRef, seq: number): Promise<string | null>;
  /** The whole result, or null where the session has no such evidence. */
  evidence(ref: SessionRef, ordinal: number): Promise<string | null>;
  /** The stored packet over exactly these turns. */
  findPacket(ref: SessionRef, head: string, from: number, to: number): Promise<StoredPacketRow | null>;
  /** Ids that exist, newest first. */
  evidenceIds(ref: SessionRef, limit: number): Promise<readonly string[]>;
  /** Turns of a head by number, for a packet: directive, outcome and evidence of each. */
  turnGists(ref: SessionRef, head: string, from: number, to: number): Promise<readonly TurnGist[]>;
  /** Every record in order, streamed in pages. */
  records(ref: SessionRef): AsyncIterable<StoredRecord>;
}

export interface PoolState {
  readonly pool: string;
  readonly concurrency: number;
  readonly admitted: number;
  readonly backlog: number;
  readonly oldestSeconds: number;
}

export interface HandOver extends ActorRef {
  readonly child: string;
  readonly dispatch: number;
  readonly priority: number;
}

export interface SweepResult {
  readonly taken: number;
  readonly fired: number;
  readonly drains: number;
  /** Finished actors whose events are not folded yet. */
  readonly unfolded: boolean;
  /** Rows the queue was given long ago and no worker claimed. */
  readonly unclaimed: readonly (HandOver & { readonly pool: string })[];
}

/** Across tenants, for worker processes. */
export interface UpkeepStore {
  beat(worker: {
    readonly id: string;
    readonly host: string;
    readonly pid: number;
    readonly pools: Readonly<Record<string, number>>;
  }): Promise<void>;
  retire(workerId: string): Promise<void>;
  poolState(leaseMs: number): Promise<readonly PoolState[]>;
  /** null when another process admits to this pool right now. */
  admit(pool: string, limit: number): Promise<readonly HandOver[] | null>;
  /** null when another process sweeps right now. */
  sweep(options: { readonly leaseMs: number; readonly readmitMs: number }): Promise<SweepResult | null>;
  redispatch(row: HandOver): Promise<number | null>;
  nextDueMs(): Promise<number | null>;
  compact(limit: number): Promise<number>;
  /** Removes large bodies that no record points at, an hour after they were stored. */
  collectBodies(): Promise<number>;
}
