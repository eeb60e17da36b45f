/** What the runtime needs of storage. One suite holds every implementation to it. */
import type { EVICTION_AUTHORS } from '../ledger/items.ts';
import type { RecordKind } from '../ledger/kinds.ts';
import type { TurnLink } from '../ledger/turn-card.ts';
import type { StoredRecord } from '../ledger/verify.ts';
import type { RecordView } from '../ledger/view.ts';
import type { Commit } from './commit-contract.ts';
import type {
  ClosingRow,
  ForkSource,
  HistoryTurn,
  LineageTurn,
  TenantTurn,
  TranscriptTurn,
} from './lineage-contract.ts';
import type { PoolAddress } from './pool.ts';
import type { SessionState } from './state-contract.ts';

export type * from './commit-contract.ts';
export type * from './lineage-contract.ts';
export type * from './state-contract.ts';
export type * from './upkeep-contract.ts';

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
  readonly nextPresentation: number;
  readonly nextItem: number;
  /** Digest of the prefix that the newest planned turn was sent with. */
  readonly prefix: string | null;
  /** Counts changes of what was projected before: what a process remembers of an earlier one is stale. */
  readonly epoch: number;
  /** When the newest capacity profile in its ledger was probed, in ms since 1970; 0 for none. */
  readonly profileAt: number;
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

/** A crash may take back a claim with its fence, and the next has that fence again: the token tells the two apart. */
export interface ClaimName {
  readonly fence: number;
  /** Chosen at random by who claims, from 0 below 2 ** 31. */
  readonly token: number;
}

export interface ClaimedCall extends ClaimName {
  readonly child: string;
  readonly src: string;
  /** JSON text; ids and numbers only. */
  readonly input: string;
  readonly attempt: number;
  readonly dispatch: number;
  /** A `once` tool was already let loose under an earlier fence. */
  readonly started: boolean;
  /** Workers that died, or lost the claim, while they held it. */
  readonly deaths: number;
}

export interface StoredPacketRow {
  readonly from: number;
  readonly to: number;
  readonly seq: number;
  /** As it weighs in a request. */
  readonly bytes: number;
  readonly quality: 'model' | 'deterministic';
}

/** An eviction of a head, as its record `seq` resolved it. */
export interface EvictionRow {
  readonly seq: number;
  readonly from: number;
  readonly to: number;
  readonly note: string | null;
  readonly author: (typeof EVICTION_AUTHORS)[number];
}

/** A closed turn as the planner's index keeps it. */
export interface IndexedTurnRow {
  readonly number: number;
  /** Of its items, both ends included; null where it never began. */
  readonly items: { readonly from: number; readonly to: number } | null;
  readonly fullBytes: number;
  readonly cardBytes: number;
  /** Base64. */
  readonly terms: string;
  readonly links: readonly TurnLink[];
}

/** How far a process has indexed a head: the newest turn, and the newest record of a packet or an eviction; 0 for none. */
export interface IndexedTo {
  readonly turn: number;
  readonly recordSeq: number;
}

/** Turns that one reading of `ToPlan` brings at most. */
export const TO_PLAN_TURNS = 256;

/** What a step that is still to be planned needs of its head, past `after`. `turns` stop short after `TO_PLAN_TURNS`. */
export interface ToPlan {
  /** What was known before; the rest of it follows. */
  readonly after: IndexedTo;
  readonly turns: readonly IndexedTurnRow[];
  readonly packets: readonly StoredPacketRow[];
  /** Evictions of the head, in the order they were made; those of the sessions it was forked from first, as record 0. */
  readonly evictions: readonly EvictionRow[];
  /** The record of the newest reset on the head. */
  readonly reset: number | null;
}

export interface Claim {
  readonly call: ClaimedCall;
  readonly loaded: Loaded;
  /** Records of the turn, in order; `body` is JSON text. */
  readonly records: readonly RawRecord[];
  /** `records` are all of the turn's; false when they are those that the call needs. */
  readonly whole: boolean;
  /** Only for a step that has no plan yet. */
  readonly toPlan: ToPlan | null;
}

/** What a claiming process remembers of the call's session and turn. */
export interface KnownTurn {
  readonly nextSeq: number;
  readonly head: string;
  /** The turn is still to be planned. */
  readonly toPlan: boolean;
}

/** A claim under which nothing was appended to the session since `KnownTurn.nextSeq`; else the whole claim. */
export type KnownClaim =
  | { readonly changed: Claim }
  | (Pick<Claim, 'call' | 'toPlan'> & { readonly watched: boolean; readonly changed?: never });

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

/**
 * `conflict`: the session or actor moved on, load and try again. `superseded`: the fence was taken over, or the
 * call cancelled. `duplicate`: the event was applied, or this very claim had settled, before.
 */
