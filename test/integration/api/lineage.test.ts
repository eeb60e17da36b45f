import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSession } from '../../../src/runtime/sessions.ts';
import { until } from '../../support/await.ts';
import { BACKENDS } from '../../support/stack.ts';
import { heldTool } from '../../support/tools.ts';
import { type ApiStack, openApiStack } from './api-stack.ts';

describe.each(BACKENDS)('forks, clears and histories over HTTP on %s', (backend) => {
  const weir = heldTool('weir', 'read');
  let api: ApiStack;
  beforeAll(async () => {
    api = await openApiStack({ backend, tools: [weir.tool] });
    await api.stack.worker();
  });
  afterAll(() => api.close());

  const create = (json: unknown) => api.call('POST', '/v1/sessions', { json });
  const show = async (id: string) => (await api.call('GET', `/v1/sessions/${id}`)).body.session;
  const fork = (id: string, json?: unknown) =>
    api.call('POST', `/v1/sessions/${id}/fork`, json === undefined ? {} : { json });
  const clear = (id: string) => api.call('POST', `/v1/sessions/${id}/clear`);
  const recall = async (id: string, args: unknown) =>
    (await api.call('POST', `/v1/sessions/${id}/recall`, { json: args })).body;
  const ask = async (id: string, input: string) => {
    const turn = await api.closed(await api.turn(id, { input }));
    expect(turn).toMatchObject({ outcome: 'completed' });
    return turn;
  };
  const verified = async (id: string) => (await api.call('GET', `/v1/sessions/${id}/verify`)).body;

  it('LIN-01 a fork runs, and goes on with the numbers; neither recalls what the other says later', async () => {
    const parent = await api.session({ leg: 'sim-large', system: 'Be brief.', metadata: { team: 'blue' } });
    await ask(parent, 'Good morning. My word is heron.');
    const forked = await fork(parent);
    expect(forked.status).toBe(201);
    const { session } = forked.body;
    expect(session).toMatchObject({
      leg: 'sim-large',
      metadata: { team: 'blue' },
      forked_from: parent,
      turns: 1,
      open_turn: null,
      status: 'open',
    });
    expect(await show(session.id)).toMatchObject({ id: session.id, forked_from: parent });
    expect((await ask(session.id, 'My word is plover.')).number).toBe(2);
    expect((await ask(parent, 'My word is curlew.')).number).toBe(2);
    expect((await recall(session.id, { turn: 1 })).content).toContain('heron');
    expect((await recall(session.id, { turn: 2 })).content).toContain('plover');
    expect((await recall(parent, { turn: 2 })).content).toContain('curlew');
    expect((await show(parent)).forked_from).toBeNull();
    for (const id of [parent, session.id])
      expect(await verified(id)).toMatchObject({ ok: true, broken: null });
  });

  it('LIN-01 takes a policy, a leg, a text and metadata of its own, and has all else from the other', async () => {
    const parent = await api.session({
      leg: 'sim-large',
      system: 'Be brief.',
      tools: ['read'],
      locale: 'en-GB',
      workContract: 'Keep the book in order.',
      budget: { tokens: 900_000 },
    });
    const policy = { name: 'evict', options: { contextWindow: 9_000, surface: 'all' } };
    const { body } = await fork(parent, { policy, leg: 'sim-small', system: 'Be long.', metadata: { n: 2 } });
    expect(body.session).toMatchObject({
      policy,
      leg: 'sim-small',
      ladder: null,
      tools: ['read'],
      locale: 'en-GB',
      work_contract: 'Keep the book in order.',
      budget: { tokens: 900_000 },
      metadata: { n: 2 },
    });
    const { tenant } = api.stack;
    const kept = await api.services.engine.configs.get({ tenant, session: body.session.id });
    expect(kept.system).toBe('Be long.');
    const laddered = await fork(body.session.id, { ladder: ['sim-large', 'sim-small'] });
    expect(laddered.body.session).toMatchObject({
      leg: 'sim-large',
      ladder: ['sim-large', 'sim-small'],
      policy,
    });
    const same = await fork(laddered.body.session.id);
    expect(same.body.session).toMatchObject({ ladder: ['sim-large', 'sim-small'], policy });
    expect(await ask(same.body.session.id, 'Good morning.')).toMatchObject({ number: 1 });
  });

  it('LIN-01 an archived session can be gone on from', async () => {
    const parent = await api.session();
    await ask(parent, 'My word is heron.');
    await api.call('DELETE', `/v1/sessions/${parent}`);
    const { body } = await fork(parent);
    expect(body.session).toMatchObject({ status: 'open', forked_from: parent });
    expect(await ask(body.session.id, 'Good evening.')).toMatchObject({ number: 2 });
  });

  it.each([
    ['a member it does not take', { tools: ['read'] }, 'invalid_request', '"tools"'],
    ['a policy there is not', { policy: 'fold' }, 'invalid_request', 'allowed is "plan", "evict"'],
    ['a leg there is not', { leg: 'gpt-9' }, 'unknown_leg', 'sim-small'],
    ['a leg and a ladder', { leg: 'sim-small', ladder: ['sim-large'] }, 'invalid_request', 'one'],
  ])('LIN-01 refuses to fork with %s, and makes no session', async (_, json, code, named) => {
    const parent = await api.session();
    const before = (await api.call('GET', '/v1/sessions?limit=1')).body.sessions;
    const { status, body } = await fork(parent, json);
    expect([status, body.error.code]).toEqual([400, code]);
    expect(body.error.message).toContain(named);
    expect((await api.call('GET', '/v1/sessions?limit=1')).body.sessions).toEqual(before);
  });

  it('LIN-01 a session whose leg is gone from the deployment is gone on from with another', async () => {
    const parent = { tenant: api.stack.tenant, session: randomUUID() };
    await createSession(api.services.engine, parent, randomUUID(), {
      leg: 'gone',
      policy: { name: 'plan', options: {} },
      tools: null,
      system: '',
      metadata: {},
    });
    const { status, body } = await fork(parent.session);
    expect([status, body.error.code]).toEqual([400, 'unknown_leg']);
    const other = await fork(parent.session, { leg: 'sim-small' });
    expect(other.body.session).toMatchObject({ leg: 'sim-small', forked_from: parent.session });
  });

  it('LIN-01 LED-04 refuses to go on from a session that is not there, or is another tenant’s, and needs the scope', async () => {
    const parent = await api.session();
    const key = await api.stranger();
    for (const path of ['fork', 'clear']) {
      const gone = await api.call('POST', `/v1/sessions/${randomUUID()}/${path}`);
      expect([gone.status, gone.body.error.code]).toEqual([404, 'session_not_found']);
      const others = await api.call('POST', `/v1/sessions/${parent}/${path}`, { key });
      expect([others.status, others.body.error.code]).toEqual([404, 'session_not_found']);
      const reader = await api.keyOf(['turns:read']);
      expect((await api.call('POST', `/v1/sessions/${parent}/${path}`, { key: reader })).status).toBe(403);
    }
    const of = await api.call('POST', '/v1/sessions', { key, json: { forkOf: parent } });
    expect([of.status, of.body.error.code]).toEqual([404, 'session_not_found']);
  });

  it('LIN-01 an ancestor that was altered in the database fails the fork by name', async () => {
    const parent = await api.session();
    await ask(parent, 'My word is heron.');
    await api.stack.sql('ALTER TABLE turnwright.records DISABLE TRIGGER USER');
    await api.stack.sql(
      `UPDATE turnwright.records SET body = replace(body, 'heron', 'raven') WHERE session_id = $1 AND kind = 'turn-accepted'`,
      [parent],
    );
    await api.stack.sql('ALTER TABLE turnwright.records ENABLE TRIGGER USER');
    const { status, body } = await fork(parent);
    expect([status, body.error.code]).toEqual([409, 'ancestor_unreadable']);
    expect(body.error.details).toMatchObject({ session: parent, record: 3 });
    expect(body.error.message).toContain(`session verify ${parent}`);
  });

  it('LIN-04 forkOf at creation is a fork, and takes no more than one', async () => {
    const parent = await api.session({ leg: 'sim-large', system: 'Be brief.' });
    await ask(parent, 'My word is heron.');
    const made = await create({ forkOf: parent, policy: 'evict' });
    expect(made.status).toBe(201);
    expect(made.body.session).toMatchObject({ forked_from: parent, turns: 1, policy: { name: 'evict' } });
    for (const [own, named] of [
      [{ tools: ['read'] }, 'tools'],
      [{ history: [{ role: 'user', text: 'Hello.' }] }, 'history'],
      [{ timezone: 'Europe/Paris', budget: {} }, 'timezone, budget'],
    ] as const) {
      const { status, body } = await create({ forkOf: parent, ...own });
      expect([status, body.error.code]).toEqual([400, 'invalid_request']);
      expect(body.error.message).toContain(`found ${named}`);
    }
  });

  it('LIN-02 a clear cancels what runs and waits, and the session begins anew', async () => {
    const id = await api.session({ leg: 'sim-large', tools: ['weir', 'recall'] });
    await ask(id, 'My word is heron.');
    const runs = weir.runs.length;
    const running = await api.turn(id, { input: 'Call the weir tool.' });
    await until('the tool runs', () => weir.runs[runs]);
    const waiting = await api.turn(id, { input: 'Good evening.' });
    const cleared = await clear(id);
    expect(cleared.status).toBe(200);
    expect(cleared.body).toEqual({ session: id, cleared: true, cancelled: [running, waiting] });
    for (const turn of [running, waiting]) expect((await api.closed(turn)).outcome).toBe('cancelled');
    weir.releaseAll();
    expect((await recall(id, { turn: 1 })).is_error).toBe(true);
    expect((await recall(id, { query: 'heron' })).content).toContain('No turn');
    expect((await clear(id)).body).toEqual({ session: id, cleared: false, cancelled: [] });
    expect(await ask(id, 'Good morning.')).toMatchObject({ number: 4 });
    expect(await show(id)).toMatchObject({ turns: 4, open_turn: null });
    expect(await verified(id)).toMatchObject({ ok: true, broken: null });
  });

  it('LIN-02 a cleared fork still says what it was forked from', async () => {
    const parent = await api.session();
    await ask(parent, 'My word is heron.');
    const { id } = (await fork(parent)).body.session;
    expect((await clear(id)).body.cleared).toBe(true);
    expect(await show(id)).toMatchObject({ forked_from: parent, turns: 1 });
    expect((await recall(id, { turn: 1 })).is_error).toBe(true);
    expect((await recall(parent, { turn: 1 })).content).toContain('heron');
  });

  it('LIN-04 a history is the session’s own past: recalled, planned with, numbered on from', async () => {
    const history = [
      { role: 'user', text: 'My word is heron.' },
      { role: 'assistant', text: 'Heron it is.' },
      { role: 'user', content: [{ type: 'text', text: 'And my other word is plover.' }] },
      { role: 'user', text: 'Do you remember?' },
      { role: 'assistant', content: [{ type: 'text', text: 'I do:' }] },
      { role: 'assistant', text: 'heron and plover.' },
    ];
    const { status, body } = await create({ leg: 'sim-large', history });
    expect(status).toBe(201);
    const { id } = body.session;
    expect(body.session).toMatchObject({ turns: 3, open_turn: null, forked_from: null });
    const first = (await recall(id, { turn: 1 })).content;
    expect(first).toContain('asked: My word is heron.\nanswered: Heron it is.');
    expect((await recall(id, { turn: 3 })).content).toContain('I do:\nanswered: heron and plover.');
    expect((await recall(id, { query: 'plover' })).content).toContain('T2');
    expect(await ask(id, 'What was my other word?')).toMatchObject({ number: 4 });
    const plan = (await api.call('GET', `/v1/sessions/${id}/plan`)).body;
    expect(JSON.stringify(plan.pieces)).toContain('1');
    expect(await verified(id)).toMatchObject({ ok: true, broken: null });
    const again = (await fork(id)).body.session;
    expect(again).toMatchObject({ turns: 4, forked_from: id });
    expect(await ask(again.id, 'Good evening.')).toMatchObject({ number: 5 });
  });

  it.each([
    ['none', [], '>=1'],
    ['an answer first', [{ role: 'assistant', text: 'Hello.' }], '"history.0"'],
    [
      'a blank message',
      [
        { role: 'user', text: 'Hello.' },
        { role: 'assistant', text: ' ' },
      ],
      '"history.1"',
    ],
    [
      'a role there is not',
      [
        { role: 'user', text: 'Hello.' },
        { role: 'tool', text: 'x' },
      ],
      '"history.1.role"',
    ],
    [
      'a text and blocks',
      [{ role: 'user', text: 'a', content: [{ type: 'text', text: 'b' }] }],
      'one of them',
    ],
    [
      'an answer that is an image',
      [
        { role: 'user', text: 'a' },
        { role: 'assistant', content: [{ type: 'image' }] },
      ],
      'history.1',
    ],
    [
      'too many messages',
      Array.from({ length: 2_001 }, (_, at) => ({ role: at % 2 === 0 ? 'user' : 'assistant', text: 'x' })),
      '"history.2000"',
    ],
    [
      'too many bytes',
      Array.from({ length: 5 }, () => ({ role: 'user', text: 'x'.repeat(1_000_000) })),
      '"history.4"',
    ],
  ])('LIN-04 refuses a history with %s, and names the message', async (_, history, named) => {
    const { status, body } = await create({ leg: 'sim-large', history });
    expect([status, body.error.code]).toEqual([400, 'invalid_request']);
    expect(body.error.message).toContain(named);
  });

  it('LIN-04 of a million messages that are none, the refusal names one', async () => {
    const raw = `{"history":[${'{},'.repeat(1_000_000)}{}]}`;
    const headers = { 'content-type': 'application/json' };
    const { status, body } = await api.call('POST', '/v1/sessions', { raw, headers });
    expect([status, body.error.code]).toEqual([400, 'invalid_request']);
    expect(body.error.details.problems).toHaveLength(1);
    expect(body.error.message).toContain('"history.2000"');
  });

  it('LIN-04 a body too large for any history is refused before it is read, with the bound of its route', async () => {
    const raw = JSON.stringify({ system: 'x'.repeat(8_388_608) });
    const headers = { 'content-type': 'application/json' };
    const large = await api.call('POST', '/v1/sessions', { raw, headers });
    expect([large.status, large.body.error.code]).toEqual([413, 'body_too_large']);
    expect(large.body.error.message).toContain('8388608 bytes');
    const other = await api.call('POST', `/v1/sessions/${randomUUID()}/fork`, { raw, headers });
    expect(other.body.error.message).toContain('1048576 bytes');
  });

  it('LIN-04 takes a history of the largest size in one commit', async () => {
    const text = 'The tide turns at noon. '.repeat(80);
    const history = Array.from({ length: 2_000 }, (_, at) => ({
      role: at % 2 === 0 ? 'user' : 'assistant',
      text: `${at}: ${text}`,
    }));
    const { status, body } = await create({ leg: 'sim-large', history });
    expect(status).toBe(201);
    expect(body.session).toMatchObject({ turns: 1_000 });
    expect((await recall(body.session.id, { turn: 1_000 })).content).toContain('1999: The tide');
    expect(await verified(body.session.id)).toMatchObject({ ok: true, records: 2 + 1_000 * 5 });
    expect(await ask(body.session.id, 'Good morning.')).toMatchObject({ number: 1_001 });
  });

  it('EVT-01 a session evicts where its policy says so, with the options that hold there', async () => {
    const policy = {
      name: 'evict',
      options: { contextWindow: 9_000, reserveTokens: 0, reserve: 'window', maxTokens: 50 },
    };
    const made = await create({ leg: 'sim-large', policy });
    expect(made.body.session.policy).toEqual(policy);
    const turn = await ask(made.body.session.id, 'Good morning.');
    const context = (await api.call('GET', `/v1/sessions/${made.body.session.id}/context`)).body;
    expect(JSON.stringify(context)).toContain('"policy":"evict"');
    expect(turn.number).toBe(1);
    expect((await create({ policy: 'evict' })).body.session.policy).toEqual({ name: 'evict', options: {} });
  });

  it.each([
    [
      { keepTurns: 3 },
      'Unknown member "keepTurns" in "policy.options" of the body: allowed is "contextWindow", "reserveTokens", "reserve", "maxTokens", "surface".',
    ],
    [{ contextWindow: 0 }, '>0'],
    [{ surface: 'some' }, 'allowed is "all"'],
  ])('EVT-01 refuses the options %j of evict and says what is allowed', async (options, allowed) => {
    const { status, body } = await create({ policy: { name: 'evict', options } });
    expect([status, body.error.code]).toEqual([400, 'invalid_request']);
    expect(body.error.message).toContain(allowed);
    const other = await create({ policy: { name: 'fold' } });
    expect(other.body.error.message).toContain('allowed is "plan", "evict"');
  });
});
