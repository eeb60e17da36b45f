/** The rows of the memory database: the tables of `drizzle/`, as far as a hop and the sweep read them. Times in ms. */
import type {
  ActorRef,
  EvidenceRow,
  PrefixRow,
  PresentationRow,
  Projections,
  SessionRef,
  ActorRow as StoredActor,
  CallRow as StoredCall,
  HeadRow as StoredHead,
  KeyRow as StoredKey,
  StoredPacketRow,
  SessionRow as StoredSession,
  TurnRowState,
  VectorRow,
} from '../../../src/db/contract.ts';
import { type UsageKey, type UsageRow, usageKey } from '../../../src/ledger/usage.ts';
import type { StoredRecord } from '../../../src/ledger/verify.ts';
import { Journal, Table } from './table.ts';

export interface SessionRow extends SessionRef, StoredSession {
  readonly watchedUntilMs: number | null;
}

export type HeadRow = SessionRef & StoredHead;
export type TurnRow = SessionRef & TurnRowState;
export type KeyRow = SessionRef & StoredKey;

export interface ActorRow extends SessionRef, StoredActor {
  /** Drains asked for so far: the dispatch of the last. */
  readonly drains: number;
}

export interface EventRow extends ActorRef {
  readonly id: string;
  readonly event: string;
  /** null while it waits to be applied. */
  readonly revision: number | null;
  readonly digest: string | null;
  readonly receivedMs: number;
  /** Tells apart what came within one millisecond. */
  readonly arrival: number;
}

export interface CallRow extends SessionRef, StoredCall {
  readonly lastError: string | null;
  readonly claimedMs: number | null;
  readonly deaths: number;
}

export interface TimerRow extends ActorRef {
  readonly timer: string;
  readonly event: string;
  readonly revision: number;
  readonly dueMs: number;
}

export interface OutboxRow extends ActorRef {
  readonly child: string;
  readonly dispatch: number;
  readonly pool: string;
  readonly priority: number;
  readonly position: number;
  readonly dueMs: number;
  /** null while it is held back. */
  readonly admittedMs: number | null;
}

export type RecordRow = SessionRef & StoredRecord & { readonly body: string; readonly atMs: number };
export type PacketRow = SessionRef & StoredPacketRow & { readonly head: string };
export type EvictionRow = SessionRef & Projections['evictions'][number];
export type SegmentRow = SessionRef & Projections['segments'][number];
export type EdgeRow = SessionRef & Projections['edges'][number];

export interface WorkerRow {
  readonly id: string;
  readonly pools: Readonly<Record<string, number>>;
  readonly beatMs: number;
}

type OfActor<Column extends string, Value = string> = ActorRef & { readonly [name in Column]: Value };
type OfSession<Column extends string, Value = string> = SessionRef & { readonly [name in Column]: Value };
type OutboxKey = OfActor<'child'> & OfActor<'dispatch', number>;
type EdgeKey = OfSession<'turn'> & OfSession<'ordinal', number>;
type VectorKey = OfSession<'turn' | 'model'>;
type PacketKey = OfSession<'head'> & OfSession<'from' | 'to', number>;

export type Tables = ReturnType<typeof createTables>;

export function createTables() {
  const journal = new Journal();
  let serial = 0;
  return {
    journal,
    /** Like a sequence of Postgres: never given back, not even by a transaction that fails. */
    nextSerial: () => ++serial,
    sessions: new Table<SessionRef, SessionRow>('sessions', journal, () => ''),
    heads: new Table<OfSession<'head'>, HeadRow>('heads', journal, ({ head }) => head),
    turns: new Table<OfSession<'turn'>, TurnRow>('turns', journal, ({ turn }) => turn),
    keys: new Table<OfSession<'key'>, KeyRow>('accepted_keys', journal, ({ key }) => key),
    records: new Table<OfSession<'seq', number>, RecordRow>('records', journal, ({ seq }) => String(seq)),
    packets: new Table<PacketKey, PacketRow>(
      'packets',
      journal,
      ({ head, from, to }) => `${head}~${from}~${to}`,
    ),
    evidence: new Table<OfSession<'ordinal', number>, SessionRef & EvidenceRow>(
      'evidence',
      journal,
      ({ ordinal }) => String(ordinal),
    ),
    edges: new Table<EdgeKey, EdgeRow>('edges', journal, ({ turn, ordinal }) => `${turn}~${ordinal}`),
    presentations: new Table<OfSession<'ordinal', number>, SessionRef & PresentationRow>(
      'presentations',
      journal,
      ({ ordinal }) => String(ordinal),
    ),
    prefixes: new Table<OfSession<'digest'>, SessionRef & PrefixRow>(
      'prefixes',
      journal,
      ({ digest }) => digest,
    ),
    evictions: new Table<OfSession<'head'> & OfSession<'seq', number>, EvictionRow>(
      'evictions',
      journal,
      ({ head, seq }) => `${head}~${seq}`,
    ),
    segments: new Table<OfSession<'head'> & OfSession<'ordinal', number>, SegmentRow>(
      'segments',
      journal,
      ({ head, ordinal }) => `${head}~${ordinal}`,
    ),
    vectors: new Table<VectorKey, SessionRef & VectorRow>(
      'turn_vectors',
      journal,
      ({ turn, model }) => `${turn}~${model}`,
    ),
    usage: new Table<SessionRef & UsageKey, SessionRef & UsageRow>('usage', journal, usageKey),
    actors: new Table<ActorRef, ActorRow>('actors', journal, ({ actor }) => actor),
    events: new Table<OfActor<'id'>, EventRow>('actor_events', journal, ({ actor, id }) => `${actor}~${id}`),
    calls: new Table<OfActor<'child'>, CallRow>(
      'side_calls',
      journal,
      ({ actor, child }) => `${actor}~${child}`,
    ),
    timers: new Table<OfActor<'timer'>, TimerRow>(
      'timers',
      journal,
      ({ actor, timer }) => `${actor}~${timer}`,
    ),
    outbox: new Table<OutboxKey, OutboxRow>(
      'outbox',
      journal,
      ({ actor, child, dispatch }) => `${actor}~${child}~${dispatch}`,
    ),
    workers: new Map<string, WorkerRow>(),
    /** Of a pool: what each tenant was given while others waited too. */
    shares: new Map<string, ReadonlyMap<string, number>>(),
  };
}