export type ApplyResult = 'applied' | 'conflict' | 'superseded' | 'duplicate';

export interface RecordRun {
  readonly after: number;
  readonly to?: number;
}

/** Inside one tenant; the first seven are the hot path, one statement each. */
export interface Store {
  /** Where a thread of this process reads the same rows by itself; left out where only this thread can. */
  readonly address?: PoolAddress | undefined;
  claim(
    ref: ActorRef & { readonly child: string; readonly dispatch: number },
    worker: string,
    token: number,
    indexed: IndexedTo,
  ): Promise<Claim | null>;
  /** The same claim, which brings only what the process does not know. */
  claimKnown(
    ref: ActorRef & { readonly child: string; readonly dispatch: number },
    worker: string,
    token: number,
    known: KnownTurn,
    indexed: IndexedTo,
  ): Promise<KnownClaim | null>;
  load(ref: ActorRef): Promise<Loaded | null>;
  loadSession(ref: SessionRef, idempotencyKey: string | null): Promise<AcceptState | null>;
  apply(commit: Commit): Promise<ApplyResult>;
  drain(ref: ActorRef, dispatch: number): Promise<readonly PendingEvent[]>;
  /** The drain's dispatch number, or null when the event was known or the actor has ended. */
  submitEvent(ref: ActorRef, id: string, event: string): Promise<number | null>;
  /** Durable: a crash after it makes the outcome unknown. False when the fence was taken over. */
  markStarted(ref: ActorRef & { readonly child: string }, claim: ClaimName): Promise<boolean>;
  turnRecords(ref: SessionRef, turn: string): Promise<readonly RawRecord[]>;
  /** Turns of a head's lineage, with their records of these kinds; one that was open at a fork ends where it was then. */
  history(
    ref: SessionRef,
    head: string,
    range: { readonly from: number; readonly to: number },
    kinds: readonly RecordKind[],
  ): Promise<readonly HistoryTurn[]>;
  /** Closed turns of a head after turn `after`, oldest first. */
  indexedTurns(
    ref: SessionRef,
    head: string,
    after: number,
    limit: number,
  ): Promise<readonly IndexedTurnRow[]>;
  /** All of it read anew, as a dry plan needs it. */
  toPlan(ref: SessionRef, head: string, indexed: IndexedTo): Promise<ToPlan>;
  /** Bodies of the records that closed these turns of a head, oldest first. */
  closings(ref: SessionRef, head: string, from: number, to: number): Promise<readonly ClosingRow[]>;
  /** The newest closed turns of the tenant before the turn `before`, leaving out one session. */
  tenantTurns(ref: SessionRef, before: string | null, limit: number): Promise<readonly TenantTurn[]>;
  /** The body of a presentation's record; null where the session has none of that number. */
  presentation(ref: SessionRef, ordinal: number): Promise<string | null>;
  /** The body of the prefix with that digest. */
  prefix(ref: SessionRef, digest: string): Promise<string | null>;
  /** A turn of a head's lineage by its number, and the session that recorded it. */
  turnAt(ref: SessionRef, head: string, number: number): Promise<LineageTurn | null>;
  /** Numbers of the turns that stand `back` and `back` + 1 places before the end of what began on a head; fewer where there are fewer. */
  turnsBack(ref: SessionRef, head: string, back: number): Promise<readonly number[]>;
  /** Without `head`, of the live one. null where the session, or its head, is not there. */
  forkSource(ref: SessionRef, head: string | null): Promise<ForkSource | null>;
  /** Turns of a head's lineage that began, oldest first; `items` leaves out closed ones with none of these numbers. */
  transcriptTurns(
    ref: SessionRef,
    head: string,
    items: { readonly from: number; readonly to: number } | null,
  ): Promise<readonly TranscriptTurn[]>;
  /** A turn's records with their digests, in order, up to record `toSeq`. */
  turnRows(ref: SessionRef, turn: string, toSeq: number | null): Promise<readonly StoredRecord[]>;
  /** Whether an actor of this machine has not ended in the session. */
  isActive(ref: SessionRef, machine: string): Promise<boolean>;
  sessionConfig(ref: SessionRef): Promise<string | null>;
  recordBody(ref: SessionRef, seq: number): Promise<string | null>;
  /** The whole result, or null where the session has no such evidence. */
  evidence(ref: SessionRef, ordinal: number): Promise<string | null>;
  /** Ids that exist, newest first. */
  evidenceIds(ref: SessionRef, limit: number): Promise<readonly string[]>;
  /** All that is stored of a session beside its records, read in one transaction. null where there is no such session. */
  sessionState(ref: SessionRef): Promise<SessionState | null>;
  /** Records in order, streamed in pages: all of them, or those after record `after` up to record `to`. */
  records(ref: SessionRef, run?: RecordRun): AsyncIterable<StoredRecord>;
}
