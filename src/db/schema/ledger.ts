/** A session: its originals (records, bodies) and what is read from them. */
import { sql } from 'drizzle-orm';
import {
  bigint,
  boolean,
  date,
  index,
  integer,
  primaryKey,
  text,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import { CALL_PURPOSES } from '../../ledger/kinds.ts';
import { LINK_KINDS } from '../../ledger/turn-card.ts';
import { at, bytea, sessionId, tenantId, turnwright } from './columns.ts';

export const sessions = turnwright.table(
  'sessions',
  {
    tenantId: tenantId(),
    sessionId: sessionId(),
    status: text('status', { enum: ['open', 'archived'] }).notNull(),
    leg: text('leg').notNull(),
    config: text('config').notNull(),
    liveHead: uuid('live_head').notNull(),
    nextSeq: bigint('next_seq', { mode: 'number' }).notNull(),
    lastDigest: bytea('last_digest').notNull(),
    nextTurn: integer('next_turn').notNull(),
    nextEvidence: integer('next_evidence').notNull(),
    nextPresentation: integer('next_presentation').notNull(),
    nextItem: integer('next_item').notNull(),
    /** Of the prefix that the newest planned turn was sent with. */
    prefixDigest: bytea('prefix_digest'),
    /** Counts changes of what was projected before, such as a link taken back. */
    epoch: integer('epoch').notNull().default(0),
    /** When the newest capacity profile in its ledger was probed, in ms since 1970. */
    profileAt: bigint('profile_at', { mode: 'number' }).notNull().default(0),
    watchedUntil: at('watched_until'),
    /** The turn that made the session, with whose end its own first turn ends. */
    parentSession: uuid('parent_session'),
    parentTurn: uuid('parent_turn'),
    createdAt: at('created_at').notNull().defaultNow(),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.sessionId] }),
    index('sessions_children').on(t.tenantId, t.sessionId).where(sql`parent_turn is not null`),
  ],
);

export const records = turnwright.table(
  'records',
  {
    tenantId: tenantId(),
    sessionId: sessionId(),
    seq: bigint('seq', { mode: 'number' }).notNull(),
    headId: uuid('head_id').notNull(),
    turnId: uuid('turn_id'),
    kind: text('kind').notNull(),
    class: text('class', { enum: ['protocol', 'display', 'forensic'] }).notNull(),
    /** Canonical JSON text; null when it stands in `bodies`, or was erased. */
    body: text('body'),
    bytes: integer('bytes').notNull(),
    bodyDigest: bytea('body_digest').notNull(),
    digest: bytea('digest').notNull(),
    prevDigest: bytea('prev_digest').notNull(),
    at: at('at').notNull().defaultNow(),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.sessionId, t.seq] }),
    /** Without the sequence: the records of a turn share one key, which is stored once. */
    index('records_turn').on(t.tenantId, t.sessionId, t.turnId),
    index('records_large').on(t.tenantId, t.sessionId, t.bodyDigest).where(sql`bytes > 8192`),
  ],
);

export const bodies = turnwright.table(
  'bodies',
  {
    tenantId: tenantId(),
    sessionId: sessionId(),
    digest: bytea('digest').notNull(),
    body: text('body'),
    createdAt: at('created_at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.tenantId, t.sessionId, t.digest] })],
);

export const heads = turnwright.table(
  'heads',
  {
    tenantId: tenantId(),
    sessionId: sessionId(),
    headId: uuid('head_id').notNull(),
    fromHead: uuid('from_head'),
    atSeq: bigint('at_seq', { mode: 'number' }).notNull(),
    openTurn: uuid('open_turn'),
    /** The newest reset: nothing before it is planned any more. */
    resetSeq: bigint('reset_seq', { mode: 'number' }),
    /** The newest clear: nothing before it is carried or read. */
    clearedSeq: bigint('cleared_seq', { mode: 'number' }).notNull().default(0),
    firstTurn: integer('first_turn').notNull().default(1),
  },
  (t) => [primaryKey({ columns: [t.tenantId, t.sessionId, t.headId] })],
);

export const turns = turnwright.table(
  'turns',
  {
    tenantId: tenantId(),
    sessionId: sessionId(),
    turnId: uuid('turn_id').notNull(),
    headId: uuid('head_id').notNull(),
    number: integer('number').notNull(),
    status: text('status', { enum: ['accepted', 'running', 'closed'] }).notNull(),
    outcome: text('outcome', { enum: ['completed', 'degraded', 'failed', 'cancelled'] }),
    reason: text('reason'),
    steps: integer('steps').notNull().default(0),
    /** The record that closed it, with its card. */
    closedSeq: bigint('closed_seq', { mode: 'number' }),
    /** What the closed turn weighs whole and as a card, as the planner counts it. */
    fullBytes: integer('full_bytes'),
    cardBytes: integer('card_bytes'),
    /** Its items; null until it closed, and where it never began. */
    firstItem: integer('first_item'),
    lastItem: integer('last_item'),
    /** Words of its card, for relevance. */
    terms: bytea('terms'),
    priority: integer('priority').notNull().default(0),
    acceptedAt: at('accepted_at').notNull().defaultNow(),
    startedAt: at('started_at'),
    closedAt: at('closed_at'),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.sessionId, t.turnId] }),
    uniqueIndex('turns_number').on(t.tenantId, t.sessionId, t.headId, t.number),
    /** A turn is looked up by its id alone, inside its tenant. */
    index('turns_id').on(t.tenantId, t.turnId),
    index('turns_open').on(t.tenantId).where(sql`status <> 'closed'`),
  ],
);

