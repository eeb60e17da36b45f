/** What belongs to the deployment rather than to a session. */
import { doublePrecision, integer, jsonb, primaryKey, text, uuid } from 'drizzle-orm/pg-core';
import { at, bytea, tenantId, turnwright } from './columns.ts';

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
