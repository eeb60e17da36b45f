import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { PostgresNotices } from '../../../src/db/notices.ts';
import {
  LIMITS_CHANNEL,
  PostgresRateLimits,
  type RateAnswer,
  type RateRefusal,
  type RateRequest,
  type RateSettlement,
} from '../../../src/db/rate-limits.ts';
import { PostgresUpkeep } from '../../../src/db/upkeep.ts';
import { RateLimitModel } from '../../reference/rate-limits.ts';
import { until } from '../../support/await.ts';
import { type MigratedDatabase, migratedDatabase, refusal } from './migrated.ts';

const KEYS = ['key-a', 'key-b'] as const;
const TENANTS = ['00000000-0000-7000-8000-00000000000a', '00000000-0000-7000-8000-00000000000b'] as const;
const LIVE = '00000000-0000-7000-8000-0000000000f1';
const GONE = '00000000-0000-7000-8000-0000000000f2';
const LEASE_MS = 6_000;
const START_MS = 1_800_000_000_000;
/** Doubles of both sides, added in another order. */
const DIGITS = 4;

let database: MigratedDatabase;
let store: PostgresRateLimits;

beforeAll(async () => {
  database = await migratedDatabase();
  store = new PostgresRateLimits(database.app);
  await database.root.query(
    `INSERT INTO turnwright.workers (worker_id, host, pid, pools, beat_at)
      VALUES ($1, 'here', 1, '{}', '2999-01-01'), ($2, 'here', 2, '{}', '2001-01-01')`,
    [LIVE, GONE],
  );
});
afterAll(() => database.close());
beforeEach(async () => {
  for (const table of ['rate_limits', 'rate_waits', 'rate_slots'])
    await database.root.query(`DELETE FROM turnwright.${table}`);
});

const NONE = { requestsPerMinute: null, tokensPerMinute: null, concurrent: null };

function request(over: Partial<RateRequest> = {}): RateRequest {
  return {
    key: KEYS[0],
    tenant: TENANTS[0],
    call: `${randomUUID()}~step-1`,
    worker: LIVE,
    tokens: 0,
    inPlaceMs: 250,
    leaseMs: LEASE_MS,
    ...NONE,
    ...over,
  };
}

type Operation =
  | { readonly kind: 'take'; readonly request: RateRequest }
  | { readonly kind: 'settle'; readonly settlement: RateSettlement }
  | { readonly kind: 'penalise'; readonly refusal: RateRefusal }
  | { readonly kind: 'pass'; readonly ms: number };

const allowance = fc.record({
  requestsPerMinute: fc.constantFrom(null, null, 1, 7, 60, 600),
  tokensPerMinute: fc.constantFrom(null, null, 90, 10_000),
  concurrent: fc.constantFrom(null, null, 1, 2),
});
const key = fc.constantFrom(...KEYS);
const call = fc.integer({ min: 0, max: 9 }).map((n) => `call~${n}`);
const worker = fc.constantFrom(LIVE, LIVE, LIVE, GONE);
const tokens = fc.constantFrom(0, 3, 250, 2_000);

const operation: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc
      .record({ key, tenant: fc.constantFrom(...TENANTS), call, worker, tokens, allowance })
      .map(({ allowance: limits, ...rest }) => ({
        kind: 'take' as const,
        request: { ...request(rest), ...limits },
      })),
  },
  {
    weight: 3,
    arbitrary: fc
      .record({
        key,
        call,
        worker,
        reservedTokens: tokens,
        usedTokens: tokens,
        tokensPerMinute: fc.constantFrom(null, 90, 10_000),
      })
      .map((settlement) => ({ kind: 'settle' as const, settlement })),
  },
  {
    weight: 2,
    arbitrary: fc
      .record({
        key,
        pauseMs: fc.integer({ min: 0, max: 40_000 }),
        sentAgoMs: fc.integer({ min: 0, max: 3_000 }),
        pacedMs: fc.option(fc.integer({ min: 1, max: 5_000 })),
      })
      .map((refused) => ({ kind: 'penalise' as const, refusal: refused })),
  },
  {
    weight: 6,
    arbitrary: fc
      .oneof(fc.integer({ min: 0, max: 400 }), fc.integer({ min: 0, max: 90_000 }))
      .map((ms) => ({ kind: 'pass' as const, ms })),
  },
);

