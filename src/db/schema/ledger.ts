/** A session: its originals (records, bodies) and what is read from them. */
import { sql } from 'drizzle-orm';
import { bigint, index, integer, primaryKey, text, uniqueIndex, uuid } from 'drizzle-orm/pg-core';
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
    epoch: integer('epoch').notNull().default(0),
    forkSession: uuid('fork_session'),
    forkSeq: bigint('fork_seq', { mode: 'number' }),
    watchedUntil: at('watched_until'),
    createdAt: at('created_at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.tenantId, t.sessionId] })],
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
    /** Rendered size of the closed turn, as the planner counts it. */
    bytes: integer('bytes'),
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

export const packets = turnwright.table(
  'packets',
  {
    tenantId: tenantId(),
    sessionId: sessionId(),
    headId: uuid('head_id').notNull(),
    fromTurn: integer('from_turn').notNull(),
    toTurn: integer('to_turn').notNull(),
    seq: bigint('seq', { mode: 'number' }).notNull(),
    bytes: integer('bytes').notNull(),
  },
  (t) => [primaryKey({ columns: [t.tenantId, t.sessionId, t.headId, t.fromTurn, t.toTurn] })],
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
