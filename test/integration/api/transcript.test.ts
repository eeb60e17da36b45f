import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { SCOPES } from '../../../src/db/keys.ts';
import { until } from '../../support/await.ts';
import { type ApiStack, openApiStack, type Sent } from './api-stack.ts';
import { harbourSession, shipOf } from './harbour.ts';

const EVICTS = { policy: { name: 'evict', options: {} } } as const;

describe('the transcript over HTTP', () => {
  let api: ApiStack;
  beforeAll(async () => {
    api = await openApiStack({ backend: 'postgres' });
  });
  afterAll(() => api.close());

  const harbour = (turns: number, config: Parameters<typeof harbourSession>[3] = EVICTS) =>
    harbourSession(api.services, api.stack.tenant, turns, config);
  const list = (session: string, query = '', sent: Sent = {}) =>
    api.call('GET', `/v1/sessions/${session}/transcript${query}`, sent);
  const post = (session: string, what: string, json: unknown, sent: Sent = {}) =>
    api.call('POST', `/v1/sessions/${session}/${what}`, { json, ...sent });
  const readItems = (session: string, json: unknown, sent: Sent = {}) =>
    post(session, 'transcript/read', json, sent);
  const grep = (session: string, json: unknown, sent: Sent = {}) =>
    post(session, 'transcript/grep', json, sent);
  const refusal = async (answer: ReturnType<typeof list>) => {
    const { status, body } = await answer;
    return [status, body.error.code, body.error.message];
  };

  it('DOR-01 lists items page by page, and what was evicted', async () => {
    const session = await harbour(4);
    const { body: left } = await post(session, 'evict', { from: 1, to: 3, note: 'berth 1 is held' });
    expect(left).toMatchObject({ session, evicted: { from: 1, to: 3, note: 'berth 1 is held' } });
    expect(left.pieces).toMatchObject([
      { unit: 'item', from: 1, to: 3, fidelity: 'residue', reason: 'evicted by the operator' },
      { unit: 'item', from: 4, to: 12, fidelity: 'verbatim', reason: 'carried as it was recorded' },
    ]);
    const sum = left.pieces.reduce((all: number, { bytes }: { bytes: number }) => all + bytes, 0);
    expect(left.history_bytes).toBe(sum);
    const { body: whole } = await list(session);
    expect(whole.items).toHaveLength(12);
    expect(whole.items[0]).toMatchObject({
      item: 1,
      role: 'user',
      kind: 'own',
      label: 'Who lies at berth 1 of Elmouth?',
      held: 'evicted',
      turn: 1,
      session,
    });
    expect(whole).toMatchObject({
      evictions: [{ from: 1, to: 3, note: 'berth 1 is held', author: 'operator' }],
      unlisted: [],
      open: null,
      next: null,
    });
    const { body: first } = await list(session, '?limit=5');
    const { body: second } = await list(session, `?limit=7&after=${first.next}`);
    expect([first.items.length, first.next, second.next]).toEqual([5, 5, null]);
    expect([...first.items, ...second.items]).toEqual(whole.items);
  });

  it('DOR-01 reads items as they were recorded, evicted or not, each once', async () => {
    const session = await harbour(3);
    const before = await readItems(session, { items: [2, 1, 2] });
    expect(before.body.items.map(({ item }: { item: number }) => item)).toEqual([1, 2]);
    expect(before.body.items[1].messages).toEqual([
      { role: 'assistant', parts: [{ type: 'program', tool: 'almanac', source: '{}', arg_names: [] }] },
      {
        role: 'tool',
        parts: [
          {
            type: 'result',
            tool: 'almanac',
            call_id: 't1s1c0',
            status: 'ok',
            evidence: 'e1',
            text: `Berth 1 is held by the ${shipOf(1)}, which came in 3 days ago.`,
          },
        ],
      },
    ]);
    await post(session, 'evict', { from: 1, to: 6 });
    expect((await readItems(session, { items: [1, 2] })).body).toEqual(before.body);
  });

  it('DOR-01 finds lines of everything, or of named items, and says how many there are', async () => {
    const session = await harbour(60);
    const all = await grep(session, { pattern: 'came in \\d+ days ago', items: 'all' });
    expect([all.body.hits.length, all.body.total, all.body.complete]).toEqual([100, 120, true]);
    expect(all.body).toMatchObject({ searched_to: null, skipped: { turns: 0, first: null } });
    const some = await grep(session, { pattern: shipOf(7), items: [20, 21, 24] });
    expect(some.body.hits.map(({ item }: { item: number }) => item)).toEqual([20, 21]);
    const cut = await grep(session, { pattern: 'coal', items: 'all', deadlineMs: 1 });
    expect(cut.body).toMatchObject({ complete: false, total: 0, searched_to: { item: 0, of: 180 } });
  });

  it.each([
    ['items that are not named', { pattern: 'coal' }, '"items"'],
    ['items misspelled', { pattern: 'coal', item: [1] }, '"item"'],
    [
      'items that are no numbers',
      { pattern: 'coal', items: 'some' },
      'found "some"; allowed is "all" or a list of items, such as [12, 13].',
    ],
    ['no pattern', { items: 'all' }, '"pattern"'],
    ['an empty pattern', { pattern: '', items: 'all' }, '"pattern"'],
    ['an empty list', { pattern: 'coal', items: [] }, 'An empty list is not all'],
  ])('DOR-01 fault 12: a search with %s is refused', async (_, json, words) => {
    const [status, code, message] = await refusal(grep(await harbour(1), json));
    expect([status, code]).toEqual([400, 'invalid_request']);
    expect(message).toContain(words);
  });

  it('DOR-01 refuses what there is not, what is open and what cannot be searched for, each with a code of its own', async () => {
    const session = await harbour(2);
    expect(await refusal(readItems(session, { items: [7] }))).toEqual([
      404,
      'item_not_found',
      'There is no item #7. The newest is #6.',
    ]);
    expect(await refusal(readItems(session, { items: [] }))).toMatchObject([
      400,
      'invalid_request',
      expect.stringContaining('spelled "items"'),
    ]);
    expect(await refusal(grep(session, { pattern: '(', items: 'all' }))).toMatchObject([
      400,
      'bad_pattern',
      expect.stringContaining('missing closing )'),
    ]);
    await api.turn(session, { input: 'Who lies at berth 9?' });
    expect(await refusal(readItems(session, { items: [7] }))).toMatchObject([
      409,
      'item_open',
      expect.stringContaining('Item #7 is still open'),
    ]);
    const { body } = await list(session);
    expect([body.open, body.items.at(-1)]).toMatchObject([7, { item: 7, label: 'Who lies at berth 9?' }]);
    expect(await refusal(list(session, `?head=${randomUUID()}`))).toMatchObject([
      404,
      'head_not_found',
      expect.stringContaining('has no head'),
    ]);
    for (const query of ['?after=-1', '?limit=0', '?limit=501', '?head=main', '?page=2'])
      expect((await list(session, query)).status).toBe(400);
  });

  it('DOR-02 names the record that cannot be read, and answers for all others', async () => {
    const session = await harbour(2);
    const ref = { tenant: api.stack.tenant, session };
    const seq = (await api.stack.records(ref)).find(({ kind }) => kind === 'tool-result')?.seq;
    await api.stack.sql('ALTER TABLE turnwright.records DISABLE TRIGGER USER');
    await api.stack.sql(
      `UPDATE turnwright.records SET body = replace(body, 'days', 'daze') WHERE session_id = $1 AND seq = $2`,
      [session, seq],
    );
    await api.stack.sql('ALTER TABLE turnwright.records ENABLE TRIGGER USER');
    const { status, body } = await readItems(session, { items: [3, 4] });
    expect([status, body.error.code]).toEqual([409, 'record_unreadable']);
    expect(body.error.details).toEqual({
      item: 3,
      session,
      record: seq,
      reason: expect.stringContaining('digests differ'),
    });
    expect((await readItems(session, { items: [4] })).status).toBe(200);
    const found = await grep(session, { pattern: 'days', items: 'all' });
    expect(found.body).toMatchObject({
      total: 2,
      skipped: { turns: 1, first: { item: 1, session, record: seq } },
    });
    const recalled = await post(session, 'recall', { turn: 1 });
    expect(recalled.body).toMatchObject({
      is_error: true,
      content: expect.stringContaining(`record ${seq} of session ${session}`),
    });
  });

  it('DOR-01 needs the scope content, and the tenant of the session', async () => {
    const session = await harbour(1);
    const key = await api.keyOf(SCOPES.filter((scope) => scope !== 'content'));
    const stranger = await api.stranger();
    const asked: readonly ((sent: Sent) => ReturnType<typeof list>)[] = [
      (sent) => list(session, '', sent),
      (sent) => readItems(session, { items: [1] }, sent),
      (sent) => grep(session, { pattern: 'coal', items: 'all' }, sent),
    ];
    for (const ask of asked) {
      expect(await refusal(ask({ key }))).toMatchObject([403, 'forbidden', expect.any(String)]);
      expect(await refusal(ask({ key: stranger }))).toMatchObject([
        404,
        'session_not_found',
        expect.any(String),
      ]);
    }
    expect(await refusal(post(session, 'evict', { from: 1, to: 1 }, { key: stranger }))).toMatchObject([
      404,
      'session_not_found',
      expect.any(String),
    ]);
    const kept = await post(session, 'evict', { from: 1, to: 3 }, { key });
    expect(kept.status).toBe(200);
    expect(JSON.stringify(kept.body)).not.toContain('berth');
  });

  it('DOR-02 ends the search of a caller who hangs up', async () => {
    const session = await harbour(40);
    const { store } = api.services;
    const turnRows = store.turnRows.bind(store);
    // Read by this thread, so that the readings can be counted.
    const { address } = store;
    Object.assign(store, { address: undefined });
    const left = new AbortController();
    let reads = 0;
    const spy = vi.spyOn(store, 'turnRows').mockImplementation(async (...args) => {
      reads += 1;
      if (reads === 3) left.abort();
      // Long enough for the other side to notice.
      if (reads >= 3) await new Promise((resolve) => setTimeout(resolve, 300));
      return turnRows(...args);
    });
    try {
      const asked = fetch(`${api.url}/v1/sessions/${session}/transcript/grep`, {
        method: 'POST',
        headers: { authorization: `Bearer ${api.key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ pattern: 'coal', items: 'all' }),
        signal: left.signal,
      });
      await expect(asked).rejects.toThrow();
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      expect(reads).toBeLessThanOrEqual(5);
    } finally {
      spy.mockRestore();
      Object.assign(store, { address });
    }
  });

  describe('evict', () => {
    it('EVT-05 takes the resolved span out, keeps every projection true, and the next request goes without it', async () => {
      const stack = await openApiStack({ backend: 'postgres' });
      try {
        await stack.stack.worker();
        const session = await stack.session({ leg: 'sim-large', ...EVICTS });
        for (const input of ['Good morning.', 'Good day.'])
          await stack.closed(await stack.turn(session, { input }));
        const done = await stack.call('POST', `/v1/sessions/${session}/evict`, {
          json: { from: 1, to: 2, note: 'a greeting' },
        });
        expect(done.body.evicted).toMatchObject({ from: 1, to: 2, note: 'a greeting' });
        const last = await stack.closed(await stack.turn(session, { input: 'Good evening.' }));
        expect(last.outcome).toBe('completed');
        const { body } = await stack.call('GET', `/v1/turns/${last.id}/request?step=1`);
        const sent = JSON.stringify(body.request.messages);
        expect([body.same, sent.includes('[evicted #1–#2'), sent.includes('a greeting')]).toEqual([
          true,
          true,
          true,
        ]);
        expect(sent).not.toContain('Good morning.');
        const { context } = (await stack.call('GET', `/v1/sessions/${session}/context`)).body;
        expect(context).toMatchObject({ policy: 'evict', turn_number: 3, packet: null, promoted: [] });
        expect(context.pieces).toMatchObject([
          { unit: 'item', from: 1, to: 2, fidelity: 'residue', reason: 'evicted by the operator' },
          { unit: 'item', from: 3, to: 6, fidelity: 'verbatim' },
        ]);
        expect(context.spent_tokens).toBe(context.pieces[0].tokens + context.pieces[1].tokens);
        const {
          input_tokens: fresh,
          cache_read_tokens: read,
          cache_write_tokens: written,
        } = context.calls.at(-1).usage;
        expect(context.room).toMatchObject({ unit: 'tokens', used: fresh + read + written });
        expect(context.room.due_from).toBeGreaterThan(context.room.pressure_from);
        expect(JSON.stringify(context)).not.toContain('greeting');
        const own = (await stack.call('GET', `/v1/sessions/${session}/plan`)).body;
        expect(own).toMatchObject({
          policy: 'evict',
          turn_number: 4,
          evicts: null,
          wants: null,
          pieces: context.pieces,
        });
        expect(own.room).toEqual(context.room);
        const other = (await stack.call('GET', `/v1/sessions/${session}/plan?policy=plan`)).body;
        expect(other).toMatchObject({ policy: 'plan', room: null, evicts: null });
        expect(other.pieces).toMatchObject([{ unit: 'turn', from: 1, to: 3, fidelity: 'full' }]);
        await until(
          'nothing runs',
          async () => (await stack.call('GET', `/v1/sessions/${session}/verify`)).body.ok,
        );
        const rebuilt = await stack.call('POST', `/v1/sessions/${session}/rebuild`);
        expect(rebuilt.body.differences).toEqual([]);
      } finally {
        await stack.close();
      }
    });

    it('EVT-05 is refused under another policy, while a turn runs, and where nothing can leave; nothing is written', async () => {
      const planned = await harbour(2, {});
      expect(await refusal(post(planned, 'evict', { from: 1, to: 3 }))).toMatchObject([
        409,
        'not_evicting',
        expect.stringContaining('is plan'),
      ]);
      const session = await harbour(3);
      const records = async () => (await api.stack.records({ tenant: api.stack.tenant, session })).length;
      await post(session, 'evict', { from: 1, to: 3 });
      const before = await records();
      const refused: readonly (readonly [unknown, number, string, string])[] = [
        [{ from: 1, to: 3 }, 409, 'nothing_to_evict', 'left the context earlier'],
        [{ from: 4, to: 4 }, 409, 'nothing_to_evict', 'Prompt #4 cannot go without its answers #5–#6'],
        [{ from: 4, to: 12 }, 404, 'item_not_found', 'There is no item #12 here. The highest number is #9.'],
        [{ from: 6, to: 4 }, 400, 'invalid_request', 'from must not be larger'],
        [{ from: 4, to: 6, note: '' }, 400, 'invalid_request', 'The note is empty'],
        [{ from: 4, to: 6, note: 'é'.repeat(121) }, 400, 'invalid_request', 'The note has 242 bytes'],
        [{ from: 4, to: 6, note: 'a\nb' }, 400, 'invalid_request', 'more than one line'],
        [{ from: 4, through: 6 }, 400, 'invalid_request', '"through"'],
      ];
      for (const [json, status, code, words] of refused)
        expect(await refusal(post(session, 'evict', json))).toMatchObject([
          status,
          code,
          expect.stringContaining(words),
        ]);
      await api.turn(session, { input: 'Who lies at berth 9?' });
      const running = await records();
      expect(await refusal(post(session, 'evict', { from: 4, to: 6 }))).toMatchObject([
        409,
        'turn_running',
        expect.stringContaining('runs on the live head'),
      ]);
      expect([before, running]).toEqual([before, await records()]);
    });

    it('EVT-01 fault 5: a process that remembers the session from before goes without what an operator evicted elsewhere', async () => {
      const session = await harbour(3);
      const ref = { tenant: api.stack.tenant, session };
      const other = api.stack.open();
      const state = await other.store.loadSession(ref, null);
      if (state === null) throw new Error('no session');
      const { liveHead: head, nextTurn: before } = state.session;
      const table = async (epoch: number) =>
        (
          await other.engine.items.read({
            ref,
            place: { head, epoch, before },
            open: null,
            workContract: null,
          })
        ).table;
      expect((await table(state.session.epoch)).evictions).toEqual([]);
      await post(session, 'evict', { from: 1, to: 3 });
      const now = await other.store.loadSession(ref, null);
      expect((await table(now?.session.epoch ?? 0)).evictions).toMatchObject([
        { from: 1, to: 3, author: 'operator' },
      ]);
    });
  });
});
