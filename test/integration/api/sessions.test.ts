import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createSession } from '../../../src/runtime/sessions.ts';
import { type ApiStack, openApiStack } from './api-stack.ts';

/** A session shown alone says what its calls came to. */
const NOTHING_SPENT = { cost_micro_usd: 0, cost_status: 'no_calls' };

describe('sessions over HTTP', () => {
  let api: ApiStack;
  beforeAll(async () => {
    api = await openApiStack({ backend: 'postgres' });
  });
  afterAll(() => api.close());

  it('creates a session with what was asked for and shows it', async () => {
    const created = await api.call('POST', '/v1/sessions', {
      json: {
        leg: 'sim-small',
        policy: 'plan',
        tools: ['read', 'grep'],
        system: 'Be brief.',
        locale: 'fr-CA',
        timezone: 'America/Montreal',
        metadata: { team: 'blue', n: [1, { deep: null }] },
      },
    });
    expect(created.status).toBe(201);
    expect(created.body.session).toMatchObject({
      status: 'open',
      leg: 'sim-small',
      policy: { name: 'plan', options: {} },
      tools: ['read', 'grep'],
      locale: 'fr-CA',
      timezone: 'America/Montreal',
      metadata: { team: 'blue', n: [1, { deep: null }] },
      turns: 0,
      open_turn: null,
      delegated_by: null,
    });
    const shown = await api.call('GET', `/v1/sessions/${created.body.session.id}`);
    expect(shown.body).toEqual({ session: { ...created.body.session, ...NOTHING_SPENT } });
  });

  it('LIN-04 says which turn made a session for a task, where one did', async () => {
    const { engine, newId } = api.services;
    const delegated = { session: newId(), turn: newId(), depth: 2 };
    const ref = { tenant: api.stack.tenant, session: newId() };
    const policy = { name: 'plan', options: {} } as const;
    const settings = { leg: 'sim-small', policy, tools: null, system: '', metadata: {}, delegated };
    await createSession(engine, ref, newId(), settings);
    const { body } = await api.call('GET', `/v1/sessions/${ref.session}`);
    const { session, turn } = delegated;
    expect(body.session.delegated_by).toEqual({ session, turn });
  });

  it('takes the first configured leg and every tool when nothing is said', async () => {
    const bare = await api.call('POST', '/v1/sessions');
    expect(bare.body.session).toMatchObject({ leg: 'sim-small', tools: null, ladder: null });
    const empty = await api.call('POST', '/v1/sessions', { json: {} });
    expect(empty.status).toBe(201);
  });

  it('PLN-06 keeps every option of a plan that is spelled as it should be, and the work contract', async () => {
    const options = {
      promotedShare: 0.4,
      eligibility: 'signal',
      signals: 'minimal',
      steady: false,
      reserve: 'horizon',
      reserveTokens: 0,
      contextWindow: 4_000,
      maxTokens: 200,
      surface: 'all',
      keepTurns: 3,
      hysteresisRatio: 0.1,
      safetyMarginRatio: 0.1,
      summaryThreshold: 2,
    };
    const policy = { name: 'plan', options };
    const workContract = 'Keep the harbour book in order.';
    const { body } = await api.call('POST', '/v1/sessions', { json: { policy, workContract } });
    expect(body.session).toMatchObject({ policy, work_contract: workContract });
    const shown = await api.call('GET', `/v1/sessions/${body.session.id}`);
    expect(shown.body).toEqual({ session: { ...body.session, ...NOTHING_SPENT } });
    const bare = await api.call('POST', '/v1/sessions');
    expect(bare.body.session).toMatchObject({ policy: { name: 'plan', options: {} }, work_contract: null });
  });

  it.each([
    ['promotedShare', 1.5, '<=1'],
    ['promotedShare', '0.5', 'number'],
    ['eligibility', 'age', 'allowed is "recency", "signal"'],
    ['signals', 'some', 'allowed is "all", "minimal"'],
    ['steady', 'yes', 'boolean'],
    ['reserve', 'model', 'allowed is "window", "horizon"'],
    ['reserve', null, 'allowed is "window", "horizon"'],
    ['reserveTokens', -1, '>=0'],
    ['contextWindow', 0, '>0'],
    ['maxTokens', 1.5, 'int'],
    ['surface', 'some', 'allowed is "all"'],
  ])('PLN-06 refuses the option %s of %j and says what is allowed', async (name, value, allowed) => {
    const policy = { name: 'plan', options: { [name]: value } };
    const { status, body } = await api.call('POST', '/v1/sessions', { json: { policy } });
    expect([status, body.error.code]).toEqual([400, 'invalid_request']);
    expect(body.error.message).toContain('policy');
    expect(body.error.message).toContain(allowed);
  });

  it.each([
    ['a blank work contract', '  ', 'not blank'],
    ['one too long for every request', 'x'.repeat(8_001), '8000'],
    ['one that is no text', 7, 'string'],
  ])('refuses %s', async (_what, workContract, named) => {
    const { status, body } = await api.call('POST', '/v1/sessions', { json: { workContract } });
    expect([status, body.error.code]).toEqual([400, 'invalid_request']);
    expect(body.error.message).toContain('"workContract"');
    expect(body.error.message).toContain(named);
  });

  it('takes the legs of a ladder, first choice first', async () => {
    const { body } = await api.call('POST', '/v1/sessions', { json: { ladder: ['sim-large', 'sim-small'] } });
    expect(body.session).toMatchObject({ leg: 'sim-large', ladder: ['sim-large', 'sim-small'] });
  });

  it('keeps the options of a policy given as an object', async () => {
    const policy = { name: 'plan', options: { safetyMarginRatio: 0.1 } };
    const { body } = await api.call('POST', '/v1/sessions', { json: { policy } });
    expect(body.session.policy).toEqual(policy);
  });

  it.each([
    ['an unknown member', { legg: 'sim-small' }, 'invalid_request', '"legg"'],
    ['two unknown members', { a: 1, b: 2 }, 'invalid_request', '"b"'],
    ['an unknown leg', { leg: 'gpt-9' }, 'unknown_leg', 'sim-small, sim-large'],
    ['an unknown leg in a ladder', { ladder: ['sim-small', 'gpt-9'] }, 'unknown_leg', '"gpt-9"'],
    ['an unknown ladder', { ladder: 'best' }, 'unknown_leg', '"best"'],
    ['a leg and a ladder', { leg: 'sim-small', ladder: ['sim-small'] }, 'invalid_request', 'both'],
    ['an unknown tool', { tools: ['read', 'launch'] }, 'unknown_tool', '"launch"'],
    ['an unknown policy', { policy: 'guess' }, 'invalid_request', '"guess"'],
    [
      'an unknown policy option',
      { policy: { name: 'plan', options: { depth: 3 } } },
      'invalid_request',
      'policy',
    ],
    ['a time zone that does not exist', { timezone: 'Mars/Olympus' }, 'invalid_request', '"Mars/Olympus"'],
    ['a locale that is none', { locale: 'not a locale' }, 'invalid_request', '"locale"'],
    ['a list', [1], 'invalid_request', 'a list of 1'],
    ['metadata that is no object', { metadata: 'x' }, 'invalid_request', '"metadata"'],
  ])('refuses %s and says what was found', async (_what, json, code, named) => {
    const { status, body } = await api.call('POST', '/v1/sessions', { json });
    expect(status).toBe(400);
    expect(body.error.code).toBe(code);
    expect(body.error.message).toContain(named);
  });

  it('pages through all sessions, newest first, each once', async () => {
    const tenantKey = await api.stranger();
    const made: string[] = [];
    for (let n = 0; n < 5; n++) {
      const { body } = await api.call('POST', '/v1/sessions', { key: tenantKey, json: {} });
      made.unshift(body.session.id);
    }
    const listed: string[] = [];
    let cursor: string | null = '';
    const sizes: number[] = [];
    while (cursor !== null) {
      const query: string = cursor === '' ? '?limit=2' : `?limit=2&cursor=${cursor}`;
      const { body } = await api.call('GET', `/v1/sessions${query}`, { key: tenantKey });
      sizes.push(body.sessions.length);
      listed.push(...body.sessions.map((session: { id: string }) => session.id));
      cursor = body.next_cursor;
    }
    expect(listed).toEqual(made);
    expect(sizes).toEqual([2, 2, 1]);
  });

  it.each(['?limit=0', '?limit=101', '?limit=many', '?cursor=there', '?colour=red'])(
    'refuses the list query %s',
    async (query) => {
      const { status, body } = await api.call('GET', `/v1/sessions${query}`);
      expect([status, body.error.code]).toEqual([400, 'invalid_request']);
    },
  );

  it('archives a session, twice alike, and takes no turn in it afterwards', async () => {
    const id = await api.session();
    for (let n = 0; n < 2; n++) {
      const { status, body } = await api.call('DELETE', `/v1/sessions/${id}`);
      expect([status, body.session.status]).toEqual([200, 'archived']);
    }
    const refused = await api.call('POST', `/v1/sessions/${id}/turns`, { json: { input: 'hello' } });
    expect([refused.status, refused.body.error.code]).toEqual([409, 'session_archived']);
    expect((await api.call('GET', `/v1/sessions/${id}`)).body.session.turns).toBe(0);
  });

  it('LED-04 verifies an untouched session and names the first altered record of another', async () => {
    const id = await api.session();
    await api.turn(id, { input: 'hello there' });
    const good = await api.call('GET', `/v1/sessions/${id}/verify`);
    expect(good.body).toMatchObject({ session: id, ok: true, fault: null });
    expect(good.body.records).toBeGreaterThanOrEqual(4);
    await api.stack.sql(`ALTER TABLE turnwright.records DISABLE TRIGGER USER`);
    await api.stack.sql(
      `UPDATE turnwright.records SET body = replace(body, 'hello', 'jello') WHERE session_id = $1 AND kind = 'turn-accepted'`,
      [id],
    );
    await api.stack.sql(`ALTER TABLE turnwright.records ENABLE TRIGGER USER`);
    const bad = await api.call('GET', `/v1/sessions/${id}/verify`);
    expect(bad.status).toBe(200);
    expect(bad.body).toMatchObject({ ok: false, fault: { seq: 3, kind: 'turn-accepted' } });
    expect(bad.body.fault.problem).toContain('altered');
  });

  it('lists the legs without their addresses', async () => {
    const { body } = await api.call('GET', '/v1/legs');
    expect(body.legs.map((leg: { name: string; default: boolean }) => [leg.name, leg.default])).toEqual([
      ['sim-small', true],
      ['sim-large', false],
    ]);
    expect(JSON.stringify(body)).not.toContain(api.stack.sim.url);
  });
});
