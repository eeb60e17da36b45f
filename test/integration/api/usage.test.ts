import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NO_USAGE, type UsageCounts, type UsageRow } from '../../../src/ledger/usage.ts';
import { type ApiStack, openApiStack } from './api-stack.ts';

const COLUMNS = `calls, input_tokens, cache_read_tokens, cache_write_tokens, output_tokens, reasoning_tokens,
  micro_usd, priced, unpriced, looked, cached, process_looked, process_hits, store_looked, store_hits`;

type Seed = Pick<UsageRow, 'day' | 'leg' | 'purpose'> & Partial<UsageCounts>;

async function seed(api: ApiStack, session: string, rows: readonly Seed[]): Promise<void> {
  for (const { day, leg, purpose, ...counts } of rows) {
    const values = Object.values({ ...NO_USAGE, ...counts });
    const places = values.map((_, at) => `$${at + 6}`).join(', ');
    await api.stack.sql(
      `INSERT INTO turnwright.usage (tenant_id, session_id, day, leg, purpose, ${COLUMNS}) VALUES ($1, $2, $3, $4, $5, ${places})`,
      [api.stack.tenant, session, day, leg, purpose, ...values],
    );
  }
}

describe('usage over HTTP', () => {
  let api: ApiStack;
  let first = '';
  let second = '';
  beforeAll(async () => {
    api = await openApiStack({ backend: 'postgres' });
    [first, second] = [await api.session(), await api.session()];
    await seed(api, first, [
      {
        day: '2026-11-01',
        leg: 'dear',
        purpose: 'step',
        calls: 3,
        inputTokens: 100,
        cacheReadTokens: 20,
        cacheWriteTokens: 10,
        outputTokens: 40,
        reasoningTokens: 5,
        microUsd: 1_234_567,
        priced: 3,
        looked: 3,
        cached: 1,
        processLooked: 3,
        processHits: 0,
        storeLooked: 3,
        storeHits: 1,
      },
      { day: '2026-11-02', leg: 'free', purpose: 'summary', calls: 2, inputTokens: 7, unpriced: 2 },
    ]);
    await seed(api, second, [
      { day: '2026-11-02', leg: 'dear', purpose: 'step', calls: 1, inputTokens: 1, microUsd: 3, priced: 1 },
      { day: '2026-11-03', leg: 'down', purpose: 'probe', calls: 1 },
    ]);
  });
  afterAll(() => api.close());

  const usage = async (query: string, key = api.key) => api.call('GET', `/v1/usage${query}`, { key });
  const keys = async (query: string) =>
    (await usage(query)).body.rows.map((row: { readonly key: string }) => row.key);

  it('CST-01 sums calls by session, leg, purpose or day, the dearest or newest first, and totals them', async () => {
    expect(await keys('?by=session')).toEqual([first, second]);
    expect(await keys('?by=leg')).toEqual(['dear', 'down', 'free']);
    expect(await keys('?by=purpose')).toEqual(['step', 'probe', 'summary']);
    expect(await keys('?by=day')).toEqual(['2026-11-03', '2026-11-02', '2026-11-01']);
    const { body } = await usage('?by=leg');
    expect(body).toMatchObject({ by: 'leg', more: false });
    expect(body.rows[0]).toMatchObject({
      key: 'dear',
      calls: 4,
      input_tokens: 101,
      cache_read_tokens: 20,
      cache_write_tokens: 10,
      output_tokens: 40,
      reasoning_tokens: 5,
      cost_micro_usd: 1_234_570,
      priced_calls: 4,
      unpriced_calls: 0,
    });
    expect(body.total).toMatchObject({ calls: 7, input_tokens: 108, cost_micro_usd: 1_234_570 });
    expect(body.total).not.toHaveProperty('key');
  });

  it('CST-01 says of each sum whether all of it is priced, a part, nothing, or nothing was called', async () => {
    const { body } = await usage('?by=leg');
    const statuses = body.rows.map((row: { key: string; cost_status: string }) => [row.key, row.cost_status]);
    expect(statuses).toEqual([
      ['dear', 'priced'],
      ['down', 'no_calls'],
      ['free', 'unpriced'],
    ]);
    expect(body.total).toMatchObject({ cost_status: 'partial', priced_calls: 4, unpriced_calls: 2 });
  });

  it('CST-02 tells hits, misses and rate of the response cache for requests and for each layer', async () => {
    const { body } = await usage('?by=leg');
    expect(body.rows[0].response_cache).toEqual({
      hits: 1,
      misses: 2,
      rate: 1 / 3,
      by_layer: {
        process: { hits: 0, misses: 3, rate: 0 },
        store: { hits: 1, misses: 2, rate: 1 / 3 },
      },
    });
    const none = { hits: 0, misses: 0, rate: null };
    expect(body.rows[1].response_cache).toEqual({ ...none, by_layer: { process: none, store: none } });
  });

  it('CST-01 counts one session, or the days asked for, both included', async () => {
    expect((await usage(`?session=${second.toUpperCase()}`)).body.total.calls).toBe(2);
    expect(await keys('?by=day&from=2026-11-02')).toEqual(['2026-11-03', '2026-11-02']);
    expect(await keys('?by=day&to=2026-11-02')).toEqual(['2026-11-02', '2026-11-01']);
    expect(await keys('?by=day&from=2026-11-02&to=2026-11-02')).toEqual(['2026-11-02']);
    expect((await usage('?from=2030-01-01')).body).toMatchObject({
      rows: [],
      total: { calls: 0, cost_micro_usd: 0, cost_status: 'no_calls' },
    });
  });

  it('CST-01 totals what the limit leaves out, and says that there is more', async () => {
    const whole = await usage('?by=day');
    const { body } = await usage('?by=day&limit=1');
    expect(body.rows).toEqual(whole.body.rows.slice(0, 1));
    expect([whole.body.more, body.more]).toEqual([false, true]);
    expect(body.total).toEqual(whole.body.total);
    expect((await usage('?by=day&limit=3')).body.more).toBe(false);
  });

  it.each([
    ['a group there is not', '?by=model', /"by".*found "model".*"session", "leg", "purpose", "day"/u],
    ['a day that is none', '?from=2026-02-30', /"from".*found "2026-02-30".*such as 2026-11-30/u],
    ['a time', '?to=2026-11-01T00:00:00Z', /"to".*such as 2026-11-30/u],
    ['days the wrong way round', '?from=2026-11-02&to=2026-11-01', /"from".*not after "to"/u],
    ['a session that is none', '?session=mine', /"session".*found "mine".*UUID/u],
    ['a limit beyond reason', '?limit=0', /"limit"/u],
    ['a member nobody knows', '?leg=dear', /Unknown member "leg"/u],
  ])('CST-01 refuses %s, and says what would do', async (_what, query, message) => {
    const { status, body } = await usage(query);
    expect([status, body.error.code]).toEqual([400, 'invalid_request']);
    expect(body.error.message).toMatch(message);
  });

  it('CST-01 shows a tenant its own calls alone', async () => {
    const stranger = await api.stranger();
    for (const query of ['', `?session=${first}`, '?by=session'])
      expect((await usage(query, stranger)).body).toMatchObject({ rows: [], total: { calls: 0 } });
    const writeOnly = await api.keyOf(['turns:write']);
    expect((await usage('', writeOnly)).status).toBe(403);
  });

  it('CST-01 shows a session what its calls came to', async () => {
    const cost = async (session: string) => (await api.call('GET', `/v1/sessions/${session}`)).body.session;
    expect(await cost(first)).toMatchObject({ cost_micro_usd: 1_234_567, cost_status: 'partial' });
    expect(await cost(second)).toMatchObject({ cost_micro_usd: 3, cost_status: 'priced' });
  });
});

