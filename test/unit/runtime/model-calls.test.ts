import { setImmediate as settled } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { rateOf } from '../../../src/context/pricing/rate.ts';
import type { ChatRequest, Usage } from '../../../src/context/request.ts';
import type { Clock } from '../../../src/ledger/clock.ts';
import type { BodyOf } from '../../../src/ledger/kinds.ts';
import type { CallOutcome, Leg, ProviderFailure } from '../../../src/providers/contract.ts';
import { Budgets, type Spending } from '../../../src/runtime/budgets.ts';
import { type ModelCall, ModelCalls } from '../../../src/runtime/model-calls.ts';
import { ProbeWatch } from '../../../src/runtime/probe-watch.ts';
import { modelKey } from '../../../src/runtime/profiles.ts';
import { RateLimiter } from '../../../src/runtime/rate-limiter.ts';
import {
  type CacheMode,
  RESPONSE_CACHE_DEFAULTS,
  ResponseCache,
} from '../../../src/runtime/response-cache.ts';
import { MemoryProbeFlights } from '../../simulation/memory/probe-flights.ts';
import { Pauses } from '../../simulation/world/rate-limits.ts';

const LEG: Leg = { name: 'main', provider: 'openai', model: 'm', timeoutMs: 1_000 };
const REF = { tenant: 't', session: 's', actor: 'a', child: 'step-1', dispatch: 1 };
const RATE = rateOf('leg:main', { inputPerMillion: 2, cachedInputPerMillion: 0.5, outputPerMillion: 10 });
const USAGE: Usage = { inputTokens: 1_000, cacheReadTokens: 400, cacheWriteTokens: 0, outputTokens: 70 };
/** 1,000 × 2 + 400 × 0.5 + 70 × 10, in millionths of a dollar. */
const MICRO_USD = 2_900;
const FREE: Spending = { turn: { limit: null, spent: { microUsd: 0, tokens: 0 } }, session: null };

const ask = (text: string): ChatRequest => ({
  system: 's',
  tools: [],
  messages: [{ role: 'user', content: [{ type: 'text', text }] }],
  maxTokens: 100,
});

const answered = (text: string, usage: Usage | null = USAGE): CallOutcome => ({
  ok: true,
  reply: {
    content: [{ type: 'text', text }],
    finish: 'stop',
    usage,
    model: 'm-1',
    firstTokenMs: 4,
    totalMs: 9,
  },
});

interface World {
  readonly mode?: CacheMode;
  readonly unpriced?: boolean;
  readonly outcome?: CallOutcome;
}

function open({ mode = 'off', unpriced = false, outcome = answered('said') }: World = {}) {
  let nowMs = Date.UTC(2026, 2, 4, 5);
  const sent: ChatRequest[] = [];
  const busy: boolean[] = [];
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  const clock: Clock = {
    nowMs: () => nowMs,
    monotonicMs: () => nowMs,
    sleep: () => Promise.resolve(),
    after: () => () => {},
  };
  const flights = new MemoryProbeFlights(() => nowMs);
  const watch = new ProbeWatch({ flights, engine: { deliver: () => Promise.resolve('applied') }, onError });
  const pauses = new Pauses(
    () => nowMs,
    () => {},
  );
  const limiter = new RateLimiter({ store: pauses, workerId: 'w', leaseMs: 6_000, clock, onError });
  const store = {
    sessionSpent: () => Promise.resolve({ microUsd: 0, tokens: 0 }),
    tenantSpent: () => Promise.resolve(0),
    report: () => Promise.resolve([]),
  };
  const calls = new ModelCalls({
    limiter,
    cache: new ResponseCache({
      settings: { ...RESPONSE_CACHE_DEFAULTS, mode },
      store: { read: () => Promise.resolve(null), keep: () => Promise.resolve() },
      clock,
      onError,
    }),
    budgets: new Budgets({ store, clock, tenantMicroUsdPerDay: null }),
    watch,
    clock,
    rateOf: () => (unpriced ? null : RATE),
    onError,
  });
  const provider = {
    searchesTools: false,
    embed: null,
    describe: () => Promise.reject(new Error('nobody asks')),
    call: (request: ChatRequest): Promise<CallOutcome> => {
      sent.push(request);
      busy.push(watch.isBusy(LEG));
      nowMs += 33;
      return Promise.resolve(outcome);
    },
  };
  const make = (change: Partial<ModelCall> = {}) =>
    calls.make({
      ref: REF,
      turnId: null,
      step: 1,
      purpose: 'step',
      attempt: 2,
      bound: { leg: LEG, provider },
      request: ask('hello'),
      requestDigest: 'rd',
      requestBytes: 444,
      prefixDigest: 'pd',
      promptTokens: 1_000,
      replyTokens: 100,
      timeoutMs: 1_000,
      signal: new AbortController().signal,
      spending: FREE,
      ...change,
    });
  const called = async (change: Partial<ModelCall> = {}) => {
    const made = await make(change);
    if (made.kind !== 'called') throw new Error(`it came to ${made.kind}`);
    return { ...made, body: made.receipt.body as BodyOf<'work-receipt'> };
  };
  return { make, called, sent, busy, errors, watch, flights, limiter, pauses };
}

