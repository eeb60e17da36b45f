import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AdmitRules, HandOver } from '../../../src/db/contract.ts';
import { PostgresUpkeep } from '../../../src/db/upkeep.ts';
import { type MigratedDatabase, migratedDatabase } from './migrated.ts';

const LEASE_MS = 60_000;
/** What a backlog a hundred times as deep may cost, as a factor. */
const COST_GROWTH = 3;

let database: MigratedDatabase;
let upkeep: PostgresUpkeep;

beforeAll(async () => {
  database = await migratedDatabase();
  upkeep = new PostgresUpkeep(database.upkeep);
});
afterAll(() => database.close());
beforeEach(async () => {
  for (const table of ['outbox', 'side_calls', 'workers', 'tenant_shares', 'tenants'])
    await database.root.query(`DELETE FROM turnwright.${table}`);
});

interface Rows {
  readonly priority?: number;
  /** Due in so many milliseconds; negative in the past. */
  readonly dueInMs?: number;
  readonly admitted?: boolean;
  readonly pool?: string;
}

/** Rows of a tenant, each of a session of its own, oldest first. */
async function wait(tenant: string, count: number, rows: Rows = {}): Promise<void> {
  const { priority = 0, dueInMs = -1_000, admitted = false, pool = 'step' } = rows;
  await database.root.query(
    `INSERT INTO turnwright.outbox (tenant_id, session_id, actor_id, child_id, dispatch, pool, priority, due_at, admitted_at)
      SELECT $1, gen_random_uuid(), gen_random_uuid(), 'step-1', 1, $2, $3, clock_timestamp() + make_interval(secs => $4 / 1000.0),
        CASE WHEN $5 THEN clock_timestamp() END FROM generate_series(1, $6::integer)`,
    [tenant, pool, priority, dueInMs, admitted, count],
  );
}

async function run(tenant: string, count: number, pool = 'step'): Promise<void> {
  await database.root.query(
    `INSERT INTO turnwright.side_calls (tenant_id, session_id, actor_id, child_id, src, pool, input, status, worker_id)
      SELECT $1, gen_random_uuid(), gen_random_uuid(), 'step-1', $2, $2, '{}', 'running', gen_random_uuid() FROM generate_series(1, $3::integer)`,
    [tenant, pool, count],
  );
}

/** What was admitted is claimed and ends at once: nothing is in flight any more. */
async function end(): Promise<void> {
  await database.root.query('DELETE FROM turnwright.outbox WHERE admitted_at IS NOT NULL');
}

async function waiting(tenant: string): Promise<number> {
  const { rowCount } = await database.root.query(
    'SELECT FROM turnwright.outbox WHERE tenant_id = $1 AND admitted_at IS NULL',
    [tenant],
  );
  return rowCount ?? 0;
}

async function weigh(tenant: string, weight: number): Promise<string> {
  await database.root.query('INSERT INTO turnwright.tenants (tenant_id, name, weight) VALUES ($1, $2, $3)', [
    tenant,
    'test',
    weight,
  ]);
  return tenant;
}

async function admit(limit: number, rules?: AdmitRules): Promise<readonly HandOver[]> {
  const rows = await upkeep.admit('step', limit, rules);
  if (rows === null) throw new Error('nobody may admit now');
  return rows;
}

const tenants = (rows: readonly HandOver[]) => rows.map(({ tenant }) => tenant);
const count = (rows: readonly HandOver[], tenant: string) =>
  tenants(rows).filter((one) => one === tenant).length;

async function slots(concurrency: number): Promise<void> {
  await upkeep.beat({ id: randomUUID(), host: 'here', pid: 1, pools: { step: concurrency } });
}

const rules = (over: Partial<AdmitRules> = {}): AdmitRules => ({
  leaseMs: LEASE_MS,
  perSlot: 2,
  tenantShare: 1,
  tenantRunning: null,
  ...over,
});

