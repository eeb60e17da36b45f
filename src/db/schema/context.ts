/** What a session's requests are made of: packets, spans that left, what a fork goes on from, prefixes, vectors. */
import { bigint, index, integer, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { EVICTION_AUTHORS } from '../../ledger/items.ts';
import { bytea, sessionId, tenantId, turnwright } from './columns.ts';

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
    quality: text('quality', { enum: ['deterministic', 'model'] }).notNull(),
  },
  (t) => [primaryKey({ columns: [t.tenantId, t.sessionId, t.headId, t.fromTurn, t.toTurn] })],
);

/** Spans of items that left a head's requests, as they were resolved. */
export const evictions = turnwright.table(
  'evictions',
  {
    tenantId: tenantId(),
    sessionId: sessionId(),
    headId: uuid('head_id').notNull(),
    seq: bigint('seq', { mode: 'number' }).notNull(),
    fromItem: integer('from_item').notNull(),
    toItem: integer('to_item').notNull(),
    note: text('note'),
    author: text('author', { enum: EVICTION_AUTHORS }).notNull(),
  },
  (t) => [primaryKey({ columns: [t.tenantId, t.sessionId, t.headId, t.seq] })],
);

/** What a fork goes on from, each part by the session that recorded it first. */
export const segments = turnwright.table(
  'segments',
  {
    tenantId: tenantId(),
    sessionId: sessionId(),
    headId: uuid('head_id').notNull(),
    ordinal: integer('ordinal').notNull(),
    fromSession: uuid('from_session').notNull(),
    fromHead: uuid('from_head').notNull(),
    afterSeq: bigint('after_seq', { mode: 'number' }).notNull(),
    toSeq: bigint('to_seq', { mode: 'number' }).notNull(),
    /** Of record `to_seq`. */
    digest: bytea('digest').notNull(),
    firstTurn: integer('first_turn').notNull(),
    lastTurn: integer('last_turn').notNull(),
    firstItem: integer('first_item').notNull(),
    lastItem: integer('last_item').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.sessionId, t.headId, t.ordinal] }),
    /** Forks of a session. */
    index('segments_from').on(t.tenantId, t.fromSession),
  ],
);

/** Where each prefix of a session stands. */
export const prefixes = turnwright.table(
  'prefixes',
  {
    tenantId: tenantId(),
    sessionId: sessionId(),
    digest: bytea('digest').notNull(),
    seq: bigint('seq', { mode: 'number' }).notNull(),
  },
  (t) => [primaryKey({ columns: [t.tenantId, t.sessionId, t.digest] })],
);

/** The place of a closed turn in the space of an embedding model: one signed byte a dimension. */
export const turnVectors = turnwright.table(
  'turn_vectors',
  {
    tenantId: tenantId(),
    sessionId: sessionId(),
    turnId: uuid('turn_id').notNull(),
    /** The model that made it: vectors of two models cannot be compared. */
    model: text('model').notNull(),
    vector: bytea('vector').notNull(),
    seq: bigint('seq', { mode: 'number' }).notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.sessionId, t.turnId, t.model] }),
    /** A process reads past the newest it knows. */
    index('turn_vectors_seq').on(t.tenantId, t.sessionId, t.model, t.seq),
  ],
);
