/** What belongs to the deployment rather than to a session. */
import { sql } from 'drizzle-orm';
import { check, doublePrecision, index, integer, jsonb, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { at, bytea, tenantId, turnwright } from './columns.ts';

export const tenants = turnwright.table(
  'tenants',
  {
    tenantId: uuid('tenant_id').primaryKey(),
    name: text('name').notNull(),
    createdAt: at('created_at').notNull().defaultNow(),
    /** How many places of a pool this tenant gets for each one of a tenant of weight 1. */
    weight: integer('weight').notNull().default(1),
  },
  (t) => [check('tenants_weight', sql`${t.weight} between 1 and 1000`)],
);

/** What each waiting tenant of a pool was given of it so far, in places over weight. Only differences count. */
export const tenantShares = turnwright.table(
  'tenant_shares',
  {
    pool: text('pool').notNull(),
    tenantId: tenantId(),
    served: doublePrecision('served').notNull(),
  },
  (t) => [primaryKey({ columns: [t.pool, t.tenantId] })],
);

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

/** Milliseconds since 1970 by the database's clock, fractions kept: a pace adds up many small parts. */
const instantMs = (name: string) => doublePrecision(name).notNull().default(0);

/** One way to a provider that several processes share: its buckets, and what its refusals taught. No secret is in a key. */
export const rateLimits = turnwright.table('rate_limits', {
  limitKey: text('limit_key').primaryKey(),
  /** When each bucket is empty again if nothing more is put into it. */
  requestsUntilMs: instantMs('requests_until_ms'),
  tokensUntilMs: instantMs('tokens_until_ms'),
  /** The provider asked to be left alone until then. */
  pausedUntilMs: instantMs('paused_until_ms'),
  /** Time between two calls as it was learned at `spaced_at_ms`; it halves as time goes by. */
  spacingMs: doublePrecision('spacing_ms').notNull().default(0),
  spacedAtMs: instantMs('spaced_at_ms'),
  /** While calls are spaced, none goes before. */
  nextAtMs: instantMs('next_at_ms'),
  refusedAtMs: instantMs('refused_at_ms'),
  /** How long a call holds its place, on a moving average. */
  heldMs: doublePrecision('held_ms').notNull().default(0),
});

/** Calls that were told to come back: those of one tenant keep their order among themselves. */
export const rateWaits = turnwright.table(
  'rate_waits',
  {
    limitKey: text('limit_key').notNull(),
    tenantId: tenantId(),
    callId: text('call_id').notNull(),
    sinceMs: doublePrecision('since_ms').notNull(),
    backAtMs: doublePrecision('back_at_ms').notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.limitKey, t.tenantId, t.callId] }),
    index('rate_waits_order').on(t.limitKey, t.tenantId, t.sinceMs),
  ],
);

/** Calls under way, where a leg says how many may be at once. */
export const rateSlots = turnwright.table(
  'rate_slots',
  {
    limitKey: text('limit_key').notNull(),
    callId: text('call_id').notNull(),
    /** Once this worker is gone, the place is free. */
    workerId: uuid('worker_id').notNull(),
    takenAtMs: doublePrecision('taken_at_ms').notNull(),
  },
  (t) => [primaryKey({ columns: [t.limitKey, t.callId] })],
);

/** The one probe of a model that may be under way in the deployment, and when the last one began. */
export const probeFlights = turnwright.table(
  'probe_flights',
  {
    provider: text('provider').notNull(),
    endpointDigest: text('endpoint_digest').notNull(),
    model: text('model').notNull(),
    /** The probe's actor, as `<tenant>/<session>/<actor>`; null once it ended. */
    holder: text('holder'),
    beganAt: at('began_at').notNull().defaultNow(),
    /** A holder silent for longer than its lease holds it no more. */
    heldAt: at('held_at').notNull().defaultNow(),
  },
  (t) => [primaryKey({ columns: [t.provider, t.endpointDigest, t.model] })],
);

/** Replies of models by the digest of all that can change them. A cache: it may be emptied at any time. */
export const responseCache = turnwright.table(
  'response_cache',
  {
    tenantId: tenantId(),
    key: text('key').notNull(),
    reply: text('reply').notNull(),
    replyBytes: integer('reply_bytes').notNull(),
    createdAt: at('created_at').notNull().defaultNow(),
    expiresAt: at('expires_at').notNull(),
  },
  (t) => [primaryKey({ columns: [t.tenantId, t.key] }), index('response_cache_expiry').on(t.expiresAt)],
);
