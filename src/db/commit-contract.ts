/** What one hop changes, row by row. */
import type { ChainedRecord } from '../ledger/chain.ts';
import type { Outcome } from '../ledger/kinds.ts';
import type { TurnLink } from '../ledger/turn-card.ts';
import type { UsageRow } from '../ledger/usage.ts';
import type { ActorStatus, ClaimName, EvictionRow, SessionRef, StoredPacketRow } from './contract.ts';

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

export interface ParentTurn {
  readonly session: string;
  readonly turn: string;
}

/** Everything one hop changes. It commits whole, or not at all. */
export interface Commit extends SessionRef {
  readonly create?: {
    readonly leg: string;
    readonly config: string;
    readonly head: string;
    /** Of a fork: the number of its own first turn. */
    readonly firstTurn?: number;
    /** The turn that made the session, with whose end its own first turn ends. */
    readonly parent?: ParentTurn;
  };
  readonly newHead?: {
    readonly head: string;
    readonly from: string;
    readonly atSeq: number;
    /** The number of its own first turn. */
    readonly firstTurn: number;
  };
  /** The head that is live from now on. */
  readonly liveHead?: string;
  /** The session takes no new turns from now on. */
  readonly status?: 'archived';
  readonly baseSeq: number;
  readonly nextSeq: number;
  readonly lastDigest: string;
  readonly nextTurn: number;
  readonly nextEvidence: number;
  readonly nextPresentation: number;
  readonly nextItem: number;
  readonly prefix: string | null;
  readonly epoch: number;
  readonly profileAt: number;
  readonly settle?: ClaimName & {
    readonly actor: string;
    readonly child: string;
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
  }[];
  /** Idempotency keys, each with the turn it names from now on. One that was given before is a conflict. */
  readonly keys: readonly { readonly key: string; readonly turn: string; readonly inputDigest: string }[];
  readonly turnChanges: readonly TurnChange[];
  readonly heads: readonly { readonly head: string; readonly openTurn: string | null }[];
  readonly packets: readonly (StoredPacketRow & { readonly head: string })[];
  readonly evidence: readonly EvidenceRow[];
  readonly edges: readonly EdgeRow[];
  readonly retractedEdges: readonly Pick<EdgeRow, 'turn' | 'kind' | 'to'>[];
  readonly presentations: readonly PresentationRow[];
  readonly prefixes: readonly PrefixRow[];
  readonly vectors: readonly VectorRow[];
  /** Added to what stands under the same key. */
  readonly usage: readonly UsageRow[];
  /** Heads whose newest reset stands in that record. */
  readonly resets: readonly { readonly head: string; readonly seq: number }[];
  readonly evictions: readonly (EvictionRow & { readonly head: string })[];
  /** What a fork goes on from. */
  readonly segments: readonly SegmentRow[];
  /** Heads of which nothing before that record is carried or read any more; turns go on with that number. */
  readonly cleared: readonly { readonly head: string; readonly seq: number; readonly firstTurn: number }[];
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

/** A link of a closed turn, in the order its card has them. */
export interface EdgeRow extends TurnLink {
  readonly turn: string;
  readonly ordinal: number;
}

export interface PresentationRow {
  readonly ordinal: number;
  readonly seq: number;
  readonly turn: string;
  readonly type: string;
}

/** Part of the lineage of `head`, oldest first. A range whose end is before its start is empty. */
export interface SegmentRow {
  readonly head: string;
  readonly ordinal: number;
  readonly fromSession: string;
  readonly fromHead: string;
  readonly afterSeq: number;
  readonly toSeq: number;
  readonly digest: string;
  readonly firstTurn: number;
  readonly lastTurn: number;
  readonly firstItem: number;
  readonly lastItem: number;
}

export interface PrefixRow {
  readonly digest: string;
  readonly seq: number;
}

export interface VectorRow {
  readonly turn: string;
  /** The embedding model whose space it is. */
  readonly model: string;
  /** Base64, one signed byte a dimension. */
  readonly vector: string;
  readonly seq: number;
}

export interface TurnChange {
  readonly turn: string;
  readonly status: 'running' | 'closed';
  readonly outcome?: Outcome;
  readonly reason?: string;
  readonly steps?: number;
  readonly closedSeq?: number;
  readonly fullBytes?: number;
  readonly cardBytes?: number;
  /** Numbers of its first and last item. */
  readonly firstItem?: number;
  readonly lastItem?: number;
  /** Base64. */
  readonly terms?: string;
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
