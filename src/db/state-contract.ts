/**
 * All that is stored of a session beside its originals. Originals are the records with their bodies, and the events
 * of its actors; everything here can be made of them again.
 */
import type { Outcome } from '../ledger/kinds.ts';
import type { UsageRow } from '../ledger/usage.ts';
import type {
  ActorStatus,
  EdgeRow,
  EventRow,
  EvictionRow,
  EvidenceRow,
  ParentTurn,
  PrefixRow,
  PresentationRow,
  SegmentRow,
  SessionHead,
  SessionRef,
  StoredPacketRow,
  TurnPlace,
  VectorRow,
} from './contract.ts';

export interface SessionRow extends Omit<SessionHead, keyof SessionRef | 'watched'> {
  readonly config: string;
  /** The turn that made the session, if one did. */
  readonly parent: ParentTurn | null;
}

export interface HeadRow {
  readonly head: string;
  readonly from: string | null;
  readonly atSeq: number;
  readonly openTurn: string | null;
  /** The record of the newest reset. */
  readonly reset: number | null;
  /** The record of the newest clear; 0 for none. */
  readonly clearedSeq: number;
  /** The first turn of its own that is still carried. */
  readonly firstTurn: number;
}

export interface TurnRowState extends TurnPlace {
  readonly turn: string;
  readonly outcome: Outcome | null;
  readonly reason: string | null;
  readonly steps: number;
  /** The record that closed it, and what that says of it. */
  readonly closedSeq: number | null;
  readonly fullBytes: number | null;
  readonly cardBytes: number | null;
  readonly firstItem: number | null;
  readonly lastItem: number | null;
  /** Base64. */
  readonly terms: string | null;
}

export interface KeyRow {
  readonly key: string;
  readonly turn: string;
  readonly inputDigest: string;
}

export interface ActorRow {
  readonly actor: string;
  readonly turn: string | null;
  readonly machine: string;
  readonly version: number;
  readonly revision: number;
  readonly snapshot: string;
  readonly status: ActorStatus;
  readonly parkedReason: string | null;
  /** Its events are folded into one, its settled calls are gone. */
  readonly compacted: boolean;
}

export type CallStatus = 'queued' | 'running' | 'done' | 'failed' | 'cancelled';

export interface CallRow {
  readonly actor: string;
  readonly child: string;
  readonly src: string;
  readonly pool: string;
  readonly input: string;
  readonly status: CallStatus;
  readonly priority: number;
  readonly attempt: number;
  readonly fence: number;
  readonly token: number;
  readonly dispatch: number;
  readonly started: boolean;
  readonly worker: string | null;
}

export interface TimerRow {
  readonly actor: string;
  readonly timer: string;
  readonly event: string;
  readonly revision: number;
  /** From now; negative when it is past due. */
  readonly dueInMs: number;
}

export interface HandOverRow {
  readonly actor: string;
  readonly child: string;
  readonly dispatch: number;
  readonly pool: string;
  readonly priority: number;
  readonly dueInMs: number;
  readonly admitted: boolean;
}

/** The projections of one session, each list in the order of its key. */
export interface Projections {
  readonly session: SessionRow;
  readonly heads: readonly HeadRow[];
  readonly turns: readonly TurnRowState[];
  readonly keys: readonly KeyRow[];
  readonly evidence: readonly EvidenceRow[];
  readonly packets: readonly (StoredPacketRow & { readonly head: string })[];
  readonly evictions: readonly (EvictionRow & { readonly head: string })[];
  readonly segments: readonly SegmentRow[];
  readonly edges: readonly (EdgeRow & { readonly retracted: boolean })[];
  readonly presentations: readonly PresentationRow[];
  readonly prefixes: readonly PrefixRow[];
  readonly vectors: readonly VectorRow[];
  readonly usage: readonly UsageRow[];
  readonly actors: readonly ActorRow[];
  readonly calls: readonly CallRow[];
  readonly timers: readonly TimerRow[];
  readonly outbox: readonly HandOverRow[];
}

export interface StoredEvent extends EventRow {
  /** From now, zero or less: when it came. */
  readonly receivedInMs: number;
}

export interface SessionState extends Projections {
  /** In order of revision; those that wait to be applied last, in the order they came. */
  readonly events: readonly StoredEvent[];
}
