import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Config } from '../../../src/app/config.ts';
import type { SessionRef } from '../../../src/db/contract.ts';
import type { BodyOf } from '../../../src/ledger/kinds.ts';
import { MACHINES } from '../../../src/machines/registry.ts';
import { rebuildSession } from '../../../src/runtime/rebuild.ts';
import type { SimModel } from '../../../src/sim/index.ts';
import { sayingTool } from '../../support/tools.ts';
import { LegWorld, legTo } from './leg-process.ts';

const MODEL: SimModel = {
  name: 'first',
  window: 32_768,
  horizon: 30_000,
  tokensPerByte: 0.25,
  maxOutputTokens: 1_024,
  prefillTokensPerSecond: 4_000,
  decodeTokensPerSecond: 100,
  quantisation: 'none',
  supportsImages: false,
};
const MODELS = ['first', 'second', 'free'].map((name) => ({ ...MODEL, name }));
/** US dollars per million tokens. */
const PRICES: Readonly<Record<string, readonly [input: number, cached: number, output: number]>> = {
  first: [3, 0.3, 15],
  second: [0.25, 0.25, 1.25],
};
const CACHED = { mode: 'read-write', layer: 'store', ttlMs: 600_000 } as const;
const MOST_REPLY = 100;
const TEXT = 'The harbour and the tide. '.repeat(40);
const ASK_TOOL = 'Call the almanac tool.';

type Receipt = BodyOf<'work-receipt'>;

let world: LegWorld;
beforeEach(async () => {
  world = await LegWorld.open({
    tools: [sayingTool('almanac', 'Says the tides.', 'High water is at noon.')],
  });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await world.close();
});

async function start(change: Partial<Config> = {}) {
  const sim = await world.sim(MODELS);
  const legs = MODELS.map(({ name }) => {
    const [input, cached, output] = PRICES[name] ?? [];
    if (input === undefined || cached === undefined || output === undefined) return legTo(sim, name);
    const price = { inputPerMillion: input, cachedInputPerMillion: cached, outputPerMillion: output };
    return legTo(sim, name, { price, window: 32_768, maxOutputTokens: MOST_REPLY });
  });
  const { config } = world.stack.producer;
  const probe = { ...config.probe, local: 'off' } as const;
  return { sim, ...(await world.process(legs, { probe, ...change })) };
}

/** In micro-dollars, in whole numbers throughout: a price of a dollar per million tokens is one a token. */
function billed({ leg, usage, cache }: Receipt): number {
  const [input, cached, output] = PRICES[leg] ?? [0, 0, 0];
  if (usage === null || cache?.request === 'hit') return 0;
  const { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens } = usage;
  const hundredths =
    inputTokens * input * 100 +
    cacheReadTokens * cached * 100 +
    cacheWriteTokens * input * 100 +
    outputTokens * output * 100;
  return Math.floor((Math.round(hundredths) + 50) / 100);
}

async function usageRows({ session }: SessionRef) {
  return world.stack.sql<{
    leg: string;
    purpose: string;
    calls: number;
    micro_usd: number;
    priced: number;
    unpriced: number;
    cached: number;
  }>(
    `SELECT leg, purpose, calls::integer, micro_usd::integer, priced::integer, unpriced::integer, cached::integer
      FROM turnwright.usage WHERE session_id = $1 ORDER BY leg, purpose`,
    [session],
  );
}

