import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { PostgresStore } from '../../../src/db/store.ts';
import { PostgresUpkeep } from '../../../src/db/upkeep.ts';
import { chainRecords } from '../../../src/ledger/chain.ts';
import { ChainVerifier, type Verdict } from '../../../src/ledger/verify.ts';
import { SessionUnderTest } from '../../contract/session-under-test.ts';
import { type MigratedDatabase, migratedDatabase, refusal, tampering } from './migrated.ts';

const REFUSED = 'TW010';
/** Over the 8 KiB that stand in the record's own row. */
const LARGE_TEXT = 'x'.repeat(9_000);

let database: MigratedDatabase;
let store: PostgresStore;
let session: SessionUnderTest;

beforeAll(async () => {
  database = await migratedDatabase();
  store = new PostgresStore(database.app);
});
afterAll(() => database.close());
beforeEach(async () => {
  session = await SessionUnderTest.open(store, await database.newTenant());
});

async function verify(): Promise<Verdict> {
  const verifier = new ChainVerifier(session.ref.session);
  for await (const record of store.records(session.ref)) if (!verifier.next(record)) break;
  return verifier.end(await session.headNow());
}

async function recordOf(kind: string): Promise<{ seq: number; bodyDigest: string; body: string | null }> {
  for await (const record of store.records(session.ref)) if (record.kind === kind) return record;
  throw new Error(`no ${kind} record`);
}

/** Runs statements in one transaction, as a role and within the session's tenant. */
async function inTransaction(role: string | null, statements: readonly pg.QueryConfig[]): Promise<void> {
  const client = await database.root.connect();
  try {
    await client.query('BEGIN');
    if (role !== null) await client.query(`SET LOCAL ROLE ${role}`);
    await client.query("SELECT set_config('turnwright.tenant', $1, true)", [session.ref.tenant]);
    for (const statement of statements) await client.query(statement);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  } finally {
    client.release();
  }
}

/** The `erased` record of `seq`, as an insert that follows the chain, and the session's new end. */
async function erasedRecord(seq: number, digest: string): Promise<readonly pg.QueryConfig[]> {
  const head = await session.headNow();
  const draft = { kind: 'erased', turnId: null, body: { seq, digest } } as const;
  const [record] = chainRecords(head, [{ headId: session.head, draft }]);
  if (record === undefined) throw new Error('one draft makes one record');
  const { tenant, session: id } = session.ref;
  const { body, bytes, bodyDigest, prevDigest } = record;
  return [
    {
      text: `INSERT INTO turnwright.records (tenant_id, session_id, seq, head_id, kind, class, body, bytes, body_digest, digest, prev_digest)
        VALUES ($1, $2, $3, $4, 'erased', 'protocol', $5, $6, decode($7, 'hex'), decode($8, 'hex'), decode($9, 'hex'))`,
      values: [tenant, id, record.seq, session.head, body, bytes, bodyDigest, record.digest, prevDigest],
    },
    {
      text: `UPDATE turnwright.sessions SET next_seq = next_seq + 1, last_digest = decode($3, 'hex') WHERE tenant_id = $1 AND session_id = $2`,
      values: [tenant, id, record.digest],
    },
  ];
}

const emptied = (seq: number): pg.QueryConfig => ({
  text: 'UPDATE turnwright.records SET body = NULL WHERE session_id = $1 AND seq = $2',
  values: [session.ref.session, seq],
});
const emptiedLarge = (digest: string): pg.QueryConfig => ({
  text: `UPDATE turnwright.bodies SET body = NULL WHERE session_id = $1 AND digest = decode($2, 'hex')`,
  values: [session.ref.session, digest],
});

describe('the originals', () => {
  beforeEach(async () => {
    await session.accept({ text: 'hello' });
    await session.accept({ text: LARGE_TEXT });
  });

  const CHANGES = [
    "UPDATE turnwright.records SET kind = 'reading'",
    "UPDATE turnwright.records SET body = '{}' WHERE body IS NOT NULL",
    'UPDATE turnwright.records SET body = NULL WHERE body IS NOT NULL',
    'UPDATE turnwright.records SET seq = seq + 1000',
    'DELETE FROM turnwright.records',
    "UPDATE turnwright.bodies SET body = '{}'",
    'UPDATE turnwright.bodies SET body = NULL',
    'DELETE FROM turnwright.bodies',
    'TRUNCATE turnwright.records',
    'TRUNCATE turnwright.bodies',
  ];

  it.each(CHANGES)('LED-01 refuse "%s", even of a superuser', async (sql) => {
    const before = await database.dump();
    expect(await refusal(database.root.query(sql))).toBe(REFUSED);
    expect(await database.dump()).toBe(before);
  });

  it.each(CHANGES)('LED-01 are as they were after the owner tried "%s"', async (sql) => {
    const before = await database.dump();
    const code = await refusal(inTransaction('turnwright_owner', [{ text: sql }]));
    // Row security hides every row from the owner: what finds no row changes none.
    expect([REFUSED, null]).toContain(code);
    expect(await database.dump()).toBe(before);
  });

  it('LED-01 refuse the same of each of their partitions', async () => {
    const before = await database.dump();
    const { rows } = await database.root.query<{ name: string }>(
      `SELECT c.relname AS name FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid
        WHERE inhparent IN ('turnwright.records'::regclass, 'turnwright.bodies'::regclass) AND c.relkind = 'r' ORDER BY 1`,
    );
    expect(rows).toHaveLength(32);
    const answers = new Set<string | null>();
    for (const { name } of rows)
      answers.add(
        await refusal(inTransaction('turnwright_owner', [{ text: `TRUNCATE turnwright.${name}` }])),
      );
    expect([...answers]).toEqual([REFUSED]);
    expect(await database.dump()).toBe(before);
  });
});