describe('whose row is next', () => {
  it('RUN-10 is the tenant’s with nothing in flight, however urgent the other’s flood and however many of it wait', async () => {
    const [flooding, quiet] = [randomUUID(), randomUUID()];
    await wait(flooding, 4, { admitted: true });
    await run(flooding, 2);
    await wait(flooding, 500, { priority: 0 });
    await wait(quiet, 1, { priority: 9 });
    expect(tenants(await admit(1))).toEqual([quiet]);
    expect(tenants(await admit(3))).toEqual([flooding, flooding, flooding]);
  });

  it('RUN-10 goes by priority, then by age, inside a tenant alone', async () => {
    const [one, other] = [randomUUID(), randomUUID()];
    await wait(one, 2, { priority: 5 });
    await wait(one, 2, { priority: 1 });
    await wait(other, 4, { priority: 7 });
    const rows = await admit(8);
    expect(tenants(rows)).toEqual([one, other, one, other, one, other, one, other]);
    expect(rows.filter(({ tenant }) => tenant === one).map(({ priority }) => priority)).toEqual([1, 1, 5, 5]);
    const { rows: stored } = await database.root.query<{ actor: string }>(
      'SELECT actor_id AS actor FROM turnwright.outbox WHERE tenant_id = $1 ORDER BY priority, position',
      [one],
    );
    const given = rows.filter(({ tenant }) => tenant === one).map(({ actor }) => actor);
    expect(given).toEqual(stored.map(({ actor }) => actor));
  });

  it('RUN-10 goes round all tenants when there are more of them than places, and nobody comes twice in a round', async () => {
    const all = Array.from({ length: 9 }, () => randomUUID());
    for (const tenant of all) await wait(tenant, 6);
    for (let round = 1; round <= 3; round++) {
      const given: string[] = [];
      for (let n = 0; n < all.length; n++) {
        given.push(...tenants(await admit(1)));
        await end();
      }
      expect([round, new Set(given).size]).toEqual([round, all.length]);
    }
    const late = randomUUID();
    await wait(late, 6);
    const given: string[] = [];
    for (let n = 0; n <= all.length; n++) {
      given.push(...tenants(await admit(1)));
      await end();
    }
    // A newcomer is first among its equals, and gets nothing for the time before it came.
    expect(given[0]).toBe(late);
    expect(new Set(given).size).toBe(all.length + 1);
  });

  it('RUN-10 gives a tenant that asks for one place at a time no more than its part of a round', async () => {
    const all = Array.from({ length: 4 }, () => randomUUID());
    for (const tenant of all) await wait(tenant, 20);
    const single = randomUUID();
    const given: string[] = [];
    let away = 0;
    await wait(single, 1);
    for (let n = 0; n < 30; n++) {
      const [tenant = ''] = tenants(await admit(1));
      given.push(tenant);
      // Gone for one hand-over after each place it got: what it was given is not forgotten meanwhile.
      if (tenant === single) away = 2;
      if (away > 0) away -= 1;
      if (away === 0 && tenant !== single && (await waiting(single)) === 0) await wait(single, 1);
      await end();
    }
    const places = given.filter((tenant) => tenant === single).length;
    expect(places).toBeGreaterThanOrEqual(5);
    expect(places).toBeLessThanOrEqual(7);
  });

  it('RUN-10 gives a tenant of weight three three places for each one of a tenant of weight one', async () => {
    const heavy = await weigh(randomUUID(), 3);
    const light = await weigh(randomUUID(), 1);
    await wait(heavy, 60);
    await wait(light, 60);
    const given: string[] = [];
    for (let n = 0; n < 40; n++) {
      given.push(...tenants(await admit(1)));
      await end();
    }
    const heavies = given.filter((tenant) => tenant === heavy).length;
    expect(heavies).toBeGreaterThanOrEqual(29);
    expect(heavies).toBeLessThanOrEqual(31);
    // Also at once: of what is in flight each holds its share.
    const together = await admit(16);
    expect(count(together, heavy)).toBe(12);
  });

  it('RUN-10 leaves no place empty while a row waits, and gives no row twice', async () => {
    const tenant = fc.record({
      rows: fc.integer({ min: 0, max: 12 }),
      running: fc.integer({ min: 0, max: 6 }),
      weight: fc.integer({ min: 1, max: 5 }),
      late: fc.integer({ min: 0, max: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(tenant, { minLength: 1, maxLength: 5 }),
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 6 }),
        async (drawn, limits) => {
          for (const table of ['outbox', 'side_calls', 'tenant_shares', 'tenants'])
            await database.root.query(`DELETE FROM turnwright.${table}`);
          for (const { rows, running, weight, late } of drawn) {
            const id = await weigh(randomUUID(), weight);
            await wait(id, rows);
            await run(id, running);
            await wait(id, late, { dueInMs: 60_000 });
          }
          let left = drawn.reduce((sum, { rows }) => sum + rows, 0);
          const seen = new Set<string>();
          for (const limit of limits) {
            const rows = await admit(limit, rules({ perSlot: 1_000, tenantShare: 0.3 }));
            expect(rows).toHaveLength(Math.min(limit, left));
            left -= rows.length;
            for (const { actor } of rows) seen.add(actor);
          }
          const { rowCount } = await database.root.query(
            'SELECT FROM turnwright.outbox WHERE admitted_at IS NOT NULL',
          );
          expect(seen.size).toBe(rowCount);
        },
      ),
      { numRuns: 15 },
    );
  });

  beforeEach(() => slots(4));
});

