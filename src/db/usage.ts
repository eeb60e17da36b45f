/** What calls came to, read for budgets and for people. Rows are added by each hop (drizzle/0002_hop.sql). */
import type pg from 'pg';
import type { UsageCounts } from '../ledger/usage.ts';
import type { SessionRef } from './contract.ts';
import { tenantRows } from './pool.ts';

export const USAGE_GROUPS = ['session', 'leg', 'purpose', 'day'] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

export interface UsageFilter {
  readonly session?: string;
  /** UTC days, both included. */
  readonly from?: string;
  readonly to?: string;
}

/** One row of a report: what it stands for, and its sums. */
export interface UsageSum extends UsageCounts {
  readonly key: string;
}

export interface UsageStore {
  sessionSpent(ref: SessionRef): Promise<{ readonly microUsd: number; readonly tokens: number }>;
  /** Micro-dollars of all sessions of a tenant on a day. */
  tenantSpent(tenant: string, day: string): Promise<number>;
  /** At most `limit` rows: newest days first, else the dearest first. */
  report(tenant: string, by: UsageGroup, filter: UsageFilter, limit: number): Promise<readonly UsageSum[]>;
}

const COLUMNS: Readonly<Record<keyof UsageCounts, string>> = {
  calls: 'calls',
  inputTokens: 'input_tokens',
  cacheReadTokens: 'cache_read_tokens',
  cacheWriteTokens: 'cache_write_tokens',
  outputTokens: 'output_tokens',
  reasoningTokens: 'reasoning_tokens',
  microUsd: 'micro_usd',
  priced: 'priced',
  unpriced: 'unpriced',
  looked: 'looked',
  cached: 'cached',
  processLooked: 'process_looked',
  processHits: 'process_hits',
  storeLooked: 'store_looked',
  storeHits: 'store_hits',
};

const GROUPS: Readonly<Record<UsageGroup, string>> = {
  session: 'session_id::text',
  leg: 'leg',
  purpose: 'purpose',
  day: 'day::text',
};

const SUMS = Object.entries(COLUMNS)
  .map(([name, column]) => `coalesce(sum(${column}), 0)::float8 AS "${name}"`)
  .join(', ');

const PROMPT_AND_REPLY = 'input_tokens + cache_read_tokens + cache_write_tokens + output_tokens';

export class PostgresUsage implements UsageStore {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  async sessionSpent({ tenant, session }: SessionRef) {
    const rows = await tenantRows<{ readonly microUsd: number; readonly tokens: number }>(
      this.#pool,
      tenant,
      `SELECT coalesce(sum(micro_usd), 0)::float8 AS "microUsd", coalesce(sum(${PROMPT_AND_REPLY}), 0)::float8 AS tokens
      FROM turnwright.usage WHERE tenant_id = $1 AND session_id = $2`,
      [tenant, session],
    );
    return rows[0] ?? { microUsd: 0, tokens: 0 };
  }

  async tenantSpent(tenant: string, day: string): Promise<number> {
    const rows = await tenantRows<{ readonly microUsd: number }>(
      this.#pool,
      tenant,
      'SELECT coalesce(sum(micro_usd), 0)::float8 AS "microUsd" FROM turnwright.usage WHERE tenant_id = $1 AND day = $2',
      [tenant, day],
    );
    return rows[0]?.microUsd ?? 0;
  }

  report(
    tenant: string,
    by: UsageGroup,
    { session, from, to }: UsageFilter,
    limit: number,
  ): Promise<readonly UsageSum[]> {
    const order = by === 'day' ? 'key DESC' : '"microUsd" DESC, key';
    return tenantRows<UsageSum>(
      this.#pool,
      tenant,
      `SELECT ${GROUPS[by]} AS key, ${SUMS} FROM turnwright.usage
      WHERE tenant_id = $1 AND ($2::uuid IS NULL OR session_id = $2) AND ($3::date IS NULL OR day >= $3) AND ($4::date IS NULL OR day <= $4)
      GROUP BY 1 ORDER BY ${order} LIMIT $5`,
      [tenant, session ?? null, from ?? null, to ?? null, limit],
    );
  }
}
