import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sessionServices } from '../../../src/api/session-services.ts';
import { compactSession } from '../../../src/runtime/compact.ts';
import { dryPlan } from '../../../src/runtime/dry-plan.ts';
import { until } from '../../support/await.ts';
import type { TestWorker } from '../../support/stack.ts';
import { sayingTool } from '../../support/tools.ts';
import { type ApiStack, openApiStack } from './api-stack.ts';
import { harbourSession, shipOf } from './harbour.ts';

const SECRET = 'The harbour master hides the key under the third buoy.';

describe('what requests of a session carry', () => {
  let api: ApiStack;
  let worker: TestWorker;
  beforeAll(async () => {
    const almanac = sayingTool('almanac', 'Says the tides.', SECRET);
    api = await openApiStack({ backend: 'postgres', tools: [almanac] });
    worker = await api.stack.worker();
  });
  afterAll(() => api.close());

  const refOf = (session: string) => ({ tenant: api.stack.tenant, session });
  const harbour = (turns: number, config: Parameters<typeof harbourSession>[3] = {}) =>
    harbourSession(api.services, api.stack.tenant, turns, config);
  const get = async (path: string) => {
    const { status, body } = await api.call('GET', path);
    expect(status, JSON.stringify(body)).toBe(200);
    return body;
  };
  const recordsOf = (session: string, kind: string) =>
    api.stack.records(refOf(session)).then((records) => records.filter((record) => record.kind === kind));

  async function ask(session: string, input: string): Promise<string> {
    const turn = await api.turn(session, { input });
    expect((await api.closed(turn)).outcome).toBe('completed');
    return turn;
  }

  /** Everything stored of a session: a reading leaves it as it was. */
  const stored = (session: string) => api.services.store.sessionState(refOf(session));
  const timeless = async (session: string) => {
    const state = await stored(session);
    return { ...state, events: state?.events.map((event) => ({ ...event, receivedInMs: 0 })) };
  };

  describe('a dry plan', () => {
    it('PLN-01 is the plan the turn then gets, and writes and sends nothing', async () => {
      const session = await harbour(120);
      // The model's ratio is learnt first, so that the turn is sized by the same figures.
      await ask(session, 'Good morning.');
      // At rest: upkeep folds what has ended, and that is a change of its own.
      await until('nothing runs', async () =>
        (await stored(session))?.actors.every(({ status, compacted }) => status === 'done' && compacted),
      );
      const text = `What was said of the ${shipOf(7)} and her tons of coal?`;
      const [before, calls] = [await timeless(session), api.stack.sim.calls().length];
      const services = sessionServices(worker.services);
      const leg = worker.services.config.legs.find(({ name }) => name === 'sim-small');
      if (leg === undefined) throw new Error('no leg');
      const dry = await dryPlan(services, refOf(session), { text, leg });
      expect(await timeless(session)).toEqual(before);
      expect(api.stack.sim.calls()).toHaveLength(calls);

      const turn = await ask(session, text);
      const plan = (await recordsOf(session, 'context-plan')).find(({ turnId }) => turnId === turn)?.data;
      expect(dry.plan.promoted.map(({ number }) => number)).toContain(7);
      const { wants, ...planned } = dry.plan;
      expect(wants).toBeNull();
      const { runs, promoted, continues, budgetTokens, spentTokens, leftOut } = planned;
      expect(plan).toMatchObject({ runs, promoted, continues, budgetTokens, spentTokens, leftOut });
      expect(plan?.packet).toMatchObject(planned.packet ?? {});
    });

    it('PLN-01 gives every turn once, a reason for each piece, and sums to what it spends', async () => {
      const session = await harbour(240);
      const text = encodeURIComponent(`What of the ${shipOf(11)} and her tons of coal?`);
      const plan = await get(`/v1/sessions/${session}/plan?policy=plan&text=${text}`);
      expect(plan).toMatchObject({
        session,
        turn_number: 241,
        policy: 'plan',
        leg: 'sim-small',
        left_out: 0,
      });
      const numbers = plan.pieces.flatMap(({ from, to }: { from: number; to: number }) =>
        Array.from({ length: to - from + 1 }, (_, at) => from + at),
      );
      expect(numbers).toEqual(Array.from({ length: 240 }, (_, at) => at + 1));
      const spent = plan.pieces.reduce((sum: number, { tokens }: { tokens: number }) => sum + tokens, 0);
      expect(spent).toBe(plan.spent_tokens);
      expect(plan.spent_tokens).toBeLessThanOrEqual(plan.budget_tokens);
      expect(plan.promoted).toContainEqual(expect.objectContaining({ number: 11, by: 'relevance' }));
      const reasons = plan.pieces.map(({ reason }: { reason: string }) => reason);
      expect(reasons.every((reason: string) => reason.length > 0)).toBe(true);
      expect(JSON.stringify(plan)).not.toContain('coal');
    });

    it('PLN-01 is made under any configured leg: a larger one carries whole what a small one packs', async () => {
      const session = await harbour(240);
      const small = await get(`/v1/sessions/${session}/plan`);
      const large = await get(`/v1/sessions/${session}/plan?leg=sim-large`);
      const fidelities = small.pieces.map(({ fidelity }: { fidelity: string }) => fidelity);
      expect(new Set(fidelities)).toEqual(new Set(['packet', 'card', 'full']));
      expect(small.packet).toMatchObject({ from: 1, quality: 'deterministic' });
      expect(small.wants).toEqual({ from: 1, to: small.packet.to });
      expect(large).toMatchObject({ leg: 'sim-large', packet: null, wants: null });
      expect(large.pieces).toEqual([expect.objectContaining({ from: 1, to: 240, fidelity: 'full' })]);
      expect(large.profile.window).toBe(131_072);
      expect(large.profile.window).toBeGreaterThan(small.profile.window);
    });

    it('PLN-06 keeps the share of a session for promoted turns, and follows its options', async () => {
      const options = { promotedShare: 0, eligibility: 'signal', signals: 'minimal' } as const;
      const policy = { name: 'plan' as const, options };
      const [plain, minimal] = [await harbour(240), await harbour(240, { policy })];
      const text = encodeURIComponent(`What of the ${shipOf(11)} and her tons of coal?`);
      const followed = await get(`/v1/sessions/${plain}/plan?text=${text}`);
      const unfollowed = await get(`/v1/sessions/${minimal}/plan?text=${text}`);
      expect(followed.promoted.length).toBeGreaterThan(0);
      expect(unfollowed.promoted).toEqual([]);
      expect(unfollowed.pieces.some(({ fidelity }: { fidelity: string }) => fidelity === 'full')).toBe(false);
    });

    it.each([
      ['a policy there is not', '?policy=guess', 'invalid_request', ['"guess"', 'allowed is plan, evict']],
      ['a leg there is not', '?leg=gpt-9', 'unknown_leg', ['"gpt-9"', 'sim-small, sim-large']],
      ['a text without words', '?text=', 'invalid_request', ['"text"']],
      ['a member there is not', '?profile=x', 'invalid_request', ['"profile"']],
    ])('refuses %s, and says what is allowed', async (_, query, code, named) => {
      const session = await api.session();
      const { status, body } = await api.call('GET', `/v1/sessions/${session}/plan${query}`);
      expect([status, body.error.code]).toEqual([400, code]);
      for (const words of named) expect(body.error.message).toContain(words);
    });
  });

  describe('the context of the last request', () => {
    it('PLN-03 is what the plan, its pieces and the receipts of its steps say, without a word of text', async () => {
      const session = await harbour(120);
      const turn = await ask(session, 'Call the almanac tool.');
      const { context } = await get(`/v1/sessions/${session}/context`);
      expect(context).toMatchObject({
        turn,
        turn_number: 121,
        status: 'closed',
        leg: 'sim-small',
        policy: 'plan',
      });
      const plan = (await recordsOf(session, 'context-plan')).at(-1)?.data;
      expect(context).toMatchObject({ prefix_digest: plan?.prefixDigest, assembler: plan?.assembler });
      expect([context.budget_tokens, context.spent_tokens]).toEqual([plan?.budgetTokens, plan?.spentTokens]);
      const sum = context.pieces.reduce((all: number, { tokens }: { tokens: number }) => all + tokens, 0);
      expect(sum).toBe(context.spent_tokens);
      const receipts = await recordsOf(session, 'work-receipt');
      const steps = receipts.filter(({ data }) => data.purpose === 'step');
      expect([context.steps, steps.length >= 2]).toEqual([steps.length, true]);
      expect(context.calls.map((call: { request_digest: string }) => call.request_digest)).toEqual(
        steps.map(({ data }) => data.requestDigest),
      );
      expect(context.calls.at(-1).usage.cache_read_tokens).toBeGreaterThan(0);
      expect(JSON.stringify(context)).not.toContain('buoy');
      expect(JSON.stringify(context)).not.toContain('coal');
    });

    it('is none before a turn was planned', async () => {
      const session = await api.session();
      expect(await get(`/v1/sessions/${session}/context`)).toEqual({ session, context: null });
    });
  });

  describe('recall from outside', () => {
    it('EVI-03 brings back a result whole and in part, a turn, and turns by their words', async () => {
      const session = await harbour(20);
      const recall = (json: unknown) => api.call('POST', `/v1/sessions/${session}/recall`, { json });
      const whole = await recall({ id: 'e7' });
      expect(whole.body).toEqual({
        content: `Berth 7 is held by the ${shipOf(7)}, which came in 9 days ago.`,
        is_error: false,
      });
      const part = await recall({ id: 'e7', chars: { from: 0, to: 7 } });
      expect(part.body.content).toContain('\nBerth 7');
      expect(part.body.content).not.toContain('days');
      expect((await recall({ id: 'e7', range: { from: 1, to: 1 } })).body.content).toContain(
        'lines 1-1 of 1',
      );
      expect((await recall({ turn: 5 })).body.content).toContain(`The ${shipOf(5)} lies at berth 5`);
      const found = await recall({ query: `${shipOf(9)} coal`, limit: 3 });
      expect(found.body.content).toContain('T9');
      expect(found.body.is_error).toBe(false);
    });

    it('EVI-03 says what there is where nothing is found, and what it takes where it is asked wrongly', async () => {
      const session = await harbour(3);
      const recall = (json: unknown) => api.call('POST', `/v1/sessions/${session}/recall`, { json });
      const missing = await recall({ id: 'e99' });
      expect([missing.status, missing.body.is_error]).toEqual([200, true]);
      expect(missing.body.content).toContain('e3');
      const empty = await recall({});
      expect([empty.status, empty.body.is_error]).toEqual([200, true]);
      expect(empty.body.content).toContain('recall(');
      const wrong = await recall({ id: 7 });
      expect([wrong.status, wrong.body.error.code]).toEqual([400, 'invalid_request']);
      const list = await recall([1]);
      expect([list.status, list.body.error.code]).toEqual([400, 'invalid_request']);
    });

    it('EVI-03 needs the scope content, and reads this session alone', async () => {
      const [session, other] = [await harbour(3), await api.session()];
      const key = await api.keyOf(['turns:read', 'turns:write', 'admin']);
      const refused = await api.call('POST', `/v1/sessions/${session}/recall`, { key, json: { id: 'e1' } });
      expect([refused.status, refused.body.error.code]).toEqual([403, 'forbidden']);
      const elsewhere = await api.call('POST', `/v1/sessions/${other}/recall`, { json: { id: 'e1' } });
      expect(elsewhere.body.is_error).toBe(true);
    });

    it('EVI-03 tells a turn that runs from one that is not there', async () => {
      const idle = await openApiStack({ backend: 'postgres' });
      try {
        const session = await idle.session();
        await idle.turn(session, { input: 'Good evening.' });
        await idle.turn(session, { input: 'Good night.' });
        const recall = (turn: number) =>
          idle.call('POST', `/v1/sessions/${session}/recall`, { json: { turn } });
        expect((await recall(1)).body.content).toContain('running now');
        expect((await recall(2)).body.content).toContain('There is no turn 2');
      } finally {
        await idle.close();
      }
    });
  });

  describe('compaction on request', () => {
    it('PLN-02 begins the packet that the next plan wants, and that plan then carries it', async () => {
      const session = await harbour(240);
      const wanted = (await get(`/v1/sessions/${session}/plan`)).wants;
      expect(wanted).not.toBeNull();
      const begun = await api.call('POST', `/v1/sessions/${session}/compact`);
      expect(begun.body).toMatchObject({ session, wants: wanted, started: true });
      expect(begun.body.notice).toContain(`${wanted.from} to ${wanted.to}`);
      await until('the packet is stored', async () =>
        (await stored(session))?.packets.some(({ from, to }) => from === wanted.from && to === wanted.to),
      );
      const plan = await get(`/v1/sessions/${session}/plan`);
      expect(plan).toMatchObject({ wants: null, packet: { ...wanted, quality: 'model' } });
      await until('it has ended', async () =>
        (await stored(session))?.actors.every(({ status }) => status === 'done'),
      );
      const again = await api.call('POST', `/v1/sessions/${session}/compact`);
      expect(again.body).toMatchObject({ wants: null, started: false, actor: null });
      expect(again.body.notice).toContain('nothing to compact');
      const turn = await ask(session, 'Good evening.');
      const sent = (await recordsOf(session, 'context-plan')).find(({ turnId }) => turnId === turn);
      expect(sent?.data.packet).toMatchObject({ ...wanted, quality: 'model' });
    });

    it('PLN-02 PLN-06 wants what the loop wants: the same turns, of the same planner', async () => {
      const idle = await openApiStack({ backend: 'postgres' });
      try {
        const session = await harbourSession(idle.services, idle.stack.tenant, 100, {
          policy: { name: 'plan', options: { contextWindow: 5_000 } },
        });
        const ref = { tenant: idle.stack.tenant, session };
        const leg = idle.services.config.legs[0];
        if (leg === undefined) throw new Error('no leg');
        const services = sessionServices(idle.services);
        const dry = await dryPlan(services, ref, { text: null, leg });
        const [first, second] = [
          await compactSession(services, ref, leg),
          await compactSession(services, ref, leg),
        ];
        expect([first.wants, second.wants]).toEqual([dry.plan.wants, dry.plan.wants]);
        // One is written at a time.
        expect([first.actor === null, second.actor]).toEqual([false, null]);
        expect(dry.plan.wants).not.toBeNull();
        const actors = (await idle.services.store.sessionState(ref))?.actors ?? [];
        expect(actors.map(({ machine }) => machine)).toEqual(['summary']);
        // The loop's own turn waits for exactly that packet.
        await idle.stack.worker({ pools: ['turn', 'step'] });
        const turn = await idle.turn(session, { input: 'Good evening.' });
        const asked = await until('the turn asks for its packet', async () =>
          (await idle.services.store.sessionState(ref))?.calls.find(
            ({ actor, src }) => actor === turn && src === 'summary',
          ),
        );
        expect(JSON.parse(asked.input)).toMatchObject({ purpose: 'packet', ...dry.plan.wants });
      } finally {
        await idle.close();
      }
    });

    it('says so where there is nothing to compact', async () => {
      const session = await api.session();
      const { status, body } = await api.call('POST', `/v1/sessions/${session}/compact`);
      expect([status, body.started, body.wants]).toEqual([200, false, null]);
      expect(await recordsOf(session, 'packet')).toEqual([]);
    });
  });

  it.each([
    ['GET', 'plan', undefined],
    ['GET', 'context', undefined],
    ['GET', 'presentations', undefined],
    ['POST', 'recall', { turn: 1 }],
    ['POST', 'compact', undefined],
    ['POST', 'links/retract', { turn: 1, kind: 'read', to: 'a.md', reason: 'wrong' }],
    ['POST', 'presentations/p1/feedback', { verdict: 'helpful' }],
    ['POST', 'presentations/p1/selection', { selected: ['a'] }],
  ])('%s %s knows no session of another tenant', async (method, path, json) => {
    const session = await harbour(1);
    const key = await api.stranger();
    const sent = json === undefined ? { key } : { key, json };
    const { status, body } = await api.call(method, `/v1/sessions/${session}/${path}`, sent);
    expect([status, body.error.code]).toEqual([404, 'session_not_found']);
  });
});
