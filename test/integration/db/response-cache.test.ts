import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { withTenant } from '../../../src/db/pool.ts';
import { PostgresResponseCache } from '../../../src/db/response-cache.ts';
import { PostgresUpkeep } from '../../../src/db/upkeep.ts';
import { type MigratedDatabase, migratedDatabase, refusal } from './migrated.ts';

const PERMISSION_DENIED = '42501';
const HOUR_MS = 3_600_000;
const DIGEST = 'ab'.repeat(32);
const OTHER_DIGEST = 'cd'.repeat(32);

let database: MigratedDatabase;
let cache: PostgresResponseCache;
let tenant: string;

beforeAll(async () => {
  database = await migratedDatabase();
  cache = new PostgresResponseCache(database.app);
});
afterAll(() => database.close());
beforeEach(async () => {
  await database.root.query('DELETE FROM turnwright.response_cache');
  tenant = await database.newTenant();
});

/** Time that passes for every kept reply at once. */
async function elapse(ms: number): Promise<void> {
  await database.root.query(
    'UPDATE turnwright.response_cache SET created_at = created_at - $1::interval, expires_at = expires_at - $1::interval',
    [`${ms} milliseconds`],
  );
}

describe('replies in Postgres', () => {
  it('CST-02 come back byte for byte, with the time they have left and their size', async () => {
    const reply = JSON.stringify({ text: 'Aale, ウナギ, \0 and \uD800' });
    await cache.keep({ tenant, digest: DIGEST }, reply, HOUR_MS);
    await elapse(HOUR_MS / 2);
    const row = await cache.read({ tenant, digest: DIGEST });
    expect(row?.reply).toBe(reply);
    expect(row?.leftMs).toBeGreaterThan(0);
    expect(row?.leftMs).toBeLessThanOrEqual(HOUR_MS / 2 + 1);
    expect(await cache.read({ tenant, digest: OTHER_DIGEST })).toBeNull();
    const { rows } = await database.root.query('SELECT reply_bytes FROM turnwright.response_cache');
    expect(rows).toEqual([{ reply_bytes: Buffer.byteLength(reply) }]);
  });

  it('CST-02 are not served once their time is over, though the row still stands', async () => {
    const key = { tenant, digest: DIGEST };
    await cache.keep(key, '"Eels."', HOUR_MS);
    await elapse(HOUR_MS);
    expect(await cache.read(key)).toBeNull();
    expect((await database.root.query('SELECT FROM turnwright.response_cache')).rowCount).toBe(1);
  });

  it('CST-02 are kept by whoever comes first, and replaced only when their time is over', async () => {
    const key = { tenant, digest: DIGEST };
    const other = { tenant, digest: OTHER_DIGEST };
    await cache.keep(key, '"first"', HOUR_MS);
    await cache.keep(other, '"other"', 9 * HOUR_MS);
    await cache.keep(key, '"second"', 2 * HOUR_MS);
    expect(await cache.read(key)).toMatchObject({ reply: '"first"' });
    await elapse(HOUR_MS);
    await cache.keep(key, '"a third"', HOUR_MS);
    expect(await cache.read(key)).toMatchObject({ reply: '"a third"' });
    expect(await cache.read(other)).toMatchObject({ reply: '"other"' });
    const { rows } = await database.root.query(
      `SELECT reply_bytes, created_at > now() - interval '30 minutes' AS fresh FROM turnwright.response_cache ORDER BY key`,
    );
    expect(rows).toEqual([
      { reply_bytes: 9, fresh: true },
      { reply_bytes: 7, fresh: false },
    ]);
  });

  it('CST-02 kept by many at once are one of theirs, and harm no other', async () => {
    const replies = Array.from({ length: 12 }, (_, n) => `"reply ${n}"`);
    await Promise.all([
      ...replies.map((reply) => cache.keep({ tenant, digest: DIGEST }, reply, HOUR_MS)),
      ...replies.map((reply, n) =>
        cache.keep({ tenant, digest: n.toString(16).padStart(64, '0') }, reply, HOUR_MS),
      ),
    ]);
    const shared = await cache.read({ tenant, digest: DIGEST });
    expect(replies).toContain(shared?.reply);
    const own = await Promise.all(
      replies.map((_, n) => cache.read({ tenant, digest: n.toString(16).padStart(64, '0') })),
    );
    expect(own.map((row) => row?.reply)).toEqual(replies);
  });

  it('CST-02 of one tenant are no other one’s, even under the same key', async () => {
    const other = await database.newTenant();
    await cache.keep({ tenant, digest: DIGEST }, '"mine"', HOUR_MS);
    expect(await cache.read({ tenant: other, digest: DIGEST })).toBeNull();
    await cache.keep({ tenant: other, digest: DIGEST }, '"yours"', HOUR_MS);
    expect(await cache.read({ tenant, digest: DIGEST })).toMatchObject({ reply: '"mine"' });
    const seen = await withTenant(database.app, other, (client) =>
      client.query('SELECT reply FROM turnwright.response_cache'),
    );
    expect(seen.rows).toEqual([{ reply: '"yours"' }]);
    expect((await database.app.query('SELECT FROM turnwright.response_cache')).rowCount).toBe(0);
  });
});

describe('upkeep of replies', () => {
  it('CST-02 deletes those of every tenant whose time is over, a bounded number at once, and no other', async () => {
    const upkeep = new PostgresUpkeep(database.upkeep);
    const other = await database.newTenant();
    await database.root.query(
      `INSERT INTO turnwright.response_cache (tenant_id, key, reply, reply_bytes, expires_at)
        SELECT CASE n % 2 WHEN 0 THEN $1::uuid ELSE $2 END, n::text, '1', 1, now() - make_interval(secs => n)
        FROM generate_series(1, 1500) n`,
      [tenant, other],
    );
    await cache.keep({ tenant, digest: DIGEST }, '"young"', HOUR_MS);
    await upkeep.compact(1);
    const { rows } = await database.root.query<{ key: string }>(
      'SELECT key FROM turnwright.response_cache ORDER BY expires_at DESC',
    );
    const youngest = Array.from({ length: rows.length - 1 }, (_, n) => `${n + 1}`);
    expect(rows.map(({ key }) => key)).toEqual([DIGEST, ...youngest]);
    expect(rows.length).toBeGreaterThan(1);
    expect(rows.length).toBeLessThan(1_500);
    await upkeep.compact(1);
    expect((await database.root.query('SELECT key FROM turnwright.response_cache')).rows).toEqual([
      { key: DIGEST },
    ]);
  });

  it('CST-02 reads none of them', async () => {
    const read = database.upkeep.query('SELECT reply FROM turnwright.response_cache');
    expect(await refusal(read)).toBe(PERMISSION_DENIED);
  });
});
