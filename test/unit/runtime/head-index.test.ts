import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { HeadIndexes } from '../../../src/runtime/head-index.ts';
import { SessionUnderTest } from '../../contract/session-under-test.ts';
import { createMemoryDatabase } from '../../simulation/memory/database.ts';

async function opened() {
  const store = createMemoryDatabase({ nowMs: () => 0 }).store();
  const session = await SessionUnderTest.open(store, randomUUID());
  const indexes = new HeadIndexes(store);
  const closed = async () => session.close((await session.accept()).turn);
  const get = (before: number) => indexes.get(session.ref, { head: session.head, epoch: 0, before }, null);
  return { store, session, indexes, closed, get };
}

describe('what a process knows of the closed turns of a head', () => {
  it('PLN-01 is every closed turn before the one that is planned, read on from what was known', async () => {
    const { session, indexes, closed, get } = await opened();
    for (let turn = 1; turn <= 3; turn++) await closed();
    expect((await get(4)).turns.count).toBe(3);
    expect(indexes.knownTo(session.ref.session)).toEqual({ turn: 3, recordSeq: 0 });
    await closed();
    const { turns } = await get(5);
    expect([turns.count, turns.last]).toEqual([4, 4]);
  });

  it('PLN-01 is no turn behind the one that is planned, though that one was closed first', async () => {
    const { session, closed, get } = await opened();
    await closed();
    const [second, third] = [await session.accept(), await session.accept()];
    await session.close(third.turn);
    expect((await get(second.number)).turns.last).toBe(1);
    await session.close(second.turn);
    const { turns } = await get(4);
    expect([turns.count, turns.last]).toEqual([3, 3]);
  });

  it('PLN-02 PLN-04 sees a packet and a reset that came while a turn ran', async () => {
    const { session, closed, get } = await opened();
    await closed();
    expect(await get(2)).toMatchObject({ packets: [], reset: null });
    const { turn } = await session.accept();
    let seq = 0;
    await session.commit((builder) => {
      const body = { behind: 1, throughStep: 1, text: 'so far', quality: 'model' } as const;
      seq = builder.append(session.head, { kind: 'reset', turnId: turn, body });
      builder.lists.resets.push({ head: session.head, seq });
      builder.lists.packets.push({ head: session.head, from: 1, to: 1, seq, bytes: 7, quality: 'model' });
    });
    expect(await get(2)).toMatchObject({ packets: [{ from: 1, to: 1, seq }], reset: seq });
  });
});
