import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../../src/tools/define.ts';
import { gate, until } from '../../support/await.ts';
import { type ApiStack, openApiStack } from './api-stack.ts';

const FILES = { 'harbour.md': '# Harbour\n\nThe harbour master of Elmouth is Ida Brandt.\n' };
const QUESTION = 'Who is the harbour master of Elmouth? Look into harbour.md.';
const ABSENT = '00000000-0000-7000-8000-000000000000';

describe('turns over HTTP, with no worker', () => {
  let api: ApiStack;
  let session: string;
  beforeAll(async () => {
    api = await openApiStack({ backend: 'postgres' });
    session = await api.session();
  });
  afterAll(() => api.close());

  it('accepts a text and shows the turn as running on a free head', async () => {
    const own = await api.session();
    const { status, body } = await api.call('POST', `/v1/sessions/${own}/turns`, {
      json: { input: QUESTION, metadata: { ticket: 7 } },
    });
    expect(status).toBe(202);
    expect(body.turn).toMatchObject({
      session: own,
      number: 1,
      state: 'running',
      phase: 'stepping',
      outcome: null,
      answer: null,
      metadata: { ticket: 7 },
      closed_at: null,
    });
    expect((await api.call('GET', `/v1/turns/${body.turn.id}`)).body).toEqual(body);
    expect((await api.call('GET', `/v1/sessions/${own}`)).body.session.open_turn).toBe(body.turn.id);
  });

  it('RUN-10 lets a turn wait behind the running one, and refuses one that may not wait', async () => {
    const own = await api.session();
    await api.turn(own, { input: 'first' });
    const second = await api.call('POST', `/v1/sessions/${own}/turns`, { json: { input: 'second' } });
    expect(second.body.turn).toMatchObject({ number: 2, state: 'accepted', started_at: null });
    const refused = await api.call('POST', `/v1/sessions/${own}/turns`, {
      json: { input: 'third', mode: 'reject' },
    });
    expect([refused.status, refused.body.error.code]).toEqual([409, 'turn_running']);
    expect((await api.call('GET', `/v1/sessions/${own}`)).body.session.turns).toBe(2);
  });

  it('RUN-10 names the modes it takes when asked for another', async () => {
    const { status, body } = await api.call('POST', `/v1/sessions/${session}/turns`, {
      json: { input: 'x', mode: 'overtake' },
    });
    expect([status, body.error.code]).toEqual([400, 'invalid_request']);
    for (const mode of ['enqueue', 'steer', 'interrupt', 'reject'])
      expect(body.error.message).toContain(mode);
  });

  it('RUN-10 steers the running turn by mode or by signal, and interrupts it for another', async () => {
    const own = await api.session();
    const running = await api.turn(own, { input: 'x' });
    expect(await api.turn(own, { input: 'and y', mode: 'steer' })).toBe(running);
    const signalled = await api.call('POST', `/v1/turns/${running}/signals`, {
      json: { type: 'steer', input: 'and z' },
    });
    expect([signalled.status, signalled.body.turn.id]).toEqual([202, running]);
    const next = await api.turn(own, { input: 'rather this', mode: 'interrupt' });
    expect(next).not.toBe(running);
    const { body } = await api.call('GET', `/v1/turns/${running}`);
    expect(body.turn).toMatchObject({ state: 'closed', outcome: 'cancelled', reason: 'interrupted' });
    const late = await api.call('POST', `/v1/turns/${running}/signals`, {
      json: { type: 'steer', input: 'x' },
    });
    expect([late.status, late.body.error.code]).toEqual([409, 'turn_closed']);
  });

  it('answers the same key and body with the same turn, and another body with a conflict', async () => {
    const own = await api.session();
    const headers = { 'idempotency-key': 'order 66 / "a"' };
    const sendOnce = () => api.turn(own, { input: 'pay once', metadata: { a: 1 } }, { headers });
    const turns = new Set(await Promise.all([sendOnce(), sendOnce(), sendOnce()]));
    turns.add(await sendOnce());
    expect(turns.size).toBe(1);
    const other = await api.call('POST', `/v1/sessions/${own}/turns`, {
      json: { input: 'pay twice' },
      headers,
    });
    expect([other.status, other.body.error.code]).toEqual([409, 'idempotency_conflict']);
    expect((await api.call('GET', `/v1/sessions/${own}`)).body.session.turns).toBe(1);
    const elsewhere = await api.session();
    expect(turns.has(await api.turn(elsewhere, { input: 'pay once', metadata: { a: 1 } }, { headers }))).toBe(
      false,
    );
  });

  it.each([
    ['longer than 200', 'k'.repeat(201)],
    ['empty', ''],
    ['not ASCII', 'caf\u00e9'],
  ])('refuses an Idempotency-Key that is %s', async (_what, value) => {
    const { status, body } = await api.call('POST', `/v1/sessions/${session}/turns`, {
      json: { input: 'x' },
      headers: { 'idempotency-key': value },
    });
    expect([status, body.error.code]).toEqual([400, 'invalid_request']);
    expect(body.error.message).toContain('200 printable ASCII');
  });

  it.each([
    ['no input', {}, '"input"'],
    ['a blank text', { input: ' \n ' }, '"input"'],
    ['no block', { input: [] }, '"input"'],
    ['a block of an unknown type', { input: [{ type: 'video', data: '' }] }, '"input"'],
    [
      'an image of an unknown kind',
      { input: [{ type: 'image', mediaType: 'image/tiff', data: 'AAAA' }] },
      'input',
    ],
    [
      'an image that is no base64',
      { input: [{ type: 'image', mediaType: 'image/png', data: '%%' }] },
      'input',
    ],
    ['an unknown member', { input: 'x', colour: 'red' }, '"colour"'],
    ['a negative priority', { input: 'x', priority: -1 }, '"priority"'],
    ['a budget beyond the limit', { input: 'x', budget: { steps: 41 } }, 'at most 40'],
    ['a budget of nothing', { input: 'x', budget: { timeMs: 0 } }, '"budget.timeMs"'],
  ])('refuses %s and writes nothing', async (_what, json, named) => {
    const own = await api.session();
    const { status, body } = await api.call('POST', `/v1/sessions/${own}/turns`, { json });
    expect([status, body.error.code]).toEqual([400, 'invalid_request']);
    expect(body.error.message).toContain(named);
    expect((await api.call('GET', `/v1/sessions/${own}`)).body.session.turns).toBe(0);
  });

  it('takes text with characters a database refuses, and text that is no valid Unicode', async () => {
    const own = await api.session();
    const turn = await api.turn(own, {
      input: 'null \u0000 and half \ud800 a pair',
      metadata: { x: '\u0000' },
    });
    expect((await api.call('GET', `/v1/turns/${turn}`)).status).toBe(200);
    expect((await api.call('GET', `/v1/sessions/${own}/verify`)).body.ok).toBe(true);
  });

  it('RUN-06 cancels a waiting turn and lets the running one be; the next after it starts once', async () => {
    const own = await api.session();
    const [first, second, third] = [
      await api.turn(own, { input: 'first' }),
      await api.turn(own, { input: 'second' }),
      await api.turn(own, { input: 'third' }),
    ];
    const cancelled = await api.call('POST', `/v1/turns/${second}/cancel`);
    expect(cancelled.body.turn).toMatchObject({ state: 'closed', outcome: 'cancelled', steps: 0 });
    const stateOf = async (turn: string) => (await api.call('GET', `/v1/turns/${turn}`)).body.turn.state;
    expect([await stateOf(first), await stateOf(third)]).toEqual(['running', 'accepted']);
    await api.call('POST', `/v1/turns/${first}/cancel`);
    expect(await stateOf(third)).toBe('running');
    const starts = await api.stack.sql(
      `SELECT 1 FROM turnwright.records WHERE session_id = $1 AND turn_id = $2 AND kind = 'turn-context'`,
      [own, third],
    );
    expect(starts).toHaveLength(1);
  });

  it('of many cancels at once applies one; the others hear that the turn has ended', async () => {
    const own = await api.session();
    const turn = await api.turn(own, { input: 'stop me' });
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => api.call('POST', `/v1/turns/${turn}/cancel`)),
    );
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 409, 409, 409, 409, 409]);
    const late = await api.call('POST', `/v1/turns/${turn}/cancel`);
    expect([late.status, late.body.error.code]).toEqual([409, 'turn_closed']);
    expect(late.body.error.details).toEqual({ outcome: 'cancelled' });
    const closings = await api.stack.sql(
      `SELECT 1 FROM turnwright.records WHERE turn_id = $1 AND kind = 'turn-closed'`,
      [turn],
    );
    expect(closings).toHaveLength(1);
  });

  it('refuses a decision for a turn that waits for none', async () => {
    const own = await api.session();
    const turn = await api.turn(own, { input: 'x' });
    const early = await api.call('POST', `/v1/turns/${turn}/signals`, { json: { type: 'approve' } });
    expect([early.status, early.body.error.code]).toEqual([409, 'turn_not_waiting']);
    expect(early.body.error.message).toContain('stepping');
    await api.call('POST', `/v1/turns/${turn}/cancel`);
    const late = await api.call('POST', `/v1/turns/${turn}/signals`, { json: { type: 'deny' } });
    expect(late.body.error.code).toBe('turn_closed');
    const steer = await api.call('POST', `/v1/turns/${turn}/signals`, { json: { type: 'steer' } });
    expect(steer.body.error.code).toBe('invalid_request');
    expect(steer.body.error.message).toContain('input');
  });

  it('shows nothing of one tenant to another, on any route that takes an id', async () => {
    const own = await api.session();
    const turn = await api.turn(own, { input: 'mine' });
    const key = await api.stranger();
    const routes: readonly (readonly [string, string, unknown?])[] = [
      ['GET', `/v1/sessions/${own}`],
      ['DELETE', `/v1/sessions/${own}`],
      ['GET', `/v1/sessions/${own}/verify`],
      ['POST', `/v1/sessions/${own}/turns`, { input: 'theirs' }],
      ['GET', `/v1/turns/${turn}`],
      ['GET', `/v1/turns/${turn}/events`],
      ['GET', `/v1/turns/${turn}/replay`],
      ['POST', `/v1/turns/${turn}/cancel`],
      ['POST', `/v1/turns/${turn}/signals`, { type: 'approve' }],
      ['POST', `/v1/turns/${turn}/retry`],
    ];
    for (const [method, path, json] of routes) {
      const answers = await Promise.all([
        api.call(method, path, { key, json }),
        api.call(method, path.replace(/[0-9a-f-]{36}/u, ABSENT), { json }),
        api.call(method, path.replace(/[0-9a-f-]{36}/u, 'not-an-id'), { json }),
      ]);
      const wanted = path.includes('/sessions/') ? 'session_not_found' : 'turn_not_found';
      for (const { status, body } of answers)
        expect([path, status, body.error.code]).toEqual([path, 404, wanted]);
    }
    expect((await api.call('GET', '/v1/sessions', { key })).body.sessions).toEqual([]);
    expect((await api.call('GET', '/v1/turns/stuck', { key })).body.turns).toEqual([]);
    expect((await api.call('GET', `/v1/turns/${turn}`)).body.turn.state).toBe('running');
    expect((await api.call('GET', `/v1/sessions/${own}`)).body.session).toMatchObject({
      status: 'open',
      turns: 1,
    });
  });
});