describe('what a session costs', () => {
  it('CST-01 LED-03 is what its receipts come to by hand, to the micro-dollar, and the same rebuilt', async () => {
    const { config } = world.stack.producer;
    const probe = { ...config.probe, local: 'full' } as const;
    const { sim, services } = await start({ probe, sideLegs: { intent: 'second' }, responseCache: CACHED });
    // The same question for the classifier as the first of the session below: its reply is kept.
    await world.ask(await world.session('free'), 'The harbour and the tide.', { escalate: true });
    await world.probesIn('done');
    await world.passMinute();
    const ref = await world.session('first', { ladder: ['free'], tools: ['almanac'] });
    await world.ask(ref, 'The harbour and the tide.', { escalate: true });
    await world.probesIn('done', 2);
    for (const n of [1, 2, 3]) await world.ask(ref, `Mind this, number ${n}. ${TEXT}`);
    await world.ask(ref, ASK_TOOL);
    sim.setFaults([{ match: { model: 'first', count: 1 }, fault: { name: 'server_error' } }]);
    await world.ask(ref, 'Good evening.');
    // With turns before it, it is another question.
    await world.ask(ref, 'The harbour and the tide.', { escalate: true });

    const receipts = await world.bodies(ref, 'work-receipt');
    const purposes = new Set(receipts.map(({ leg, purpose }) => `${leg} ${purpose}`));
    expect(purposes).toEqual(new Set(['first step', 'first probe', 'second intent', 'free step']));
    expect(receipts.some(({ cache }) => cache?.request === 'hit')).toBe(true);
    expect(receipts.some(({ usage }) => (usage?.cacheReadTokens ?? 0) > 0)).toBe(true);
    for (const receipt of receipts)
      if (receipt.microUsd !== null)
        expect([receipt.child, receipt.microUsd]).toEqual([receipt.child, billed(receipt)]);

    const rows = await usageRows(ref);
    for (const { leg, purpose, calls, micro_usd: microUsd, cached } of rows) {
      const own = receipts.filter((receipt) => receipt.leg === leg && receipt.purpose === purpose);
      const hits = own.filter(({ cache }) => cache?.request === 'hit').length;
      expect([leg, purpose, calls, microUsd, cached]).toEqual([
        leg,
        purpose,
        own.length,
        own.reduce((sum, receipt) => sum + billed(receipt), 0),
        hits,
      ]);
    }
    expect(rows.find(({ leg }) => leg === 'free')).toMatchObject({ micro_usd: 0, priced: 0, unpriced: 1 });
    const { microUsd } = await services.usage.sessionSpent(ref);
    expect(microUsd).toBe(receipts.reduce((sum, receipt) => sum + billed(receipt), 0));
    expect(microUsd).toBeGreaterThan(0);

    const { store, upkeep } = world.stack.producer;
    const again = () => rebuildSession({ store, upkeep, registry: MACHINES }, ref);
    expect(await again()).toEqual({ differences: [], restored: false });
    await world.stack.sql(
      `UPDATE turnwright.usage SET micro_usd = micro_usd + 1 WHERE session_id = $1 AND leg = 'second'`,
      [ref.session],
    );
    expect((await again()).differences.map(({ table }) => table)).toEqual(['usage']);
    expect(await usageRows(ref)).toEqual(rows);
  });
});

