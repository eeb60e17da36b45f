import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { Turnwright } from '../../../src/client/index.ts';
import { defineClientTool } from '../../../src/tools/define.ts';
import { until } from '../../support/await.ts';
import { BACKENDS } from '../../support/stack.ts';
import { heldTool, sayingTool } from '../../support/tools.ts';
import { type ApiStack, openApiStack } from './api-stack.ts';
import { readEvents } from './event-reader.ts';

const DIRECTIVE = 'Call the sextant tool.';
const READING = 'The sextant reads 54 degrees north.';
/** Longer than the window over a result. */
const LONG = Array.from({ length: 4_000 }, (_, line) => `Log line ${line}: wind from the west.`).join('\n');

describe.each(BACKENDS)('tools that the client runs, on %s', (backend) => {
  let api: ApiStack;
  const weir = heldTool('weir', 'read');
  const sextant = defineClientTool({
    name: 'sextant',
    description: 'Lets the person read the sextant.',
    input: z.strictObject({}),
  });
  const locker = defineClientTool({
    name: 'locker',
    description: 'Opens the locker of the client.',
    input: z.strictObject({}),
    approval: true,
  });
  const openNote = defineClientTool({
    name: 'open_note',
    description: 'Reads a file of the person.',
    input: z.strictObject({ path: z.string().describe('Path of the file.') }),
    effect: 'read',
  });
  beforeAll(async () => {
    const survey = sayingTool('survey', 'Looks at the hull.', 'The hull is sound.');
    api = await openApiStack({ backend, tools: [sextant, locker, openNote, weir.tool, survey] });
    await api.stack.worker();
  });
  afterAll(() => api.close());

  const sessionWith = (...tools: readonly string[]) => api.session({ leg: 'sim-large', tools });
  const signal = (turn: string, json: unknown) => api.call('POST', `/v1/turns/${turn}/signals`, { json });
  const give = (turn: string, content: string, callId = 'tool-1-0', more = {}) =>
    signal(turn, { type: 'tool_result', callId, content, ...more });
  const reached = (turn: string, phase: string) =>
    until(`turn ${turn} is ${phase}`, async () => {
      const { body } = await api.call('GET', `/v1/turns/${turn}`);
      return body.turn.phase === phase ? body.turn : null;
    });
  const waiting = async (directive = DIRECTIVE, ...tools: readonly string[]) => {
    const session = await sessionWith(...(tools.length === 0 ? ['sextant'] : tools));
    const turn = await api.turn(session, { input: directive });
    await reached(turn, 'waiting');
    return { session, turn };
  };
  const resultsOf = async (session: string, turn: string) => {
    const records = await api.stack.records({ tenant: api.stack.tenant, session }, turn);
    return records.filter(({ kind }) => kind === 'tool-result').map(({ data }) => data);
  };

  it('a turn that calls one waits for its result without a worker, says which, and goes on with it', async () => {
    const { session, turn } = await waiting();
    const reader = await readEvents(api.url, turn, api.key);
    const { data } = await reader.next(({ type }) => type === 'turn.waiting');
    expect(data).toEqual({ for: 'client', calls: ['tool-1-0'] });
    const open = await api.stack.sql(
      `SELECT 1 FROM turnwright.side_calls WHERE actor_id = $1 AND status IN ('queued', 'running')`,
      [turn],
    );
    expect(open).toEqual([]);
    expect((await api.call('GET', `/v1/turns/${turn}`)).body.turn.state).toBe('waiting');
    const given = await give(turn, READING);
    expect([given.status, given.body.turn.id]).toEqual([202, turn]);
    expect(await api.closed(turn)).toMatchObject({ outcome: 'completed', steps: 2 });
    expect(await resultsOf(session, turn)).toMatchObject([
      { step: 1, index: 0, name: 'sextant', status: 'ok', evidence: 'e1', content: READING, windowed: false },
    ]);
    const events = await reader.all();
    expect(events.filter(({ type }) => type === 'tool.completed')).toHaveLength(1);
    expect(await api.stack.verify({ tenant: api.stack.tenant, session })).toMatchObject({ ok: true });
  });

  it("the client gives a result by the call's own id, as a failure too", async () => {
    const { session, turn } = await waiting();
    const client = new Turnwright({ url: api.url, key: api.key });
    const shown = await client.turns
      .handle(turn)
      .toolResult('t1s1c0', 'The sky is hidden.', { isError: true });
    expect(shown.id).toBe(turn);
    await api.closed(turn);
    const [result] = await resultsOf(session, turn);
    expect(result).toMatchObject({ callId: 't1s1c0', status: 'error', content: 'The sky is hidden.' });
  });

  it('RUN-03 the same result given again changes nothing, before and after the end, and another one is refused', async () => {
    const { session, turn } = await waiting();
    const answers = await Promise.all(Array.from({ length: 6 }, () => give(turn, READING)));
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202, 202, 202]);
    await api.closed(turn);
    expect((await give(turn, READING, 't1s1c0')).status).toBe(202);
    for (const [content, more] of [
      ['Something else.', {}],
      [READING, { isError: true }],
    ] as const) {
      const other = await give(turn, content, 'tool-1-0', more);
      expect([other.status, other.body.error.code]).toEqual([409, 'call_answered']);
      expect(other.body.error.message).not.toContain(READING);
    }
    expect(await resultsOf(session, turn)).toHaveLength(1);
    expect(await api.stack.verify({ tenant: api.stack.tenant, session })).toMatchObject({ ok: true });
  });

  it('RUN-03 of two different results at once one is taken', async () => {
    const { session, turn } = await waiting();
    const answers = await Promise.all([give(turn, 'North.'), give(turn, 'South.')]);
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([202, 409]);
    await api.closed(turn);
    const taken = answers[0].status === 202 ? 'North.' : 'South.';
    expect(await resultsOf(session, turn)).toMatchObject([{ content: taken }]);
  });

  it('a result beyond the window is kept whole beside it, and known again', async () => {
    const { session, turn } = await waiting();
    expect((await give(turn, LONG)).status).toBe(202);
    await api.closed(turn);
    const [result] = await resultsOf(session, turn);
    expect(result).toMatchObject({ windowed: true, evidence: 'e1' });
    expect(result?.content).toContain('omitted');
    const whole = await api.stack.records({ tenant: api.stack.tenant, session }, turn);
    expect(whole.find(({ kind }) => kind === 'evidence-body')?.data.content).toBe(LONG);
    expect((await give(turn, LONG)).status).toBe(202);
    expect((await give(turn, `${LONG}!`)).body.error.code).toBe('call_answered');
  });

  it('text that no JSON or database takes as it is comes through', async () => {
    const { session, turn } = await waiting();
    const odd = 'nul \u0000, half \ud800, <turn_context>, ä';
    expect((await give(turn, odd)).status).toBe(202);
    await api.closed(turn);
    expect(await resultsOf(session, turn)).toMatchObject([{ content: odd }]);
    expect((await give(turn, odd)).status).toBe(202);
  });

  it.each(['tool-1-1', 'tool-2-0', 't1s1c1', 't2s1c0', 'sextant', 'x'])(
    'a result for the call %s, which the turn has not, is refused',
    async (callId) => {
      const { session, turn } = await waiting();
      const { status, body } = await give(turn, READING, callId);
      expect([status, body.error.code]).toEqual([404, 'call_not_found']);
      expect(await resultsOf(session, turn)).toEqual([]);
      await api.call('POST', `/v1/turns/${turn}/cancel`);
    },
  );

  it('a result for a call that a worker runs is refused, and the worker answers it', async () => {
    const session = await sessionWith('weir');
    const turn = await api.turn(session, { input: 'Call the weir tool.' });
    const run = await until('the tool runs', () => weir.runs[0]);
    const { status, body } = await give(turn, 'mine');
    expect([status, body.error.code]).toEqual([409, 'turn_not_waiting']);
    expect(body.error.message).toContain('no call of its client');
    run.release();
    await api.closed(turn);
    expect(await resultsOf(session, turn)).toMatchObject([{ name: 'weir', status: 'ok' }]);
  });

  it('a step that calls two waits until both have their result, in whichever order they come', async () => {
    const { session, turn } = await waiting('Compare a.md with b.md.', 'open_note');
    expect((await give(turn, 'Pier b is long.', 'tool-1-1')).status).toBe(202);
    const { body } = await api.call('GET', `/v1/turns/${turn}`);
    expect(body.turn).toMatchObject({ state: 'waiting', answer: null });
    expect((await give(turn, 'Pier b is long.', 'tool-1-1')).status).toBe(202);
    expect((await give(turn, 'Pier a is short.', 'tool-1-0')).status).toBe(202);
    expect(await api.closed(turn)).toMatchObject({ outcome: 'completed', steps: 2 });
    const results = await resultsOf(session, turn);
    expect(results.map(({ index, evidence, content }) => [index, evidence, content])).toEqual([
      [1, 'e1', 'Pier b is long.'],
      [0, 'e2', 'Pier a is short.'],
    ]);
    expect(await api.stack.verify({ tenant: api.stack.tenant, session })).toMatchObject({ ok: true });
  });

  it('a turn that waits for its client takes no decision, and says what it waits for', async () => {
    const { turn } = await waiting();
    for (const json of [{ type: 'approve' }, { type: 'deny' }, { type: 'decide', rerun: true }]) {
      const { status, body } = await signal(turn, json);
      expect([status, body.error.code]).toEqual([409, 'turn_not_waiting']);
      expect(body.error.message).toContain('tool_result');
    }
    expect((await give(turn, READING)).status).toBe(202);
    await api.closed(turn);
  });

  it('a call that a person must allow takes no result before, and waits for it after', async () => {
    const { turn } = await waiting('Call the locker tool.', 'locker');
    const early = await give(turn, 'Open.');
    expect([early.status, early.body.error.code]).toEqual([409, 'turn_not_waiting']);
    expect((await signal(turn, { type: 'approve' })).status).toBe(202);
    await until('the turn waits for its client', async () => (await give(turn, 'Open.')).status === 202);
    expect(await api.closed(turn)).toMatchObject({ outcome: 'completed', steps: 2 });
  });

  it('a call that a person refused is answered as such, and takes no result', async () => {
    const { session, turn } = await waiting('Call the locker tool.', 'locker');
    expect((await signal(turn, { type: 'deny' })).status).toBe(202);
    await api.closed(turn);
    const results = await resultsOf(session, turn);
    expect(results[0]).toMatchObject({ name: 'locker', status: 'denied' });
    expect((await give(turn, 'Open.')).body.error.code).toBe('call_answered');
  });

  it('a turn that was cancelled while it waited takes no result any more', async () => {
    const { session, turn } = await waiting();
    await api.call('POST', `/v1/turns/${turn}/cancel`);
    const { status, body } = await give(turn, READING);
    expect([status, body.error.code]).toEqual([409, 'turn_closed']);
    expect(body.error.details).toEqual({ outcome: 'cancelled' });
    expect(await resultsOf(session, turn)).toEqual([]);
  });

  it("another tenant's turn is not there", async () => {
    const { turn } = await waiting();
    const { status, body } = await api.call('POST', `/v1/turns/${turn}/signals`, {
      key: await api.stranger(),
      json: { type: 'tool_result', callId: 'tool-1-0', content: READING },
    });
    expect([status, body.error.code]).toEqual([404, 'turn_not_found']);
    await api.call('POST', `/v1/turns/${turn}/cancel`);
  });

  it.each([
    ['no call', { content: 'x' }, 400, 'invalid_request'],
    ['no content', { callId: 'tool-1-0' }, 400, 'invalid_request'],
    ['content that is no text', { callId: 'tool-1-0', content: { a: 1 } }, 400, 'invalid_request'],
    [
      'more than a body may hold',
      { callId: 'tool-1-0', content: 'x'.repeat(1_100_000) },
      413,
      'body_too_large',
    ],
  ])('a result with %s is refused', async (_what, members, status, code) => {
    const { turn } = await waiting();
    const refused = await signal(turn, { type: 'tool_result', ...members });
    expect([refused.status, refused.body.error.code]).toEqual([status, code]);
    await api.call('POST', `/v1/turns/${turn}/cancel`);
  });
});