describe('what a turn cost, and may cost', () => {
  const config = {
    pricing: { 'sim-large': { inputPerMillion: 3, outputPerMillion: 15 } },
  };
  let api: ApiStack;
  beforeAll(async () => {
    api = await openApiStack({
      backend: 'postgres',
      files: { 'turnwright.config.mjs': `export default ${JSON.stringify(config)};` },
    });
    await api.stack.worker();
  });
  afterAll(() => api.close());

  const acceptance = async (turn: string) => {
    const [record] = await api.stack.sql<{ body: string }>(
      `SELECT body FROM turnwright.records WHERE turn_id = $1 AND kind = 'turn-accepted'`,
      [turn],
    );
    return JSON.parse(record?.body ?? '{}');
  };

  it('CST-01 a turn, its session and the report agree on it, to the micro-dollar', async () => {
    const session = await api.session({ leg: 'sim-large', tools: [] });
    const { usage } = await api.closed(await api.turn(session, { input: 'What is the tide at Elmouth?' }));
    expect(usage.cost_status).toBe('priced');
    const exact = usage.prompt_tokens * 3 + usage.output_tokens * 15;
    expect(Math.abs(usage.cost_micro_usd - exact)).toBeLessThanOrEqual(usage.calls / 2);
    expect(usage.tokens).toBe(usage.prompt_tokens + usage.output_tokens);
    const shown = await api.call('GET', `/v1/sessions/${session}`);
    const { cost_micro_usd, cost_status } = usage;
    expect(shown.body.session).toMatchObject({ cost_micro_usd, cost_status });
    const report = await api.call('GET', `/v1/usage?by=leg&session=${session}`);
    expect(report.body.total).toMatchObject({ cost_micro_usd, calls: usage.calls });
  });

  it('CST-01 keeps the budget of a turn with it, and shows it', async () => {
    const session = await api.session({ leg: 'sim-large', tools: [] });
    const budget = { steps: 5, costMicroUsd: 90_000_000, tokens: 9_000_000 };
    const turn = await api.turn(session, { input: 'And the wind?', budget });
    expect((await acceptance(turn)).budget).toEqual({ microUsd: 90_000_000, tokens: 9_000_000 });
    const closed = await api.closed(turn);
    expect(closed).toMatchObject({
      outcome: 'completed',
      budget: { cost_micro_usd: 90_000_000, tokens: 9_000_000 },
    });
    const again = await api.call('POST', `/v1/turns/${turn}/retry`);
    expect(again.body.turn.budget).toEqual(closed.budget);
    const free = await api.turn(session, { input: 'And the sea?', budget: { steps: 5 } });
    expect(await acceptance(free)).not.toHaveProperty('budget');
    expect((await api.closed(free)).budget).toBeNull();
  });

  it('CST-01 takes another budget under the same idempotency key for another body', async () => {
    const session = await api.session({ leg: 'sim-large', tools: [] });
    const post = (tokens: number) =>
      api.call('POST', `/v1/sessions/${session}/turns`, {
        json: { input: 'Once.', budget: { tokens } },
        headers: { 'idempotency-key': 'once' },
      });
    const { body } = await post(1_000_000);
    expect((await post(1_000_000)).body.turn.id).toBe(body.turn.id);
    expect((await post(2_000_000)).body.error.code).toBe('idempotency_conflict');
  });

  it('CST-01 ends a turn whose next call could pass its budget, and why says which', async () => {
    const session = await api.session({ leg: 'sim-large', tools: [], budget: { tokens: 1 } });
    const shown = await api.call('GET', `/v1/sessions/${session}`);
    expect(shown.body.session.budget).toEqual({ cost_micro_usd: null, tokens: 1 });
    const bySession = await api.closed(await api.turn(session, { input: 'And the moon?' }));
    expect(bySession).toMatchObject({ outcome: 'degraded', reason: 'session_tokens_budget' });
    const other = await api.session({ leg: 'sim-large', tools: [] });
    const byTurn = await api.closed(
      await api.turn(other, { input: 'And the moon?', budget: { costMicroUsd: 1 } }),
    );
    expect(byTurn).toMatchObject({ outcome: 'degraded', reason: 'turn_cost_budget' });
    const why = await api.call('GET', `/v1/turns/${byTurn.id}/why`);
    expect(why.body.sentences.join(' ')).toContain("could have passed the turn's budget of cost");
  });

  it.each([
    ['none', { tokens: 0 }],
    ['a part of one', { costMicroUsd: 0.5 }],
    ['less than none', { costMicroUsd: -1 }],
    ['a text', { tokens: '7' }],
    ['one of another name', { microUsd: 7 }],
  ])('CST-01 refuses a budget of %s', async (_what, budget) => {
    const session = await api.session({ leg: 'sim-large' });
    const turn = await api.call('POST', `/v1/sessions/${session}/turns`, { json: { input: 'x', budget } });
    expect([turn.status, turn.body.error.code]).toEqual([400, 'invalid_request']);
    const made = await api.call('POST', '/v1/sessions', { json: { budget } });
    expect([made.status, made.body.error.code]).toEqual([400, 'invalid_request']);
  });
});
