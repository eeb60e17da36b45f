import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { PostgresStore } from '../../../src/db/store.ts';
import { PostgresUsage, type UsageFilter, type UsageGroup } from '../../../src/db/usage.ts';
import type { BodyOf, RecordDraft } from '../../../src/ledger/kinds.ts';
import { SessionUnderTest } from '../../contract/session-under-test.ts';
import { type MigratedDatabase, migratedDatabase } from './migrated.ts';

type Receipt = BodyOf<'work-receipt'>;

const FRIDAY = '2026-03-06T23:59:59.999Z';
const SATURDAY = '2026-03-07T00:00:00.000Z';

let database: MigratedDatabase;
let usage: PostgresUsage;
let tenant: string;
let session: SessionUnderTest;

beforeAll(async () => {
  database = await migratedDatabase();
  usage = new PostgresUsage(database.app);
});
afterAll(() => database.close());
beforeEach(async () => {
  tenant = await database.newTenant();
  session = await open();
});

const open = (of = tenant) => SessionUnderTest.open(new PostgresStore(database.app), of);

function receipt(change: Partial<Receipt> = {}): RecordDraft {
  const body: Receipt = {
    child: 'step-1',
    step: 1,
    purpose: 'step',
    leg: 'main',
    provider: 'openai',
    model: 'm',
    attempt: 1,
    settlement: 'answered',
    problem: null,
    usage: {
      inputTokens: 1_000,
      cacheReadTokens: 200,
      cacheWriteTokens: 30,
      outputTokens: 4,
      reasoningTokens: 1,
    },
    at: FRIDAY,
    microUsd: 500,
    rate: 'leg:main',
    requestDigest: 'd',
    prefixDigest: null,
    requestBytes: 1,
    firstTokenMs: null,
    totalMs: 1,
    ...change,
  };
  return { kind: 'work-receipt', turnId: null, body };
}

const HIT = { request: 'hit', layers: { process: 'miss', store: 'hit' } } as const;
const MISS = { request: 'miss', layers: { process: 'miss', store: 'miss' } } as const;

async function report(by: UsageGroup, filter: UsageFilter = {}, limit = 100) {
  const rows = await usage.report(tenant, by, filter, limit);
  return rows.map(({ key, calls, microUsd }) => [key, calls, microUsd]);
}

describe('usage in Postgres', () => {
  it('CST-01 adds up a session of several legs, days and purposes, over hops', async () => {
    // One hop with two receipts of one key, and more of that key later.
    await session.append(receipt(), receipt({ microUsd: 7 }));
    await session.append(receipt({ microUsd: 11, at: SATURDAY }));
    await session.append(
      receipt({ leg: 'spare', microUsd: null, rate: null }),
      receipt({ purpose: 'summary', microUsd: 13 }),
      receipt({ purpose: 'probe', microUsd: 17, at: SATURDAY }),
      receipt({ microUsd: 0, cache: HIT }),
      receipt({ microUsd: 19, cache: MISS }),
      receipt({ usage: null, microUsd: null, rate: null, settlement: 'overloaded' }),
    );
    expect(await usage.sessionSpent(session.ref)).toEqual({ microUsd: 567, tokens: 7 * 1_234 });
    expect(await report('leg')).toEqual([
      ['main', 8, 567],
      ['spare', 1, 0],
    ]);
    expect(await report('purpose')).toEqual([
      ['step', 7, 537],
      ['probe', 1, 17],
      ['summary', 1, 13],
    ]);
    expect(await report('day')).toEqual([
      ['2026-03-07', 2, 28],
      ['2026-03-06', 7, 539],
    ]);
    const [whole] = await usage.report(tenant, 'session', {}, 1);
    expect(whole).toEqual({
      key: session.ref.session,
      calls: 9,
      inputTokens: 7_000,
      cacheReadTokens: 1_400,
      cacheWriteTokens: 210,
      outputTokens: 28,
      reasoningTokens: 7,
      microUsd: 567,
      priced: 7,
      unpriced: 1,
      looked: 2,
      cached: 1,
      processLooked: 2,
      processHits: 0,
      storeLooked: 2,
      storeHits: 1,
    });
  });

  it('CST-01 is told by session and by days, both included', async () => {
    const other = await open();
    await session.append(receipt(), receipt({ at: SATURDAY, microUsd: 3 }));
    await other.append(receipt({ microUsd: 900 }));
    const { session: id } = session.ref;
    expect(await report('session')).toEqual([
      [other.ref.session, 1, 900],
      [id, 2, 503],
    ]);
    expect(await report('session', {}, 1)).toHaveLength(1);
    expect(await report('leg', { session: id })).toEqual([['main', 2, 503]]);
    expect(await report('leg', { from: '2026-03-07' })).toEqual([['main', 1, 3]]);
    expect(await report('leg', { to: '2026-03-06' })).toEqual([['main', 2, 1_400]]);
    expect(await report('leg', { from: '2026-03-06', to: '2026-03-06', session: id })).toEqual([
      ['main', 1, 500],
    ]);
  });

  it('CST-01 counts a tenant by the day, and no other tenant with it', async () => {
    const foreign = await open(await database.newTenant());
    await session.append(receipt(), receipt({ at: SATURDAY, microUsd: 3 }));
    await (await open()).append(receipt({ microUsd: 40 }));
    await foreign.append(receipt({ microUsd: 9_000 }));
    expect(await usage.tenantSpent(tenant, '2026-03-06')).toBe(540);
    expect(await usage.tenantSpent(tenant, '2026-03-07')).toBe(3);
    expect(await usage.tenantSpent(tenant, '2026-03-08')).toBe(0);
    expect(await usage.sessionSpent({ tenant, session: foreign.ref.session })).toEqual({
      microUsd: 0,
      tokens: 0,
    });
  });

  it('CST-01 counts every call of many hops that race for one session', async () => {
    await Promise.all(
      Array.from({ length: 12 }, async () => {
        for (;;) {
          const commit = await session.build((builder) =>
            builder.append(session.head, receipt({ microUsd: 1 })),
          );
          if ((await session.store.apply(commit)) === 'applied') return;
        }
      }),
    );
    expect(await usage.sessionSpent(session.ref)).toEqual({ microUsd: 12, tokens: 12 * 1_234 });
  });

  it('CST-01 a session without calls has spent nothing', async () => {
    expect(await usage.sessionSpent(session.ref)).toEqual({ microUsd: 0, tokens: 0 });
    expect(await report('leg')).toEqual([]);
  });
});
