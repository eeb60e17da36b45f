import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningApi, startApi } from '../../../src/api/app.ts';
import { type ApiStack, openApiStack, send } from './api-stack.ts';
import { harbourSession, paperOf } from './harbour.ts';

const TURN = 7;
const QUESTION = `What does ${paperOf(TURN)} say?`;
const REASON = 'The paper was of another harbour.';

describe('a link taken back', () => {
  let api: ApiStack;
  let other: RunningApi;
  beforeAll(async () => {
    api = await openApiStack({ backend: 'postgres' });
    other = await startApi(api.stack.open(), { host: '127.0.0.1', port: 0 });
    await api.stack.worker();
  });
  afterAll(async () => {
    await other.close();
    await api.close();
  });

  const harbour = () => harbourSession(api.services, api.stack.tenant, 200);
  const retract = (session: string, json: unknown) =>
    api.call('POST', `/v1/sessions/${session}/links/retract`, { json });

  async function promoted(url: string, session: string) {
    const path = `/v1/sessions/${session}/plan?text=${encodeURIComponent(QUESTION)}`;
    const { status, body } = await send(url, 'GET', path, { key: api.key });
    expect(status).toBe(200);
    return body.promoted.filter(({ number }: { number: number }) => number === TURN);
  }

  /** Whether the plan of a turn that runs now makes the turn whole. */
  async function isPromotedByWorker(session: string): Promise<boolean> {
    const turn = await api.turn(session, { input: QUESTION });
    await api.closed(turn);
    const records = await api.stack.records({ tenant: api.stack.tenant, session }, turn);
    const plan = records.find(({ kind }) => kind === 'context-plan')?.data;
    return JSON.stringify(plan?.promoted).includes(`"number":${TURN},`);
  }

  it('PLN-05 is followed by no plan from then on: here, in another process, in a worker that knew it', async () => {
    const session = await harbour();
    const link = {
      number: TURN,
      by: 'link',
      path: expect.arrayContaining([expect.stringContaining(paperOf(TURN))]),
    };
    expect(await isPromotedByWorker(session)).toBe(true);
    for (const { url } of [api, other])
      expect(await promoted(url, session)).toEqual([expect.objectContaining(link)]);

    const taken = { turn: TURN, kind: 'read', to: paperOf(TURN), reason: REASON };
    const { status, body } = await retract(session, taken);
    expect([status, body]).toEqual([200, { retracted: taken, epoch: 1 }]);

    for (const { url } of [api, other]) expect(await promoted(url, session)).toEqual([]);
    expect(await isPromotedByWorker(session)).toBe(false);
    const kept = (await api.stack.records({ tenant: api.stack.tenant, session })).find(
      ({ kind }) => kind === 'link-retracted',
    );
    expect([kept?.data, kept?.turnId]).toEqual([taken, null]);
    expect((await api.call('GET', `/v1/sessions/${session}/verify`)).body).toMatchObject({ fault: null });
  });

  it('PLN-05 leaves the other links of its turn, and every link of other turns, as they were', async () => {
    const session = await harbour();
    const links = () =>
      api.stack.sql<{ turn: number; target: string }>(
        `SELECT t.number AS turn, e.target FROM turnwright.edges e JOIN turnwright.turns t USING (tenant_id, session_id, turn_id)
          WHERE e.session_id = $1 AND NOT e.retracted ORDER BY 1, 2`,
        [session],
      );
    const before = await links();
    await retract(session, { turn: TURN, kind: 'read', to: paperOf(TURN), reason: REASON });
    expect(await links()).toEqual(
      before.filter(({ turn, target }) => turn !== TURN || target !== paperOf(TURN)),
    );
  });

  it.each([
    ['a turn there is not', { turn: 900, kind: 'read', to: 'a.md' }, ['Turn 900']],
    ['a link of another kind', { turn: TURN, kind: 'wrote', to: paperOf(TURN) }, [`read ${paperOf(TURN)}`]],
    [
      'a link to something else',
      { turn: TURN, kind: 'read', to: 'a.md' },
      ['"read a.md"', `read ${paperOf(TURN)}`],
    ],
  ])('refuses %s, and says which links there are', async (_, link, named) => {
    const { status, body } = await retract(await harbour(), { ...link, reason: REASON });
    expect([status, body.error.code]).toEqual([404, 'link_not_found']);
    for (const words of named) expect(body.error.message).toContain(words);
  });

  it('refuses the same link a second time, and writes nothing then', async () => {
    const session = await harbour();
    const taken = { turn: TURN, kind: 'read', to: paperOf(TURN), reason: REASON };
    expect((await retract(session, taken)).status).toBe(200);
    expect((await retract(session, taken)).body.error.code).toBe('link_not_found');
    const records = await api.stack.records({ tenant: api.stack.tenant, session });
    expect(records.filter(({ kind }) => kind === 'link-retracted')).toHaveLength(1);
  });

  it.each([
    ['a kind there is not', { turn: 1, kind: 'likes', to: 'a', reason: 'r' }, '"kind"'],
    ['no reason', { turn: 1, kind: 'read', to: 'a' }, '"reason"'],
    ['a turn that is no number', { turn: 'T1', kind: 'read', to: 'a', reason: 'r' }, '"turn"'],
    ['a number no database holds', { turn: 3e9, kind: 'read', to: 'a', reason: 'r' }, '"turn"'],
  ])('refuses a body with %s', async (_, json, named) => {
    const { status, body } = await retract(await api.session(), json);
    expect([status, body.error.code]).toEqual([400, 'invalid_request']);
    expect(body.error.message).toContain(named);
  });
});