const takes = (name: string, over: Partial<RateRequest> = {}): Operation => ({
  kind: 'take',
  request: request({ call: name, ...over }),
});

/** A history that leaves by every way out, whatever the random ones do. */
const EVERY_WAY: readonly Operation[] = [
  takes('free'),
  takes('a', { requestsPerMinute: 7 }),
  takes('b', { requestsPerMinute: 7 }),
  takes('c', { requestsPerMinute: 7 }),
  { kind: 'pass', ms: 9_000 },
  takes('late', { requestsPerMinute: 7 }),
  { kind: 'pass', ms: 300_000 },
  takes('d', { tokensPerMinute: 90, tokens: 40 }),
  takes('e', { tokensPerMinute: 90, tokens: 40 }),
  { kind: 'pass', ms: 300_000 },
  takes('f', { concurrent: 1 }),
  takes('g', { concurrent: 1 }),
  { kind: 'pass', ms: 300_000 },
  { kind: 'penalise', refusal: { key: KEYS[0], pauseMs: 1_000, sentAgoMs: 0, pacedMs: null } },
  takes('h'),
  { kind: 'pass', ms: 800 },
  takes('i', { tenant: TENANTS[1] }),
  takes('j', { tenant: TENANTS[1] }),
  { kind: 'pass', ms: 600_000 },
  { kind: 'penalise', refusal: { key: KEYS[0], pauseMs: 100, sentAgoMs: 0, pacedMs: null } },
  { kind: 'pass', ms: 10 },
  { kind: 'penalise', refusal: { key: KEYS[0], pauseMs: 100, sentAgoMs: 50, pacedMs: null } },
  { kind: 'pass', ms: 20_000 },
  takes('k'),
  takes('l'),
  { kind: 'penalise', refusal: { key: KEYS[0], pauseMs: 100, sentAgoMs: 5, pacedMs: null } },
  { kind: 'pass', ms: 5_000 },
  takes('m'),
  takes('n'),
];

/** One operation at a time of the test's own. */
async function inDatabase(done: Operation, nowMs: number): Promise<RateAnswer | null> {
  const ask = async (text: string, values: readonly unknown[]) =>
    (await database.app.query<{ value: RateAnswer | null }>(text, [...values, nowMs])).rows[0]?.value ?? null;
  switch (done.kind) {
    case 'take': {
      const { request: r } = done;
      const limits = [r.requestsPerMinute, r.tokensPerMinute, r.concurrent, r.inPlaceMs, r.leaseMs];
      return ask('SELECT turnwright.rate_take($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) AS value', [
        ...[r.key, r.tenant, r.call, r.worker, r.tokens],
        ...limits,
      ]);
    }
    case 'settle': {
      const { settlement: s } = done;
      const values = [s.key, s.call, s.worker, s.reservedTokens, s.usedTokens, s.tokensPerMinute];
      await ask('SELECT turnwright.rate_settle($1, $2, $3, $4, $5, $6, $7) AS value', values);
      return null;
    }
    case 'penalise': {
      const { refusal: r } = done;
      const values = [r.key, r.pauseMs, r.sentAgoMs, r.pacedMs];
      await ask('SELECT turnwright.rate_penalise($1, $2, $3, $4, $5) AS value', values);
      return null;
    }
    case 'pass':
      return null;
  }
}

async function inModel(model: RateLimitModel, done: Operation): Promise<RateAnswer | null> {
  if (done.kind === 'take') return model.take(done.request);
  if (done.kind === 'settle') await model.settle(done.settlement);
  if (done.kind === 'penalise') await model.penalise(done.refusal);
  return null;
}

const rounded = (answer: RateAnswer | null) =>
  answer === null ? null : { ...answer, waitMs: Number(answer.waitMs.toFixed(DIGITS)) };