describe('a call', () => {
  it('CST-01 has a receipt with what it was billed, by which rate, and when', async () => {
    const { body, microUsd, tookMs, cached } = await open().called();
    expect([microUsd, tookMs, cached]).toEqual([MICRO_USD, 33, false]);
    expect(body).toEqual({
      child: 'step-1',
      step: 1,
      purpose: 'step',
      leg: 'main',
      provider: 'openai',
      model: 'm-1',
      attempt: 2,
      settlement: 'answered',
      problem: null,
      usage: USAGE,
      at: '2026-03-04T05:00:00.033Z',
      microUsd: MICRO_USD,
      rate: 'leg:main',
      requestDigest: 'rd',
      prefixDigest: 'pd',
      requestBytes: 444,
      firstTokenMs: 4,
      totalMs: 33,
    });
  });

  it('CST-01 nobody prices, or no usage says what of, costs an unknown amount', async () => {
    expect((await open({ unpriced: true }).called()).body).toMatchObject({
      microUsd: null,
      rate: null,
      usage: USAGE,
    });
    const silent = await open({ outcome: answered('said', null) }).called();
    expect(silent.body).toMatchObject({ microUsd: null, rate: null, usage: null });
  });

  it.each<[string, ProviderFailure]>([
    ['overloaded', { kind: 'retryable', code: 'overloaded', message: 'later' }],
    ['over_length', { kind: 'over_length', message: 'too long' }],
    ['aborted', { kind: 'aborted', message: 'gone' }],
  ])('CST-01 that failed as %s has a receipt, too', async (settlement, failure) => {
    const { body, outcome } = await open({ outcome: { ok: false, failure } }).called();
    expect(outcome).toEqual({ ok: false, failure });
    expect(body).toMatchObject({
      settlement,
      problem: failure.message,
      usage: null,
      microUsd: null,
      model: 'm',
    });
  });

  it('PRO-10 says how much of it the provider held, and what was sent of the rest', async () => {
    const messages = ['a', 'b', 'c'].flatMap((text) => ask(text).messages);
    const { called } = open();
    const whole = await called({ request: { ...ask(''), messages } });
    expect(whole.body).not.toHaveProperty('continued');
    const continues = { responseId: 'r', from: 2, callIds: {} };
    const { body } = await called({ request: { ...ask(''), messages, continues } });
    expect(body.continued).toMatchObject({ messages: 2 });
    const other = [...messages.slice(0, 2), ...ask('other').messages];
    const second = await called({ request: { ...ask(''), messages: other, continues } });
    expect(second.body.continued?.sentDigest).not.toBe(body.continued?.sentDigest);
  });

  it('PRO-10 that the limits hold back is not made', async () => {
    const { make, sent, limiter } = open({
      outcome: {
        ok: false,
        failure: { kind: 'retryable', code: 'rate_limited', message: 'x', retryAfterMs: 9_000 },
      },
    });
    await make();
    await limiter.stop();
    expect(await make()).toMatchObject({ kind: 'delayed' });
    expect(sent).toHaveLength(1);
  });
});

