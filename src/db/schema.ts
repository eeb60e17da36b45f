/**
 * The declared shape of the database. Partitions, triggers, roles, policies and functions are hand-written
 * migrations; a check compares a migrated database's catalogue with what is declared here.
 */
import { sql } from 'drizzle-orm';
import {
  bigint,
  bigserial,
  boolean,
  customType,
  doublePrecision,
  index,
  integer,
  jsonb,
  pgSchema,
  primaryKey,
  text,
  timestamp,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';

export const turnwright = pgSchema('turnwright');

const bytea = customType<{ data: Buffer }>({ dataType: () => 'bytea' });
const at = (name: string) => timestamp(name, { withTimezone: true, precision: 3 });
const tenantId = () => uuid('tenant_id').notNull();
const sessionId = () => uuid('session_id').notNull();

export const tenants = turnwright.table('tenants', {
  tenantId: uuid('tenant_id').primaryKey(),
  name: text('name').notNull(),
  createdAt: at('created_at').notNull().defaultNow(),
});

export const apiKeys = turnwright.table(
  'api_keys',
  {
    tenantId: tenantId(),
    keyId: uuid('key_id').notNull(),
    name: text('name').notNull(),
    secretHash: bytea('secret_hash').notNull(),
    scopes: text('scopes').array().notNull(),
    createdAt: at('created_at').notNull().defaultNow(),
    expiresAt: at('expires_at'),
    revokedAt: at('revoked_at'),
  },
  (t) => [primaryKey({ columns: [t.tenantId, t.keyId] })],
);

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
    index('records_turn').on(t.tenantId, t.sessionId, t.turnId, t.seq),
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
    idempotencyKey: text('idempotency_key'),
    inputDigest: bytea('input_digest').notNull(),
    acceptedAt: at('accepted_at').notNull().defaultNow(),
    startedAt: at('started_at'),
    closedAt: at('closed_at'),
  },
  (t) => [
    primaryKey({ columns: [t.tenantId, t.sessionId, t.turnId] }),
    uniqueIndex('turns_number').on(t.tenantId, t.sessionId, t.headId, t.number),
    uniqueIndex('turns_idempotency')
      .on(t.tenantId, t.sessionId, t.idempotencyKey)
      .where(sql`idempotency_key is not null`),
    /** A turn is looked up by its id alone, inside its tenant. */
    index('turns_id').on(t.tenantId, t.turnId),
  ],
);

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
    dispatch: integer('dispatch').notNull().default(1),
    /** Durable before a `once` tool runs: after a crash its outcome is unknown. */
    started: boolean('started').notNull().default(false),
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
    index('outbox_backlog').on(t.pool, t.priority, t.position).where(sql`admitted_at is null`),
  ],
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

export const workers = turnwright.table('workers', {
  workerId: uuid('worker_id').primaryKey(),
  host: text('host').notNull(),
  pid: integer('pid').notNull(),
  /** Pool name to concurrency. */
  pools: jsonb('pools').$type<Readonly<Record<string, number>>>().notNull(),
  startedAt: at('started_at').notNull().defaultNow(),
  beatAt: at('beat_at').notNull().defaultNow(),
});

export const capacityProfiles = turnwright.table(
  'capacity_profiles',
  {
    provider: text('provider').notNull(),
    endpointDigest: text('endpoint_digest').notNull(),
    model: text('model').notNull(),
    quantisation: text('quantisation').notNull(),
    profile: text('profile').notNull(),
    version: integer('version').notNull(),
    changedAt: at('changed_at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.provider, t.endpointDigest, t.model, t.quantisation] })],
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

/** What folded turns add up to, for the metrics of the whole deployment. Turns not folded yet are added when read. */
export const totals = turnwright.table(
  'totals',
  {
    name: text('name').notNull(),
    a: text('a').notNull(),
    b: text('b').notNull(),
    value: doublePrecision('value').notNull(),
  },
  (t) => [primaryKey({ columns: [t.name, t.a, t.b] })],
);
