/** Actors and the work they wait for. */
import { sql } from 'drizzle-orm';
import { bigserial, boolean, index, integer, primaryKey, text, timestamp, uuid } from 'drizzle-orm/pg-core';
import { at, bytea, sessionId, tenantId, turnwright } from './columns.ts';

export const actors = turnwright.table(
  'actors',
  {
    tenantId: tenantId(),
    sessionId: sessionId(),
    actorId: uuid('actor_id').notNull(),
    turnId: uuid('turn_id'),
    machine: text('machine').notNull(),
    version: integer('version').notNull(),
    revision: integer('revision').notNull(),
    /** Canonical JSON of `{value, context, status, output?}`. */
    snapshot: text('snapshot').notNull(),
    status: text('status', { enum: ['active', 'done', 'parked'] }).notNull(),
    parkedReason: text('parked_reason'),
    /** Drains asked for so far: the dispatch number of the next one. */
    drains: integer('drains').notNull().default(0),
    compacted: boolean('compacted').notNull().default(false),
    changedAt: at('changed_at').notNull().defaultNow(),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.sessionId, t.actorId] }),
    index('actors_unfolded').on(t.tenantId, t.sessionId).where(sql`status = 'done' and not compacted`),
  ],
);

export const actorEvents = turnwright.table(
  'actor_events',
  {
    tenantId: tenantId(),
    sessionId: sessionId(),
    actorId: uuid('actor_id').notNull(),
    eventId: text('event_id').notNull(),
    event: text('event').notNull(),
    /** The actor's revision after the event; null while it waits to be applied. */
    revision: integer('revision'),
    /** Digest of the snapshot after the event: what a replay compares. */
    snapshotDigest: bytea('snapshot_digest'),
    receivedAt: timestamp('received_at', { withTimezone: true, precision: 6 })
      .notNull()
      .default(sql`clock_timestamp()`),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.sessionId, t.actorId, t.eventId] }),
    index('actor_events_pending').on(t.tenantId, t.sessionId, t.actorId).where(sql`revision is null`),
  ],
);

export const sideCalls = turnwright.table(
  'side_calls',
  {
    tenantId: tenantId(),
    sessionId: sessionId(),
    actorId: uuid('actor_id').notNull(),
    childId: text('child_id').notNull(),
    src: text('src').notNull(),
    pool: text('pool').notNull(),
    input: text('input').notNull(),
    status: text('status', { enum: ['queued', 'running', 'done', 'failed', 'cancelled'] }).notNull(),
    priority: integer('priority').notNull().default(0),
    attempt: integer('attempt').notNull().default(1),
    fence: integer('fence').notNull().default(0),
    /** Chosen anew by whoever claims it: a crash may take back a claim and its fence, and the next has the same fence. */
    token: integer('token').notNull().default(0),
    dispatch: integer('dispatch').notNull().default(1),
    /** Durable before a `once` tool runs: after a crash its outcome is unknown. */
    started: boolean('started').notNull().default(false),
    /** Workers that died, or lost the claim, while they held the call. */
    deaths: integer('deaths').notNull().default(0),
    workerId: uuid('worker_id'),
    lastError: text('last_error'),
    claimedAt: at('claimed_at'),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.sessionId, t.actorId, t.childId] }),
    index('side_calls_running').on(t.workerId).where(sql`status = 'running'`),
  ],
);

export const timers = turnwright.table(
  'timers',
  {
    tenantId: tenantId(),
    sessionId: sessionId(),
    actorId: uuid('actor_id').notNull(),
    timerId: text('timer_id').notNull(),
    event: text('event').notNull(),
    revision: integer('revision').notNull(),
    dueAt: at('due_at').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.sessionId, t.actorId, t.timerId] }),
    index('timers_due').on(t.dueAt),
  ],
);

export const outbox = turnwright.table(
  'outbox',
  {
    tenantId: tenantId(),
    sessionId: sessionId(),
    actorId: uuid('actor_id').notNull(),
    childId: text('child_id').notNull(),
    dispatch: integer('dispatch').notNull(),
    pool: text('pool').notNull(),
    priority: integer('priority').notNull().default(0),
    position: bigserial('position', { mode: 'number' }).notNull(),
    dueAt: at('due_at').notNull().defaultNow(),
    /** Null while Postgres holds it as backlog; set when it was handed to the queue. */
    admittedAt: at('admitted_at'),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.sessionId, t.actorId, t.childId, t.dispatch] }),
    /** One tenant's rows in order, and the tenants themselves by skipping from one to the next. */
    index('outbox_backlog')
      .on(t.pool, t.tenantId, t.priority, t.position, t.dueAt)
      .where(sql`admitted_at is null`),
    index('outbox_admitted').on(t.pool, t.tenantId).where(sql`admitted_at is not null`),
    index('outbox_due').on(t.dueAt).where(sql`admitted_at is null`),
  ],
);

export const deltas = turnwright.table(
  'deltas',
  {
    tenantId: tenantId(),
    sessionId: sessionId(),
    turnId: uuid('turn_id').notNull(),
    cursor: bigserial('cursor', { mode: 'number' }).notNull(),
    frame: text('frame').notNull(),
    at: at('at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.tenantId, t.sessionId, t.turnId, t.cursor] })],
);
