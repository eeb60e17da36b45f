import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openConversation } from '../../support/conversation.ts';
import { type ApiStack, openApiStack } from './api-stack.ts';
import { type EventReader, readEvents } from './event-reader.ts';

const FILES = { 'store.md': '# Vault\n\nThe humidity of the vault is 41 percent.\n' };
const DIRECTIVE = 'In store.md, show the humidity of the vault as a metric card.';
const TOOLS = ['read', 'grep', 'glob', 'emit_metric_card'];
const METRIC = (at: number) => ({ title: `Berths taken on day ${at}`, value: String(at), unit: 'berths' });

describe('the cards of a session', () => {
  let api: ApiStack;
  const readers: EventReader[] = [];
  beforeAll(async () => {
    api = await openApiStack({ backend: 'postgres', files: FILES });
    await api.stack.worker();
  });
  afterAll(async () => {
    for (const reader of readers) reader.close();
    await api.close();
  });

  const recordsOf = (session: string, kind: string) =>
    api.stack
      .records({ tenant: api.stack.tenant, session })
      .then((records) => records.filter((record) => record.kind === kind));
  const list = (session: string, query = '', sent: Parameters<ApiStack['call']>[2] = {}) =>
    api.call('GET', `/v1/sessions/${session}/presentations${query}`, sent);

  /** A session that showed so many metrics, three to a turn. */
  async function shown(cards: number): Promise<string> {
    const { ref, write } = await openConversation(api.services.engine, api.stack.tenant, {
      leg: 'sim-large',
      policy: { name: 'plan', options: { surface: 'all' } },
    });
    const turns = Math.ceil(cards / 3);
    await write(
      Array.from({ length: turns }, (_, turn) => ({
        asked: `How many berths were taken in week ${turn + 1}?`,
        steps: [
          {
            prose: '',
            calls: Array.from({ length: Math.min(3, cards - turn * 3) }, (__, at) => ({
              card: 'metric',
              payload: METRIC(turn * 3 + at + 1),
            })),
          },
        ],
        answer: 'See the cards.',
      })),
    );
    return ref.session;
  }

  it('EVI-04 are told as they are shown, listed with their turn, and recalled by their id', async () => {
    const session = await api.session({ leg: 'sim-large', tools: [...TOOLS, 'recall'] });
    const turn = await api.turn(session, { input: DIRECTIVE });
    const reader = await readEvents(api.url, turn, api.key);
    readers.push(reader);
    const told = (await reader.all()).filter(({ type }) => type === 'presentation');
    const [record] = await recordsOf(session, 'presentation');
    expect(told.map(({ id, data }) => [id, data])).toEqual([
      [
        String(record?.seq),
        { id: 'p1', type: 'metric', title: record?.data.title, payload: record?.data.payload },
      ],
    ]);
    const { body } = await list(session);
    expect(body).toMatchObject({
      presentations: [
        {
          id: 'p1',
          turn,
          turn_number: 1,
          type: 'metric',
          title: record?.data.title,
          source: 'tool-call',
          payload: record?.data.payload,
        },
      ],
      next_cursor: null,
    });
    expect(body.presentations[0].derived_from.length).toBeGreaterThan(0);
    const recalled = await api.call('POST', `/v1/sessions/${session}/recall`, {
      json: { presentation: 'p1' },
    });
    expect(recalled.body.content).toContain('41');
  });

  it('EVI-04 show their payload to a key with the scope content, and to no other', async () => {
    const session = await shown(2);
    expect(
      (await list(session)).body.presentations.map(({ payload }: { payload: unknown }) => payload),
    ).toEqual([METRIC(1), METRIC(2)]);
    const bare = await list(session, '', { key: await api.keyOf(['turns:read']) });
    expect(bare.body.presentations.map(({ id }: { id: string }) => id)).toEqual(['p1', 'p2']);
    expect(JSON.stringify(bare.body)).not.toContain('payload');
  });

  it('EVI-04 come in pages, each once, in the order they were shown', async () => {
    const session = await shown(7);
    const pages: string[][] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body }: { body: { presentations: { id: string }[]; next_cursor: string | null } } = await list(
        session,
        `?limit=3${cursor === '' ? '' : `&cursor=${cursor}`}`,
      );
      pages.push(body.presentations.map(({ id }) => id));
      cursor = body.next_cursor;
    }
    expect(pages).toEqual([['p1', 'p2', 'p3'], ['p4', 'p5', 'p6'], ['p7']]);
  });

  it('EVI-04 keep what people say of them and pick on them, by the turn that showed them, and the session stays sound', async () => {
    const session = await shown(4);
    const say = (path: string, json: unknown) =>
      api.call('POST', `/v1/sessions/${session}/presentations/${path}`, { json });
    const helpful = await say('p2/feedback', { verdict: 'helpful', note: 'Just what I asked.' });
    const dismissed = await say('p2/feedback', { verdict: 'dismissed' });
    const picked = await say('p4/selection', { selected: ['Berth 4', 'Berth 9'] });
    expect([helpful.status, dismissed.status, picked.status]).toEqual([201, 201, 201]);
    const turns = (await list(session)).body.presentations.map(({ turn }: { turn: string }) => turn);
    const feedback = await recordsOf(session, 'presentation-feedback');
    expect(feedback.map(({ seq, turnId, data }) => [seq, turnId, data])).toEqual([
      [helpful.body.record, turns[1], { presentation: 'p2', verdict: 'helpful', note: 'Just what I asked.' }],
      [dismissed.body.record, turns[1], { presentation: 'p2', verdict: 'dismissed' }],
    ]);
    const [selection] = await recordsOf(session, 'presentation-selection');
    expect([selection?.turnId, selection?.data]).toEqual([
      turns[3],
      { presentation: 'p4', selected: ['Berth 4', 'Berth 9'] },
    ]);
    const verdict = (await api.call('GET', `/v1/sessions/${session}/verify`)).body;
    expect(verdict.fault).toBeNull();
    // What is said of a card is no part of any request: the next turn runs as it would have.
    expect((await api.closed(await api.turn(session, { input: 'Good evening.' }))).outcome).toBe('completed');
  });

  it.each(['p3', 'p0', 'p99999999999', 'e1', 'first'])('name no card %s', async (id) => {
    const session = await shown(2);
    for (const [what, json] of [
      ['feedback', { verdict: 'helpful' }],
      ['selection', { selected: ['a'] }],
    ] as const) {
      const { status, body } = await api.call('POST', `/v1/sessions/${session}/presentations/${id}/${what}`, {
        json,
      });
      expect([status, body.error.code]).toEqual([404, 'presentation_not_found']);
      expect(body.error.message).toContain(JSON.stringify(id));
    }
    expect(await recordsOf(session, 'presentation-feedback')).toEqual([]);
  });

  it.each([
    ['feedback', { verdict: 'great' }, '"great"'],
    ['feedback', {}, '"verdict"'],
    ['feedback', { verdict: 'helpful', stars: 5 }, '"stars"'],
    ['selection', { selected: [] }, '"selected"'],
    ['selection', { selected: 'a' }, '"selected"'],
  ])('refuse %s of %j', async (what, json, named) => {
    const session = await shown(1);
    const { status, body } = await api.call('POST', `/v1/sessions/${session}/presentations/p1/${what}`, {
      json,
    });
    expect([status, body.error.code]).toEqual([400, 'invalid_request']);
    expect(body.error.message).toContain(named);
  });

  it.each(['?limit=0', '?limit=201', '?cursor=e1', '?cursor=p0', '?colour=red'])(
    'refuse the list query %s',
    async (query) => {
      const { status, body } = await list(await api.session(), query);
      expect([status, body.error.code]).toEqual([400, 'invalid_request']);
    },
  );
});