/** Idempotency keys of producers, and the turn each one named. */
export const acceptedKeys = turnwright.table(
  'accepted_keys',
  {
    tenantId: tenantId(),
    sessionId: sessionId(),
    key: text('key').notNull(),
    turnId: uuid('turn_id').notNull(),
    inputDigest: bytea('input_digest').notNull(),
  },
  (t) => [primaryKey({ columns: [t.tenantId, t.sessionId, t.key] })],
);

/** What a closed turn is linked to. A link that was taken back stays, and counts no more. */
export const edges = turnwright.table(
  'edges',
  {
    tenantId: tenantId(),
    sessionId: sessionId(),
    turnId: uuid('turn_id').notNull(),
    ordinal: integer('ordinal').notNull(),
    kind: text('kind', { enum: LINK_KINDS }).notNull(),
    target: text('target').notNull(),
    provenance: text('provenance', { enum: ['observed', 'inferred'] }).notNull(),
    retracted: boolean('retracted').notNull().default(false),
  },
  (t) => [primaryKey({ columns: [t.tenantId, t.sessionId, t.turnId, t.ordinal] })],
);

export const presentations = turnwright.table(
  'presentations',
  {
    tenantId: tenantId(),
    sessionId: sessionId(),
    ordinal: integer('ordinal').notNull(),
    seq: bigint('seq', { mode: 'number' }).notNull(),
    turnId: uuid('turn_id').notNull(),
    type: text('type').notNull(),
  },
  (t) => [primaryKey({ columns: [t.tenantId, t.sessionId, t.ordinal] })],
);

/** Where each evidence id of a session stands: the record that holds the whole result. */
export const evidence = turnwright.table(
  'evidence',
  {
    tenantId: tenantId(),
    sessionId: sessionId(),
    ordinal: integer('ordinal').notNull(),
    seq: bigint('seq', { mode: 'number' }).notNull(),
    turnId: uuid('turn_id').notNull(),
    tool: text('tool').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.sessionId, t.ordinal] }),
    index('evidence_turn').on(t.tenantId, t.sessionId, t.turnId),
  ],
);

const counter = (name: string) => bigint(name, { mode: 'number' }).notNull();

/** What a session's calls to models came to, by day, leg and purpose. */
export const usage = turnwright.table(
  'usage',
  {
    tenantId: tenantId(),
    sessionId: sessionId(),
    day: date('day').notNull(),
    leg: text('leg').notNull(),
    purpose: text('purpose', { enum: CALL_PURPOSES }).notNull(),
    calls: counter('calls'),
    inputTokens: counter('input_tokens'),
    cacheReadTokens: counter('cache_read_tokens'),
    cacheWriteTokens: counter('cache_write_tokens'),
    outputTokens: counter('output_tokens'),
    reasoningTokens: counter('reasoning_tokens'),
    microUsd: counter('micro_usd'),
    priced: counter('priced'),
    unpriced: counter('unpriced'),
    looked: counter('looked'),
    cached: counter('cached'),
    processLooked: counter('process_looked'),
    processHits: counter('process_hits'),
    storeLooked: counter('store_looked'),
    storeHits: counter('store_hits'),
    changedAt: at('changed_at').notNull().defaultNow(),
    /** Metrics count it among their totals. */
    folded: boolean('folded').notNull().default(false),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.sessionId, t.day, t.leg, t.purpose] }),
    index('usage_day').on(t.tenantId, t.day),
    index('usage_unfolded').on(t.day).where(sql`not folded`),
  ],
);