describe.each(['postgres', 'redis'] as const)('turns over HTTP, run by workers on %s', (backend) => {
  const danger = gate();
  const ran: string[] = [];
  let api: ApiStack;
  beforeAll(async () => {
    const launch = defineTool({
      name: 'launch_rocket',
      description: 'Launches the rocket.',
      input: z.object({}),
      approval: true,
      run: async () => {
        ran.push('launched');
        danger.open();
        return 'The rocket is up.';
      },
    });
    api = await openApiStack({ backend, files: FILES, tools: [launch] });
    await api.stack.worker();
  });
  afterAll(() => api.close());

  it('RUN-13 RUN-14 runs a turn to its answer and says what it cost', async () => {
    const session = await api.session({ leg: 'sim-large', tools: ['read', 'grep', 'glob'] });
    const turn = await api.closed(await api.turn(session, { input: QUESTION }));
    expect(turn).toMatchObject({ outcome: 'completed', reason: 'answered' });
    expect(turn.answer).toContain('Ida Brandt');
    expect(turn.steps).toBeGreaterThanOrEqual(2);
    expect(turn.usage.calls).toBe(turn.steps);
    const { input_tokens, cache_read_tokens, cache_write_tokens, prompt_tokens } = turn.usage;
    expect(prompt_tokens).toBe(input_tokens + cache_read_tokens + cache_write_tokens);
    expect(prompt_tokens).toBeGreaterThan(0);
    expect(Date.parse(turn.closed_at)).toBeGreaterThanOrEqual(Date.parse(turn.accepted_at));
  });

  it('RUN-09 replays a turn, and says so when a stored event does not lead where it led', async () => {
    const session = await api.session({ leg: 'sim-large', tools: ['read'] });
    const turn = await api.closed(await api.turn(session, { input: QUESTION }));
    const { body } = await api.call('GET', `/v1/turns/${turn.id}/replay`);
    expect(body).toMatchObject({ machine: 'turn', matches: true });
    expect(body.steps.at(0)).toMatchObject({ id: 'init', state: 'accepted', matches: true });
    expect(body.steps.at(-1)).toMatchObject({ state: 'completed', matches: true });
    // Folded into one row or not, whichever it is by now; an update that meets the fold finds neither.
    const alter = (from: string, to: string) =>
      until(`an event holds ${from}`, async () => {
        const altered = await api.stack.sql(
          `UPDATE turnwright.actor_events SET event = replace(event, $2, $3)
            WHERE actor_id = $1 AND strpos(event, $2) > 0 RETURNING event_id`,
          [turn.id, from, to],
        );
        return altered.length > 0;
      });
    await alter(':40', ':41');
    const altered = await api.call('GET', `/v1/turns/${turn.id}/replay`);
    expect(altered.body).toMatchObject({ matches: false });
    expect(altered.body.steps[0]).toMatchObject({ id: 'init', matches: false });
    await alter('xstate.init', 'turn.start');
    await alter('input', 'inputs');
    const broken = await api.call('GET', `/v1/turns/${turn.id}/replay`);
    expect([broken.status, broken.body.error.code]).toEqual([500, 'ledger_corrupt']);
  });

  it('waits for a person where a tool asks for it, and takes one decision', async () => {
    const session = await api.session({ leg: 'sim-large', tools: ['launch_rocket'] });
    const id = await api.turn(session, { input: 'Call the tool launch_rocket now.' });
    const waiting = await waitFor(api, id, 'waiting');
    expect(waiting).toMatchObject({ state: 'waiting', phase: 'waiting' });
    expect(ran).toEqual([]);
    const answers = await Promise.all([
      api.call('POST', `/v1/turns/${id}/signals`, { json: { type: 'approve' } }),
      api.call('POST', `/v1/turns/${id}/signals`, { json: { type: 'approve' } }),
    ]);
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([202, 409]);
    await danger.opened;
    expect((await api.closed(id)).outcome).toBe('completed');
    expect(ran).toEqual(['launched']);
  });

  it('goes on without the call when it is denied', async () => {
    const before = ran.length;
    const session = await api.session({ leg: 'sim-large', tools: ['launch_rocket'] });
    const id = await api.turn(session, { input: 'Call the tool launch_rocket now.' });
    await waitFor(api, id, 'waiting');
    await api.call('POST', `/v1/turns/${id}/signals`, { json: { type: 'deny' } });
    expect((await api.closed(id)).state).toBe('closed');
    expect(ran).toHaveLength(before);
  });

  it('RUN-14 ends a turn degraded when its step budget is spent', async () => {
    const session = await api.session({ leg: 'sim-large', tools: ['read', 'grep', 'glob'] });
    const turn = await api.closed(await api.turn(session, { input: QUESTION, budget: { steps: 1 } }));
    expect(turn).toMatchObject({ outcome: 'degraded', reason: 'step_budget', steps: 1 });
  });
});

async function waitFor(api: ApiStack, turn: string, state: string) {
  const deadlineMs = performance.now() + 20_000;
  for (;;) {
    const { body } = await api.call('GET', `/v1/turns/${turn}`);
    if (body.turn.state === state) return body.turn;
    if (body.turn.state === 'closed' || performance.now() > deadlineMs)
      throw new Error(`turn ${turn} is ${JSON.stringify(body.turn)}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