describe('erasing a body', () => {
  it('LED-01 is let through in the transaction that appends its record, and the chain still verifies', async () => {
    await session.accept({ text: 'my name is secret' });
    const { seq, bodyDigest } = await recordOf('turn-accepted');
    await inTransaction(null, [...(await erasedRecord(seq, bodyDigest)), emptied(seq)]);
    expect((await recordOf('turn-accepted')).body).toBeNull();
    expect(await verify()).toMatchObject({ ok: true });
  });

  it('LED-01 works for a body that stands by its digest', async () => {
    await session.accept({ text: LARGE_TEXT });
    const { seq, bodyDigest } = await recordOf('turn-accepted');
    await inTransaction(null, [...(await erasedRecord(seq, bodyDigest)), emptiedLarge(bodyDigest)]);
    expect((await recordOf('turn-accepted')).body).toBeNull();
    expect(await verify()).toMatchObject({ ok: true });
  });

  it('LED-01 is refused without that record, and with one appended in another transaction', async () => {
    await session.accept({ text: 'kept' });
    const { seq, bodyDigest } = await recordOf('turn-accepted');
    expect(await refusal(inTransaction(null, [emptied(seq)]))).toBe(REFUSED);
    await inTransaction(null, await erasedRecord(seq, bodyDigest));
    expect(await refusal(inTransaction(null, [emptied(seq)]))).toBe(REFUSED);
    expect((await recordOf('turn-accepted')).body).toContain('kept');
  });

  it('LED-01 is refused when the record appended names another body', async () => {
    await session.accept({ text: 'kept' });
    const { seq } = await recordOf('turn-accepted');
    const other = await recordOf('head-created');
    const appended = await erasedRecord(other.seq, other.bodyDigest);
    expect(await refusal(inTransaction(null, [...appended, emptied(seq)]))).toBe(REFUSED);
  });

  it('LED-01 changes nothing but the body, even then', async () => {
    await session.accept({ text: 'kept' });
    const { seq, bodyDigest } = await recordOf('turn-accepted');
    const appended = await erasedRecord(seq, bodyDigest);
    const { text, values } = emptied(seq);
    for (const extra of ["body = '{}'", "body = NULL, kind = 'reading'", 'body = NULL, bytes = 0']) {
      const statement = { text: text.replace('body = NULL', extra), values: values ?? [] };
      expect(await refusal(inTransaction(null, [...appended, statement]))).toBe(REFUSED);
    }
  });
});

describe('large bodies', () => {
  const stored = async () => {
    const text = 'SELECT encode(digest, $2) AS digest FROM turnwright.bodies WHERE session_id = $1';
    const { rows } = await database.root.query<{ digest: string }>(text, [session.ref.session, 'hex']);
    return rows.map(({ digest }) => digest);
  };

  it('stand by their digest beyond 8 KiB, once however often they are written, and read back whole', async () => {
    const frame = JSON.stringify({ outcome: 'failed', reason: '', steps: 1 }).length;
    const closing = (letters: number) => ({
      kind: 'turn-closed' as const,
      turnId: null,
      body: { outcome: 'failed' as const, reason: 'r'.repeat(letters), steps: 1 },
    });
    await session.append(closing(8 * 1024 - frame));
    expect(await stored()).toEqual([]);
    const [large] = (await session.append(closing(8 * 1024 - frame + 1))).records;
    expect(await stored()).toEqual([large?.bodyDigest]);
    await session.append(closing(8 * 1024 - frame + 1));
    expect(await stored()).toEqual([large?.bodyDigest]);
    expect(await store.recordBody(session.ref, large?.seq ?? 0)).toBe(large?.body);
    expect(await verify()).toMatchObject({ ok: true, records: 5 });
  });

  it('are collected when no record points at them, and never otherwise', async () => {
    await session.accept({ text: LARGE_TEXT });
    const kept = await stored();
    const orphan = await session.build((builder) =>
      builder.append(session.head, {
        kind: 'turn-accepted',
        turnId: randomUUID(),
        body: {
          number: 9,
          input: [{ type: 'text', text: `${LARGE_TEXT} lost` }],
          mode: 'enqueue',
          priority: 0,
          asked: { digest: 'd' },
        },
      }),
    );
    await session.append({ kind: 'head-moved', turnId: null, body: { head: session.head } });
    expect(await store.apply(orphan)).toBe('conflict');
    expect(await stored()).toHaveLength(2);
    const upkeep = new PostgresUpkeep(database.upkeep);
    await upkeep.collectBodies();
    expect(await stored()).toHaveLength(2);
    await tampering(database.root, (client) =>
      client.query("UPDATE turnwright.bodies SET created_at = clock_timestamp() - interval '2 hours'"),
    );
    await upkeep.collectBodies();
    expect(await stored()).toEqual(kept);
    expect(await verify()).toMatchObject({ ok: true });
  });
});

