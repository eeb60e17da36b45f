import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { SessionRef } from '../../../src/db/contract.ts';
import { brokenLaw } from '../../../src/ledger/invariants.ts';
import { POLICIES } from '../../../src/ledger/kinds.ts';
import { type ImportedMessage, importSession } from '../../../src/runtime/imported-history.ts';
import type { SessionConfig } from '../../../src/runtime/sessions.ts';
import { foldRecords } from '../../../src/runtime/turn-cache.ts';
import { openConversation } from '../../support/conversation.ts';
import { configOf, openLineage, recordsOf, textOf } from '../../support/lineage.ts';

const user = (text: string): ImportedMessage => ({ role: 'user', content: [{ type: 'text', text }] });
const assistant = (text: string): ImportedMessage => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
});
const IMAGE = { type: 'image', mediaType: 'image/png', data: 'aGVyb24=' } as const;

async function open(messages: readonly ImportedMessage[], config: SessionConfig = configOf('plan')) {
  const lineage = await openLineage(config);
  const ref = { tenant: lineage.ref.tenant, session: randomUUID() };
  const head = randomUUID();
  await importSession(lineage.engine, ref, { head, config, messages, newId: randomUUID });
  const views = async () =>
    (
      await lineage.store.history(ref, head, { from: 1, to: 999 }, [
        'turn-accepted',
        'reading',
        'turn-context',
        'assistant-message',
        'turn-closed',
      ])
    ).map(({ records }) => foldRecords(records));
  return { ...lineage, ref, head, views };
}

describe('a history that a session begins with', () => {
  it('LIN-04 is a closed turn for each message of the user, its answers the steps, in one commit', async () => {
    const said = [
      user('One?'),
      user('Two?'),
      assistant('Two'),
      assistant('it is.'),
      user('Three?'),
      assistant('3.'),
    ];
    const { store, ref, views } = await open(said);
    const turns = await views();
    expect(
      turns.map(({ number, imported, steps, closed }) => [
        number,
        imported,
        steps.length,
        closed?.outcome,
        closed?.reason,
      ]),
    ).toEqual([
      [1, true, 0, 'completed', 'imported'],
      [2, true, 2, 'completed', 'imported'],
      [3, true, 1, 'completed', 'imported'],
    ]);
    expect(turns[1]?.steps.map(({ item, step, content }) => [item, step, content])).toEqual([
      [3, 1, [{ type: 'text', text: 'Two' }]],
      [4, 2, [{ type: 'text', text: 'it is.' }]],
    ]);
    expect(turns.map(({ item }) => item)).toEqual([1, 2, 5]);
    const records = await recordsOf(store, ref);
    expect(brokenLaw({ session: ref.session, records })).toBeNull();
    expect((await store.loadSession(ref, null))?.session).toMatchObject({
      nextTurn: 4,
      nextItem: 7,
      status: 'open',
    });
  });

  it('LIN-04 has the cards, items, links and words that its turns would have had here', async () => {
    const asked = 'What stands in docs/tide.md of the lock at noon?';
    const answer = 'In docs/tide.md it says that the lock opens at noon.';
    const { engine, store, ref, head } = await open([user(asked), assistant(answer)]);
    const here = await openConversation(engine, ref.tenant, configOf('plan'));
    await here.write([{ asked, answer }]);
    const [imported] = await store.indexedTurns(ref, head, 0, 9);
    const [own] = await store.indexedTurns(here.ref, here.head, 0, 9);
    expect(imported).toEqual(own);
    expect(imported?.links.length).toBeGreaterThan(0);
    const closing = async (of: SessionRef, at: string) => {
      const [row] = await store.closings(of, at, 1, 1);
      const { card, items } = JSON.parse(row?.body ?? '{}');
      return { card, items };
    };
    expect(await closing(ref, head)).toEqual(await closing(here.ref, here.head));
  });

  it.each(POLICIES)('LIN-04 is sent under %s as the session’s own past, images too', async (policy) => {
    const said: readonly ImportedMessage[] = [
      { role: 'user', content: [{ type: 'text', text: 'What bird is it?' }, IMAGE] },
      assistant('A heron.'),
    ];
    const { process, ref } = await open(said, configOf(policy));
    const view = await process.ask(ref, 'And what does it eat?');
    expect(view).toMatchObject({ number: 2, item: 3 });
    const sent = textOf(process.sent.at(-1));
    for (const part of ['What bird is it?', IMAGE.data, 'A heron.']) expect(sent).toContain(part);
    expect(process.errors).toEqual([]);
  });

  it('LIN-04 a long one is whole, though others have their turn while it is made', async () => {
    const said = Array.from({ length: 200 }, (_, at) =>
      at % 2 === 0 ? user(`Question ${at}?`) : assistant('Yes.'),
    );
    const { views } = await open(said);
    expect((await views()).map(({ number }) => number)).toEqual(
      Array.from({ length: 100 }, (_, at) => at + 1),
    );
  });
});