describe('a call and the probe of its model', () => {
  it('CAP-03 keeps the model busy while it runs, and no longer', async () => {
    const { make, busy, watch } = open();
    await make();
    expect(busy).toEqual([true]);
    expect(watch.isBusy(LEG)).toBe(false);
  });

  it('CAP-03 of the probe itself does not stand in its own way', async () => {
    const { make, busy } = open();
    await make({ purpose: 'probe', spending: null });
    expect(busy).toEqual([false]);
  });

  it('CAP-03 is sent without waiting for the interrupt', async () => {
    const { make, flights, watch, sent } = open();
    await flights.hold({ key: modelKey(LEG), actor: REF, leaseMs: 60_000, spacingMs: 0 });
    await watch.start();
    flights.release = () => new Promise(() => {});
    await make();
    expect(sent).toHaveLength(1);
  });
});

describe('a call and the cache of replies', () => {
  it('CST-02 the same request again is answered without a call, billed nothing, counted as a hit', async () => {
    const { called, sent } = open({ mode: 'read-write' });
    const first = await called();
    await settled();
    expect(first.body.cache).toEqual({ request: 'miss', layers: { process: 'miss' } });
    const deltas: string[] = [];
    const second = await called({ onDelta: ({ text }) => deltas.push(text) });
    expect(sent).toHaveLength(1);
    expect(second).toMatchObject({ cached: true, microUsd: 0, tookMs: 0 });
    expect(second.body).toMatchObject({
      microUsd: 0,
      usage: USAGE,
      settlement: 'answered',
      cache: { request: 'hit', layers: { process: 'hit' } },
    });
    expect(deltas).toEqual(['said']);
    await called({ request: ask('other') });
    expect(sent).toHaveLength(2);
  });

  it('CST-02 strict makes no call for what is not kept, and its receipt is a miss', async () => {
    const { make, sent } = open({ mode: 'strict' });
    const made = await make();
    expect(made).toMatchObject({
      kind: 'not-cached',
      receipt: { body: { settlement: 'bad_request', usage: null, cache: { request: 'miss' } } },
    });
    expect(sent).toEqual([]);
  });

  it('CST-02 a probe passes it by, in every mode', async () => {
    for (const mode of ['read-write', 'strict'] as const) {
      const { called, sent } = open({ mode });
      const probe = { purpose: 'probe', spending: null } as const;
      await called(probe);
      await settled();
      const { body } = await called(probe);
      expect(body).not.toHaveProperty('cache');
      expect(sent).toHaveLength(2);
    }
  });

  it('CST-02 with the cache off or only written, no lookup is counted', async () => {
    for (const mode of ['off', 'write-only'] as const) {
      const { called } = open({ mode });
      expect((await called()).body).not.toHaveProperty('cache');
    }
  });
});

describe('a call and its budgets', () => {
  const spending = (limit: { readonly microUsd?: number; readonly tokens?: number }): Spending => ({
    turn: { limit, spent: { microUsd: 0, tokens: 0 } },
    session: null,
  });

  it('CST-01 is held against the most it may cost: its prompt at the dearest tier, and a whole reply', async () => {
    const { make, sent } = open();
    // 1,000 × 2 and 100 × 10.
    expect(await make({ spending: spending({ microUsd: 2_999 }) })).toEqual({
      kind: 'budget-spent',
      budget: 'turn_cost',
    });
    expect(await make({ spending: spending({ tokens: 1_099 }) })).toEqual({
      kind: 'budget-spent',
      budget: 'turn_tokens',
    });
    expect(sent).toEqual([]);
    expect(await make({ spending: spending({ microUsd: 3_000, tokens: 1_100 }) })).toMatchObject({
      kind: 'called',
    });
  });

  it('CST-01 a kept reply costs nothing, so no budget stands in its way', async () => {
    const { make, called } = open({ mode: 'read-write' });
    await called();
    await settled();
    expect(await make({ spending: spending({ microUsd: 0 }) })).toMatchObject({
      kind: 'called',
      cached: true,
    });
  });

  it('CST-01 a call that no turn asks for has none', async () => {
    expect(await open().make({ purpose: 'probe', spending: null })).toMatchObject({ kind: 'called' });
  });
});
