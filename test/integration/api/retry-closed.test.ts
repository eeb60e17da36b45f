import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiStack, openApiStack } from './api-stack.ts';

const FILES = { 'harbour.md': '# Harbour\n\nThe harbour master of Elmouth is Ida Brandt.\n' };
const QUESTION = 'Who is the harbour master of Elmouth? Look into harbour.md.';

describe('the retry of a closed turn', () => {
  let api: ApiStack;
  beforeAll(async () => {
    api = await openApiStack({ backend: 'postgres', files: FILES });
    await api.stack.worker();
  });
  afterAll(() => api.close());

  const retry = (turn: string, headers: Readonly<Record<string, string>> = {}, key = api.key) =>
    api.call('POST', `/v1/turns/${turn}/retry`, { headers, key });
  const ended = async (body: Readonly<Record<string, unknown>> = {}) => {
    const session = await api.session({ leg: 'sim-large', tools: ['read'] });
    const turn = await api.turn(session, { input: QUESTION, ...body });
    await api.closed(turn);
    return { session, turn };
  };
  const acceptance = async (turn: string) => {
    const [record] = await api.stack.sql<{ body: string }>(
      `SELECT body FROM turnwright.records WHERE turn_id = $1 AND kind = 'turn-accepted'`,
      [turn],
    );
    return JSON.parse(record?.body ?? '{}');
  };
  const turnsOf = async (session: string) =>
    (await api.call('GET', `/v1/sessions/${session}`)).body.session.turns;

  it('RUN-11 is a new turn with the same directive, metadata and priority, which names the old one', async () => {
    const { session, turn } = await ended({ metadata: { ticket: 7 }, priority: 3 });
    const { status, body } = await retry(turn);
    expect(status).toBe(202);
    expect(body.turn).toMatchObject({
      session,
      number: 2,
      retry_of: turn,
      metadata: { ticket: 7 },
      priority: 3,
    });
    expect(body.turn.id).not.toBe(turn);
    expect(await acceptance(body.turn.id)).toMatchObject({
      input: (await acceptance(turn)).input,
      mode: 'enqueue',
      retryOf: turn,
    });
    const closed = await api.closed(body.turn.id);
    expect(closed).toMatchObject({ outcome: 'completed', retry_of: turn });
    expect(closed.answer).toContain('Ida Brandt');
    expect((await api.call('GET', `/v1/turns/${turn}`)).body.turn.retry_of).toBeNull();
    expect((await api.call('GET', `/v1/sessions/${session}/verify`)).body.ok).toBe(true);
  });

  it('RUN-11 is the same new turn for the same key, however often and however fast it is asked', async () => {
    const { session, turn } = await ended();
    const headers = { 'idempotency-key': 'once more' };
    const atOnce = await Promise.all([retry(turn, headers), retry(turn, headers), retry(turn, headers)]);
    await api.closed(atOnce[0].body.turn.id);
    const answers = [...atOnce, await retry(turn, headers)];
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
    expect(new Set(answers.map(({ body }) => body.turn.id)).size).toBe(1);
    expect(await turnsOf(session)).toBe(2);
    expect((await retry(turn)).body.turn.number).toBe(3);
  });

  it('RUN-11 takes a key that names another turn of the session as a conflict', async () => {
    const { session, turn } = await ended();
    const headers = { 'idempotency-key': 'mine' };
    await api.closed(await api.turn(session, { input: QUESTION }, { headers }));
    const refused = await retry(turn, headers);
    expect([refused.status, refused.body.error.code]).toEqual([409, 'idempotency_conflict']);
    const blank = await retry(turn, { 'idempotency-key': '' });
    expect([blank.status, blank.body.error.code]).toEqual([400, 'invalid_request']);
    expect(await turnsOf(session)).toBe(2);
  });

  it('RUN-11 RUN-14 keeps the budget the old turn had, and a retry can be retried', async () => {
    const { turn } = await ended({ budget: { steps: 1 } });
    const why = async (id: string) => (await api.call('GET', `/v1/turns/${id}/why`)).body;
    const first = await why(turn);
    expect(first.sentences[0]).toMatch(/ended degraded .*: its budget of steps was spent\.$/u);
    expect(first.sentences.at(-1)).toContain(`/v1/turns/${turn}/retry`);
    const second = (await retry(turn)).body.turn.id;
    expect((await why(second)).facts.steps.budget).toBe(1);
    const unlimited = (await retry((await ended()).turn)).body.turn.id;
    expect((await why(unlimited)).facts.steps.budget).toBe(40);
    await api.closed(second);
    expect((await retry(second)).body.turn.retry_of).toBe(second);
  });

  it('RUN-11 is refused when the directive was erased, when the session is archived, and to whoever may not write', async () => {
    const { session, turn } = await ended();
    const reader = await api.keyOf(['turns:read', 'content']);
    expect((await retry(turn, {}, reader)).body.error.code).toBe('forbidden');
    expect((await retry(turn, {}, await api.stranger())).body.error.code).toBe('turn_not_found');
    await api.call('DELETE', `/v1/sessions/${session}`);
    const archived = await retry(turn);
    expect([archived.status, archived.body.error.code]).toEqual([409, 'session_archived']);

    const other = await ended();
    await api.stack.sql(`ALTER TABLE turnwright.records DISABLE TRIGGER append_only`);
    await api.stack.sql(
      `UPDATE turnwright.records SET body = NULL WHERE turn_id = $1 AND kind = 'turn-accepted'`,
      [other.turn],
    );
    const erased = await retry(other.turn);
    expect([erased.status, erased.body.error.code]).toEqual([409, 'turn_closed']);
    expect(erased.body.error.message).toContain('erased');
    expect(await turnsOf(other.session)).toBe(1);
  });
});