describe('verification of a stored session', () => {
  interface Crime {
    readonly name: string;
    readonly sql: string;
    /** The record it names, counted from the first: 1 and 2 open the session, 3 and 4 accept turns. */
    readonly names: number;
  }
  const CRIMES: readonly Crime[] = [
    {
      name: 'a flipped byte in a body',
      sql: `body = replace(body, '"hello"', '"hallo"') WHERE seq = 3`,
      names: 3,
    },
    { name: 'an altered kind', sql: `kind = 'reading' WHERE seq = 3`, names: 3 },
    { name: 'an altered turn', sql: `turn_id = gen_random_uuid() WHERE seq = 3`, names: 3 },
    { name: 'an altered head', sql: `head_id = gen_random_uuid() WHERE seq = 3`, names: 3 },
    { name: 'an altered class', sql: `class = 'display' WHERE seq = 3`, names: 3 },
    { name: 'altered bytes', sql: `bytes = bytes + 1 WHERE seq = 3`, names: 3 },
    { name: 'an edited body digest', sql: `body_digest = '\\x00' WHERE seq = 3`, names: 3 },
    { name: 'an edited digest', sql: `digest = '\\x00' WHERE seq = 3`, names: 3 },
    { name: 'an edited previous digest', sql: `prev_digest = '\\x00' WHERE seq = 3`, names: 3 },
    { name: 'a missing body', sql: `body = NULL WHERE seq = 3`, names: 3 },
    { name: 'swapped rows', sql: `seq = CASE seq WHEN 3 THEN 2 ELSE 3 END WHERE seq IN (2, 3)`, names: 2 },
  ];

  beforeEach(async () => {
    await session.accept({ text: 'hello' });
    await session.accept({ text: LARGE_TEXT });
  });

  const commit = (sql: string) => tampering(database.root, (client) => client.query(sql));
  const here = () => `session_id = '${session.ref.session}'`;

  it.each(CRIMES)('LED-02 names the first bad record after $name', async ({ name, sql, names }) => {
    expect(await verify()).toMatchObject({ ok: true, records: 4 });
    // A primary key that holds row by row does not let two rows change places in one statement.
    if (name === 'swapped rows') {
      const set = (from: number, to: number) =>
        commit(`UPDATE turnwright.records SET seq = ${to} WHERE seq = ${from} AND ${here()}`);
      await set(3, 99);
      await set(2, 3);
      await set(99, 2);
    } else await commit(`UPDATE turnwright.records SET ${sql} AND ${here()}`);
    expect(await verify()).toMatchObject({ ok: false, fault: { seq: names } });
  });

  it('LED-02 names the first missing record after one was deleted, in the middle or at the end', async () => {
    await commit(`DELETE FROM turnwright.records WHERE seq = 4 AND ${here()}`);
    expect(await verify()).toMatchObject({ ok: false, fault: { seq: 4 } });
    await commit(`DELETE FROM turnwright.records WHERE seq = 2 AND ${here()}`);
    const verdict = await verify();
    expect(verdict).toMatchObject({ ok: false, fault: { problem: expect.stringContaining('record 2') } });
  });

  it('LED-02 names the record whose large body was altered or is gone', async () => {
    await commit(`UPDATE turnwright.bodies SET body = replace(body, 'xx', 'xy') WHERE ${here()}`);
    expect(await verify()).toMatchObject({
      ok: false,
      fault: { seq: 4, problem: expect.stringContaining('body') },
    });
    await commit(`DELETE FROM turnwright.bodies WHERE ${here()}`);
    expect(await verify()).toMatchObject({
      ok: false,
      fault: { seq: 4, problem: expect.stringContaining('body') },
    });
  });

  it('LED-02 finds that the end of the session was altered', async () => {
    await commit(`UPDATE turnwright.sessions SET last_digest = prev_digest FROM turnwright.records r
      WHERE r.session_id = sessions.session_id AND r.seq = 4 AND r.${here()}`);
    expect(await verify()).toMatchObject({ ok: false, fault: { seq: 4 } });
  });
});
