import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PostgresStore } from '../../../src/db/store.ts';
import { PostgresTurnVectors } from '../../../src/db/turn-vectors.ts';
import { PostgresUpkeep } from '../../../src/db/upkeep.ts';
import { MACHINES } from '../../../src/machines/registry.ts';
import { rebuildSession } from '../../../src/runtime/rebuild.ts';
import { SessionUnderTest } from '../../contract/session-under-test.ts';
import { createMemoryDatabase } from '../../simulation/memory/database.ts';
import { type MigratedDatabase, migratedDatabase } from './migrated.ts';

/** Longer than a line of base64, and with both signs. */
const VECTOR = Buffer.from(Int8Array.from({ length: 200 }, (_, at) => at - 100)).toString('base64');
const ANOTHER = Buffer.from(Int8Array.from([127, -127])).toString('base64');

describe('places of turns in the database', () => {
  let database: MigratedDatabase;
  beforeAll(async () => {
    database = await migratedDatabase();
  });
  afterAll(() => database.close());

  const postgres = async () => ({
    store: new PostgresStore(database.app),
    upkeep: new PostgresUpkeep(database.upkeep),
    vectors: new PostgresTurnVectors(database.app),
    tenant: await database.newTenant(),
  });
  const memory = async () => {
    const made = createMemoryDatabase({ nowMs: () => Date.now() });
    return { store: made.store(), upkeep: made.upkeep(), vectors: made.turnVectors(), tenant: randomUUID() };
  };

  async function placed(
    session: SessionUnderTest,
    turn: string,
    model: string,
    vector: string,
  ): Promise<number> {
    let seq = 0;
    await session.commit((builder) => {
      const body = { turn, model, vector };
      seq = builder.append(session.head, { kind: 'turn-vector', turnId: null, body });
      builder.lists.vectors.push({ ...body, seq });
    });
    return seq;
  }

  describe.each([
    ['Postgres', postgres],
    ['memory', memory],
  ])('(%s)', (_, open) => {
    it('PLN-07 are read past what is known, of one model and one head, oldest record first', async () => {
      const { store, vectors, tenant } = await open();
      const session = await SessionUnderTest.open(store, tenant);
      const turns = [await session.accept(), await session.accept(), await session.accept()];
      for (const { turn } of turns) await session.close(turn);
      const [one, two, three] = turns;
      const seqs = [
        await placed(session, three?.turn ?? '', 'a', VECTOR),
        await placed(session, one?.turn ?? '', 'a', ANOTHER),
        await placed(session, two?.turn ?? '', 'b', ANOTHER),
      ];
      const after = { head: session.head, model: 'a', seq: 0, limit: 10 };
      const first = { number: 3, seq: seqs[0], vector: VECTOR };
      const second = { number: 1, seq: seqs[1], vector: ANOTHER };
      expect(await vectors.vectorsAfter(session.ref, after)).toEqual([first, second]);
      expect(await vectors.vectorsAfter(session.ref, { ...after, limit: 1 })).toEqual([first]);
      expect(await vectors.vectorsAfter(session.ref, { ...after, seq: first.seq ?? 0 })).toEqual([second]);
      expect(await vectors.vectorsAfter(session.ref, { ...after, head: randomUUID() })).toEqual([]);
      expect(await vectors.vectorsAfter({ ...session.ref, tenant: randomUUID() }, after)).toEqual([]);
    });

    it('PLN-07 LED-03 are what their records say', async () => {
      const { store, upkeep, tenant } = await open();
      const session = await SessionUnderTest.open(store, tenant);
      const { turn } = await session.accept();
      await session.close(turn);
      const seq = await placed(session, turn, 'a', VECTOR);
      expect((await store.sessionState(session.ref))?.vectors).toEqual([
        { turn, model: 'a', vector: VECTOR, seq },
      ]);
      const rebuilt = await rebuildSession({ store, upkeep, registry: MACHINES }, session.ref);
      expect(rebuilt.differences.filter(({ table }) => table === 'turn_vectors')).toEqual([]);
    });
  });
});