describe('the limiter in the database', () => {
  it('answers as the arithmetic it is specified by, whatever is asked of it', async () => {
    let answers = 0;
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 5, maxLength: 40 }), async (operations) => {
        for (const table of ['rate_limits', 'rate_waits', 'rate_slots'])
          await database.root.query(`DELETE FROM turnwright.${table}`);
        let nowMs = START_MS;
        const model = new RateLimitModel({ nowMs: () => nowMs, alive: (id) => id === LIVE });
        for (const done of operations) {
          if (done.kind === 'pass') nowMs += done.ms;
          const found = await inDatabase(done, nowMs);
          const expected = await inModel(model, done);
          expect(rounded(found)).toEqual(rounded(expected));
          if (found === null) continue;
          answers += 1;
          seen.add(found.granted ? `granted ${found.limited} ${found.waitMs > 0}` : found.cause);
        }
        const { rows } = await database.app.query<{ keys: string[] }>(
          'SELECT turnwright.rate_limited($1) AS keys',
          [nowMs],
        );
        expect(rows[0]?.keys).toEqual(await model.limited());
      }),
      { numRuns: 60, examples: [[[...EVERY_WAY]]] },
    );
    expect(answers).toBeGreaterThan(300);
    // Each way out was taken: at once, after a wait, unlimited, and held back for each cause.
    const ways = ['granted true false', 'granted true true', 'granted false false'];
    expect([...seen].sort()).toEqual(
      [...ways, 'concurrent', 'line', 'pause', 'requests', 'spacing', 'tokens'].sort(),
    );
  });

  it('counts calls of several processes by one clock: a hundred at once get a minute’s allowance in order', async () => {
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => store.take(request({ requestsPerMinute: 60 }))),
    );
    const granted = answers.filter((answer) => answer.granted);
    // A tenth of a minute’s allowance at once, and what came free while they asked.
    expect(granted.length).toBeGreaterThanOrEqual(6);
    expect(granted.length).toBeLessThanOrEqual(20);
    const waits = answers.filter((answer) => !answer.granted).map(({ waitMs }) => waitMs);
    expect(new Set(waits.map((wait) => Math.round(wait))).size).toBeGreaterThan(20);
  });

  it('frees the places of a worker that is gone, and of no other', async () => {
    const limited = { concurrent: 1 };
    await store.take(request({ ...limited, worker: GONE }));
    expect(await store.take(request({ ...limited, worker: LIVE }))).toMatchObject({ granted: true });
    expect(await store.take(request({ ...limited, worker: LIVE }))).toMatchObject({
      granted: false,
      cause: 'concurrent',
    });
    await new PostgresUpkeep(database.upkeep).retire(GONE);
    await store.limited();
    const { rows } = await database.root.query('SELECT worker_id AS worker FROM turnwright.rate_slots');
    expect(rows).toEqual([{ worker: LIVE }]);
  });

  it('tells every process of a refusal, by the key', async () => {
    const notices = new PostgresNotices({ url: database.url, pool: database.app, onError: () => {} });
    try {
      const heard: string[] = [];
      await notices.listen(LIMITS_CHANNEL, (payload) => heard.push(payload));
      await store.penalise({ key: KEYS[1], pauseMs: 5_000, sentAgoMs: 0, pacedMs: null });
      await until('the notice came', () => heard.length > 0);
      expect(heard).toEqual([KEYS[1]]);
      expect(await store.limited()).toEqual([KEYS[1]]);
    } finally {
      await notices.close();
    }
  });

  it('lets no role read or change its tables but through its functions', async () => {
    await store.take(request({ requestsPerMinute: 60 }));
    for (const table of ['rate_limits', 'rate_waits', 'rate_slots'])
      for (const pool of [database.app, database.upkeep])
        for (const statement of [`SELECT FROM turnwright.${table}`, `DELETE FROM turnwright.${table}`])
          expect([statement, await refusal(pool.query(statement))]).toEqual([statement, '42501']);
    const asked = database.upkeep.query('SELECT turnwright.rate_limited()');
    expect(await refusal(asked)).toBe('42501');
  });
});