describe('a budget', () => {
  async function settled(ref: SessionRef, turn: string) {
    const records = await world.stack.records(ref, turn);
    const kinds = records.map(({ kind }) => kind);
    return {
      calls: kinds.filter((kind) => kind === 'work-receipt').length,
      results: kinds.filter((kind) => kind === 'tool-result').length,
    };
  }

  /** Enough for the first of two calls at its most, a whole reply, and not for the second beside what the first came to. */
  async function limits() {
    const ref = await world.session('first', { tools: ['almanac'] });
    const { turn } = await world.ask(ref, ASK_TOOL);
    const [first] = await world.bodies(ref, 'work-receipt', turn);
    if (first === undefined) throw new Error('the turn made no call');
    const { inputTokens = 0, cacheReadTokens = 0 } = first.usage ?? {};
    // The same prompt is kept by then, and costs less than it may.
    const prompt = 1.1 * (inputTokens + cacheReadTokens);
    return { microUsd: Math.round(prompt * 3 + MOST_REPLY * 15), tokens: Math.round(prompt + MOST_REPLY) };
  }

  it.each([
    ['microUsd', 'turn_cost_budget'],
    ['tokens', 'turn_tokens_budget'],
  ] as const)(
    'CST-01 of a turn in %s stops it before the call that would pass it, and keeps what was made',
    async (unit, reason) => {
      const { sim } = await start();
      const most = await limits();
      const ref = await world.session('first', { tools: ['almanac'] });
      const before = sim.calls().length;
      const end = await world.ask(ref, ASK_TOOL, { budget: { [unit]: most[unit] } });
      expect(end).toMatchObject({ outcome: 'degraded', reason });
      expect(sim.calls().length - before).toBe(1);
      expect(await settled(ref, end.turn)).toEqual({ calls: 1, results: 1 });
      expect(await world.ask(ref, ASK_TOOL, { budget: { [unit]: 20 * most[unit] } })).toMatchObject({
        outcome: 'completed',
      });
    },
  );

  it('CST-01 of a session counts all of its turns', async () => {
    const { sim } = await start();
    const { tokens } = await limits();
    const ref = await world.session('first', { tools: ['almanac'], budget: { tokens: 3 * tokens } });
    const outcomes: string[] = [];
    for (let turn = 0; turn < 5; turn += 1) {
      const { outcome, reason } = await world.ask(ref, ASK_TOOL);
      outcomes.push(`${outcome} ${reason}`);
    }
    expect(outcomes[0]).toBe('completed answered');
    expect(outcomes.at(-1)).toBe('degraded session_tokens_budget');
    const spent = await world.stack.producer.usage.sessionSpent(ref);
    expect(spent.tokens).toBeLessThanOrEqual(3 * tokens);
    const before = sim.calls().length;
    await world.ask(ref, ASK_TOOL);
    expect(sim.calls()).toHaveLength(before);
  });

  it('CST-01 of a tenant’s day holds for each of its sessions', async () => {
    const { config } = world.stack.producer;
    const { sim, services } = await start({ limits: { ...config.limits, tenantMicroUsdPerDay: 1 } });
    const ref = await world.session('first');
    expect(await world.ask(ref, 'Good morning.')).toMatchObject({
      outcome: 'degraded',
      reason: 'tenant_cost_budget',
    });
    expect(sim.calls()).toEqual([]);
    // A model that nobody prices costs nothing that is known of.
    const free = await world.session('free');
    expect(await world.ask(free, 'Good morning.')).toMatchObject({ outcome: 'completed' });
    expect(await services.usage.tenantSpent(ref.tenant, new Date().toISOString().slice(0, 10))).toBe(0);
  });
});

describe('replies that are kept', () => {
  it('CST-02 answer the same question of another session without a call, for nothing, counted by layer', async () => {
    const { sim } = await start({ responseCache: CACHED });
    // Each turn says when it began: at the same time the same is asked.
    vi.spyOn(Date, 'now').mockReturnValue(Date.UTC(2026, 2, 4, 5, 6, 7));
    const [one, two] = [await world.session('first'), await world.session('first')];
    const first = await world.ask(one, 'Good morning.');
    const made = sim.calls().length;
    const second = await world.ask(two, 'Good morning.');
    expect(second.answer).toBe(first.answer);
    expect(sim.calls()).toHaveLength(made);
    const [receipt] = await world.bodies(two, 'work-receipt');
    expect(receipt).toMatchObject({ microUsd: 0, cache: { request: 'hit', layers: { process: 'hit' } } });
    expect(await usageRows(two)).toMatchObject([{ calls: 1, micro_usd: 0, priced: 1, cached: 1 }]);
    expect(await world.bodies(two, 'capacity-feedback')).toEqual([]);
  });

  it('CST-02 are all a strict process may use: a miss makes no call and says so', async () => {
    const { sim } = await start({ responseCache: { ...CACHED, mode: 'strict' } });
    const ref = await world.session('first');
    const end = await world.ask(ref, 'Good morning.');
    expect(end).toMatchObject({ outcome: 'failed', reason: 'response_not_cached' });
    expect(sim.calls()).toEqual([]);
    const receipts = await world.bodies(ref, 'work-receipt');
    expect(receipts).toMatchObject([
      { settlement: 'bad_request', usage: null, microUsd: null, cache: { request: 'miss' } },
    ]);
    expect(await usageRows(ref)).toMatchObject([
      { calls: 1, priced: 0, unpriced: 0, micro_usd: 0, cached: 0 },
    ]);
  });
});