describe('the limits of a tenant', () => {
  it('RUN-10 a share binds while others wait, whatever the weight, and costs nobody an idle slot', async () => {
    await slots(8);
    const greedy = await weigh(randomUUID(), 1_000);
    const modest = await weigh(randomUUID(), 1);
    await wait(greedy, 40);
    await wait(modest, 2);
    const first = await admit(8, rules({ tenantShare: 0.5 }));
    expect([count(first, greedy), count(first, modest)]).toEqual([6, 2]);
    await wait(modest, 4);
    const second = await admit(3, rules({ tenantShare: 0.5 }));
    expect([count(second, greedy), count(second, modest)]).toEqual([1, 2]);
    await database.root.query('DELETE FROM turnwright.outbox WHERE tenant_id = $1', [modest]);
    expect(await admit(5, rules({ tenantShare: 0.5 }))).toHaveLength(5);
  });

  it('RUN-10 a hard limit counts what is in the queue and what runs, in this pool alone', async () => {
    const tenant = randomUUID();
    await slots(8);
    await run(tenant, 1);
    await run(tenant, 5, 'tool');
    await wait(tenant, 1, { admitted: true });
    await wait(tenant, 20);
    const limited = rules({ tenantRunning: 3 });
    expect(await admit(10, limited)).toHaveLength(1);
    expect(await admit(10, limited)).toHaveLength(0);
    await end();
    expect(await admit(10, limited)).toHaveLength(2);
  });

  it('hands out no more than the live slots take, over all processes, and says so', async () => {
    const tenant = randomUUID();
    await wait(tenant, 20);
    expect(await upkeep.admit('step', 10, rules())).toBeNull();
    await slots(1);
    await slots(2);
    expect(await admit(4, rules())).toHaveLength(4);
    expect(await admit(4, rules())).toHaveLength(2);
    expect(await upkeep.admit('step', 4, rules())).toBeNull();
    await database.root.query(`UPDATE turnwright.workers SET beat_at = now() - interval '2 minutes'`);
    await end();
    expect(await upkeep.admit('step', 4, rules())).toBeNull();
  });
});

describe('what admission costs', () => {
  /** Pages the statement touched. */
  async function pages(statement: string): Promise<number> {
    const client = await database.upkeep.connect();
    try {
      // The second run has its plans.
      for (let n = 0; n < 2; n++) await client.query(statement);
      await client.query('BEGIN');
      const { rows } = await client.query<{ 'QUERY PLAN': readonly [{ Plan: Record<string, number> }] }>(
        `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${statement}`,
      );
      await client.query('ROLLBACK');
      const plan = rows[0]?.['QUERY PLAN'][0].Plan ?? {};
      return (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);
    } finally {
      client.release();
    }
  }

  it('does not grow with the backlog of a tenant: due, delayed, or of statistics taken before the flood', async () => {
    const [flooding, other] = [randomUUID(), randomUUID()];
    await slots(4);
    await wait(flooding, 60);
    await wait(other, 60);
    await database.root.query('ANALYZE turnwright.outbox, turnwright.side_calls');
    const statements = [
      "SELECT turnwright.admit('step', 4)",
      'SELECT * FROM turnwright.pool_room(60000)',
    ] as const;
    const before = [await pages(statements[0]), await pages(statements[1])] as const;
    await wait(flooding, 6_000);
    await wait(flooding, 1_000, { dueInMs: 600_000 });
    const after = [await pages(statements[0]), await pages(statements[1])] as const;
    expect(before[0]).toBeGreaterThan(0);
    for (const at of [0, 1] as const) expect(after[at]).toBeLessThanOrEqual(before[at] * COST_GROWTH + 20);
  });
});

describe('the depth of a pool', () => {
  it('RUN-11 is what no worker has taken, prioritised, waiting and delayed, as it stands in the rows', async () => {
    await slots(3);
    const tenant = randomUUID();
    await wait(tenant, 3, { admitted: true });
    await wait(tenant, 4);
    await wait(tenant, 5, { priority: 3 });
    await wait(tenant, 6, { dueInMs: 60_000 });
    await wait(tenant, 2, { pool: 'tool', dueInMs: 60_000 });
    await run(tenant, 3);
    const state = async (counted: boolean, pool: string) =>
      (await upkeep.poolState(LEASE_MS, counted)).find((one) => one.pool === pool);
    expect(await state(true, 'step')).toMatchObject({ concurrency: 3, admitted: 3, backlog: 9, delayed: 6 });
    expect(await state(true, 'tool')).toMatchObject({ concurrency: 0, admitted: 0, backlog: 0, delayed: 2 });
    expect((await state(true, 'step'))?.oldestSeconds).toBeGreaterThanOrEqual(1);
    expect(await state(false, 'step')).toMatchObject({ concurrency: 3, admitted: 3, backlog: 1 });
    expect(await state(false, 'tool')).toMatchObject({ concurrency: 0, admitted: 0, backlog: 0 });
  });
});
