/** A commit that breaks off between the write of a record and that of the number that follows it. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Commit } from '../../../src/db/contract.ts';
import { PostgresStore } from '../../../src/db/store.ts';
import { ChainVerifier } from '../../../src/ledger/verify.ts';
import { SessionUnderTest } from '../../contract/session-under-test.ts';
import { type MigratedDatabase, migratedDatabase } from './migrated.ts';

/** What a step's commit writes: the numbers that follow, the records, and rows that point at both. */
const TABLES = ['sessions', 'records', 'evictions', 'turns', 'heads'] as const;

let database: MigratedDatabase;
let store: PostgresStore;
let session: SessionUnderTest;

beforeAll(async () => {
  database = await migratedDatabase();
  store = new PostgresStore(database.app);
  await database.root.query(`CREATE FUNCTION turnwright.torn() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'the disk is full' USING ERRCODE = '53100'; END $$`);
});
afterAll(() => database.close());
beforeEach(async () => {
  session = await SessionUnderTest.open(store, await database.newTenant());
});

/** The whole of a step: it begins the turn, replies, evicts and closes. */
async function step(turn: string): Promise<Commit> {
  return session.build((builder) => {
    const begun = { utc: '2026-01-02T03:04:05.000Z', timezone: 'UTC' };
    const from = builder.nextItem;
    builder.append(session.head, { kind: 'turn-context', turnId: turn, body: begun });
    builder.append(session.head, {
      kind: 'assistant-message',
      turnId: turn,
      body: { step: 1, content: [{ type: 'text', text: 'the answer' }], finish: 'stop' },
    });
    const body = { from, to: from, note: null, author: 'harness' as const };
    const seq = builder.append(session.head, { kind: 'evicted', turnId: turn, body });
    builder.lists.evictions.push({ ...body, head: session.head, seq });
    builder.lists.turnChanges.push({ turn, status: 'running' });
    builder.lists.heads.push({ head: session.head, openTurn: turn });
  });
}

async function verified() {
  const verifier = new ChainVerifier(session.ref.session);
  for await (const record of store.records(session.ref)) verifier.next(record);
  return verifier.end(await session.headNow());
}

describe('a commit that is torn', () => {
  it.each(TABLES)(
    'EVT-03 LED-01 fault 21: at "%s" writes nothing, and the next one stands where it would have',
    async (table) => {
      const { turn } = await session.accept({ text: 'the question' });
      const commit = await step(turn);
      const before = await database.dump();
      await database.root.query(
        `CREATE CONSTRAINT TRIGGER torn AFTER INSERT OR UPDATE ON turnwright.${table} FOR EACH ROW EXECUTE FUNCTION turnwright.torn()`,
      );
      const torn = await store.apply(commit).then(String, (error: unknown) => String(error));
      await database.root.query(`DROP TRIGGER torn ON turnwright.${table}`);
      expect(torn).toContain('the disk is full');
      expect(await database.dump()).toBe(before);
      expect(await store.apply(commit)).toBe('applied');
      expect(await verified()).toMatchObject({ ok: true });
    },
  );
});
