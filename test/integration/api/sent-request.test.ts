import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startApi } from '../../../src/api/app.ts';
import type { Json } from '../../../src/ledger/json.ts';
import { until } from '../../support/await.ts';
import { type HeldTool, heldTool, sayingTool } from '../../support/tools.ts';
import { type ApiStack, openApiStack, send } from './api-stack.ts';
import { harbourSession, shipOf } from './harbour.ts';

const LONG_TEXT = 'The tide turns at noon, and the harbour master writes it down. '.repeat(1_000);
const CONTRACT = 'Keep the harbour book in order.';

interface Receipt {
  readonly step: number;
  readonly purpose: string;
  readonly settlement: string;
  readonly requestDigest: string;
}

describe('a request that was sent, made again from the records', () => {
  let api: ApiStack;
  let sluice: HeldTool;
  beforeAll(async () => {
    sluice = heldTool('sluice', 'read');
    const weir = sayingTool('weir', 'Looks at the weir.', 'The gate is open.');
    const almanac = sayingTool('almanac', 'Says the tides.', LONG_TEXT);
    api = await openApiStack({ backend: 'postgres', tools: [sluice.tool, weir, almanac] });
    await api.stack.worker();
  });
  afterAll(() => api.close());

  const recordsOf = (session: string) => api.stack.records({ tenant: api.stack.tenant, session });

  async function ask(session: string, input: string): Promise<string> {
    const turn = await api.turn(session, { input });
    expect((await api.closed(turn)).outcome).toBe('completed');
    return turn;
  }

  /** Every answered step of a session with the digest its receipt names. */
  async function sentSteps(session: string) {
    const records = await recordsOf(session);
    return records
      .filter(({ kind }) => kind === 'work-receipt')
      .map(({ turnId, data }) => ({ turn: turnId ?? '', receipt: data as unknown as Receipt }))
      .filter(({ receipt }) => receipt.purpose === 'step' && receipt.settlement === 'answered');
  }

  async function expectSame(session: string, url = api.url): Promise<number> {
    const steps = await sentSteps(session);
    for (const { turn, receipt } of steps) {
      const path = `/v1/turns/${turn}/request?step=${receipt.step}`;
      const { status, body } = await send(url, 'GET', path, { key: api.key });
      expect([status, body.notice, body.same], JSON.stringify(body)).toEqual([200, null, true]);
      const { requestDigest } = receipt;
      expect([body.request_digest, body.rebuilt_digest]).toEqual([requestDigest, requestDigest]);
    }
    return steps.length;
  }

  /** The same in a process that has read nothing yet. */
  async function expectSameAfresh(session: string): Promise<number> {
    const fresh = await startApi(api.stack.open(), { host: '127.0.0.1', port: 0 });
    try {
      return await expectSame(session, fresh.url);
    } finally {
      await fresh.close();
    }
  }

  /** Calls, a windowed result, an empty reply sent back, a message for the running turn. */
  async function lived(): Promise<string> {
    const session = await api.session({ leg: 'sim-large', workContract: CONTRACT });
    api.stack.sim.setFaults([{ match: { count: 1 }, fault: { name: 'empty' } }]);
    await ask(session, 'Good morning.');
    api.stack.sim.setFaults([]);
    await ask(session, 'Call the almanac tool.');
    const before = sluice.runs.length;
    const turn = await api.turn(session, { input: 'Call the sluice tool.' });
    const run = await until('the tool runs', () => sluice.runs[before]);
    await api.call('POST', `/v1/turns/${turn}/signals`, { json: { type: 'steer', input: 'Mind the tide.' } });
    await until('the message is stored', async () =>
      (await recordsOf(session)).some(({ kind }) => kind === 'steering'),
    );
    run.release();
    await api.closed(turn);
    await ask(session, 'What did the almanac say of the tide?');
    return session;
  }

  it('ASM-01 ASM-02 is the same bytes for every step: calls, windows, nudges, steering, and a process that knows nothing', async () => {
    const session = await lived();
    expect(await expectSame(session)).toBeGreaterThanOrEqual(7);
    const kinds = (await recordsOf(session)).map(({ kind }) => kind);
    for (const kind of ['nudge', 'steering', 'evidence-body', 'tool-result']) expect(kinds).toContain(kind);
    const rebuilt = await api.call('POST', `/v1/sessions/${session}/rebuild`);
    expect(rebuilt.body.differences).toEqual([]);
    expect(await expectSameAfresh(session)).toBeGreaterThanOrEqual(7);
  });

  it('ASM-03 carries the packet, the cards and the promoted turns it carried when it was sent', async () => {
    const session = await harbourSession(api.services, api.stack.tenant, 240, { workContract: CONTRACT });
    await ask(session, `What was said of the ${shipOf(6)} and her tons of coal?`);
    await ask(session, 'And that again, shorter?');
    const plans = (await recordsOf(session)).filter(({ kind }) => kind === 'context-plan');
    const told = plans.map(({ data }) => data as Readonly<Record<string, Json>>);
    expect(told.some(({ packet }) => packet !== null)).toBe(true);
    expect(JSON.stringify(told)).toContain('"fidelity":"card"');
    expect(told.some(({ promoted }) => Array.isArray(promoted) && promoted.length > 0)).toBe(true);
    expect(await expectSame(session)).toBeGreaterThanOrEqual(2);
    expect(await expectSameAfresh(session)).toBeGreaterThanOrEqual(2);
  });

  it('ASM-03 of a step that was tried again is the one that was answered', async () => {
    const session = await api.session({ leg: 'sim-large', tools: ['weir'] });
    await ask(session, 'Good morning.');
    const fromCall = api.stack.sim.calls().length + 2;
    api.stack.sim.setFaults([{ match: { fromCall, count: 1 }, fault: { name: 'overloaded' } }]);
    const turn = await ask(session, 'Call the weir tool.');
    api.stack.sim.setFaults([]);
    const settlements = (await recordsOf(session))
      .filter(({ kind, turnId }) => kind === 'work-receipt' && turnId === turn)
      .map(({ data }) => [data.step, data.settlement]);
    expect(settlements).toEqual([
      [1, 'answered'],
      [2, 'overloaded'],
      [2, 'answered'],
    ]);
    const { body } = await api.call('GET', `/v1/turns/${turn}/request?step=2`);
    expect(body).toMatchObject({ same: true, settlement: 'answered' });
  });

  it('ASM-03 shows its words to a key with the scope content, and to no other', async () => {
    const session = await api.session({ leg: 'sim-large', workContract: CONTRACT });
    const turn = await ask(session, 'Good evening to the harbour.');
    const path = `/v1/turns/${turn}/request?step=1`;
    const shown = await api.call('GET', path);
    expect(JSON.stringify(shown.body.request.messages)).toContain('Good evening to the harbour.');
    expect(JSON.stringify(shown.body.request.messages)).toContain(CONTRACT);
    expect(shown.body.request.system.length).toBeGreaterThan(0);
    expect(shown.body.messages).toBe(shown.body.request.messages.length);
    const key = await api.keyOf(['turns:read']);
    const bare = await api.call('GET', path, { key });
    expect(bare.body).toMatchObject({ same: true, rebuilt_digest: shown.body.rebuilt_digest });
    expect(JSON.stringify(bare.body)).not.toContain('harbour');
  });

  it.each([
    ['the directive', 'turn-accepted', 'Good', 'Gold'],
    ['a reply', 'assistant-message', 'weir', 'wear'],
    ['a result', 'tool-result', 'gate', 'date'],
    ['the plan', 'context-plan', '"maxOutput":', '"maxOutput":1'],
    ['a record until it is no JSON', 'turn-accepted', '{', '('],
  ])('ASM-03 is told apart, or refused, once a byte of %s is other', async (_, kind, from, to) => {
    const session = await api.session({ leg: 'sim-large', tools: ['weir'] });
    await ask(session, 'Good day: call the weir tool.');
    const turn = await ask(session, 'Good day once more: call the weir tool.');
    const path = `/v1/turns/${turn}/request?step=2`;
    expect((await api.call('GET', path)).body.same).toBe(true);
    await api.stack.sql('ALTER TABLE turnwright.records DISABLE TRIGGER USER');
    const changed = await api.stack.sql(
      `UPDATE turnwright.records SET body = overlay(body placing $4 from position($3 in body) for length($3))
        WHERE session_id = $1 AND kind = $2 AND turn_id = $5 AND position($3 in body) > 0 RETURNING seq`,
      [session, kind, from, to, turn],
    );
    await api.stack.sql('ALTER TABLE turnwright.records ENABLE TRIGGER USER');
    expect(changed.length).toBeGreaterThan(0);
    const { status, body } = await api.call('GET', path);
    if (status === 200) expect(body.same).toBe(false);
    else expect([status, body.error.code]).toEqual([500, 'ledger_corrupt']);
  });

  it('ASM-03 of another assembler is shown with both digests and that notice', async () => {
    const session = await api.session({ leg: 'sim-large' });
    const turn = await ask(session, 'Good evening.');
    await api.stack.sql('ALTER TABLE turnwright.records DISABLE TRIGGER USER');
    await api.stack.sql(
      `UPDATE turnwright.records SET body = regexp_replace(body, '"assembler":\\d+', '"assembler":1')
        WHERE session_id = $1 AND kind = 'context-plan'`,
      [session],
    );
    await api.stack.sql('ALTER TABLE turnwright.records ENABLE TRIGGER USER');
    const { body } = await api.call('GET', `/v1/turns/${turn}/request?step=1`);
    expect(body).toMatchObject({ assembler: 1, same: null });
    expect(body.notice).toContain('version 1');
    expect(body.rebuilt_digest).toMatch(/^[0-9a-f]{64}$/u);
    expect(body.request_digest).toMatch(/^[0-9a-f]{64}$/u);
  });

  it('names a step that was not sent, a query that is none, and no turn of another tenant', async () => {
    const session = await api.session({ leg: 'sim-large' });
    const turn = await ask(session, 'Good evening.');
    const missing = await api.call('GET', `/v1/turns/${turn}/request?step=9`);
    expect([missing.status, missing.body.error.code]).toEqual([404, 'step_not_found']);
    for (const query of ['', '?step=0', '?step=one', '?step=1&colour=red']) {
      const wrong = await api.call('GET', `/v1/turns/${turn}/request${query}`);
      expect([query, wrong.status, wrong.body.error.code]).toEqual([query, 400, 'invalid_request']);
    }
    const stranger = await api.stranger();
    const other = await api.call('GET', `/v1/turns/${turn}/request?step=1`, { key: stranger });
    expect([other.status, other.body.error.code]).toEqual([404, 'turn_not_found']);
  });
});
