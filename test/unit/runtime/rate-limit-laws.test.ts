import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RateAnswer, RateRequest } from '../../../src/db/rate-limits.ts';
import { RateLimitModel } from '../../reference/rate-limits.ts';

const MINUTE_MS = 60_000;
const KEY = 'key';
/** Of one call: each costs a round trip and a place in its pool. */
const MOST_QUESTIONS = 20;

interface Arrival {
  readonly afterMs: number;
  readonly tenant: string;
  readonly tokens: number;
}

interface Sent {
  readonly atMs: number;
  readonly tenant: string;
  readonly call: string;
  readonly tokens: number;
}

const arrivals = (maxAfterMs: number, maxTokens = 0): fc.Arbitrary<readonly Arrival[]> =>
  fc.array(
    fc.record({
      afterMs: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: maxAfterMs })),
      tenant: fc.constantFrom('a', 'a', 'a', 'b', 'c'),
      tokens: fc.integer({ min: 0, max: maxTokens }),
    }),
    { minLength: 1, maxLength: 120 },
  );

type Limits = Partial<Pick<RateRequest, 'requestsPerMinute' | 'tokensPerMinute' | 'concurrent'>>;

/** A world in which every caller does as it is told: it sits out what it may, and comes back when it was told to. */
class Callers {
  readonly sent: Sent[] = [];
  /** Times each call asked. */
  readonly questions = new Map<string, number>();
  nowMs = 1_000_000;
  readonly model = new RateLimitModel({ nowMs: () => this.nowMs });
  readonly #limits: Limits;
  readonly #due: { atMs: number; order: number; arrival: Arrival; call: string }[] = [];
  #order = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  arrive(list: readonly Arrival[]): void {
    let atMs = this.nowMs;
    for (const arrival of list) {
      atMs += arrival.afterMs;
      this.#due.push({
        atMs,
        order: this.#order,
        arrival,
        call: `call-${String(this.#order++).padStart(5, '0')}`,
      });
    }
  }

  ask(call: string, { tenant, tokens }: Pick<Arrival, 'tenant' | 'tokens'>): Promise<RateAnswer> {
    this.questions.set(call, (this.questions.get(call) ?? 0) + 1);
    const none = { requestsPerMinute: null, tokensPerMinute: null, concurrent: null };
    const request = { key: KEY, tenant, call, worker: 'w', tokens, inPlaceMs: 250, leaseMs: 6_000 };
    return this.model.take({ ...request, ...none, ...this.#limits });
  }

  /** Until nobody waits any more. */
  async finish(): Promise<void> {
    for (;;) {
      this.#due.sort((a, b) => a.atMs - b.atMs || a.order - b.order);
      const next = this.#due.shift();
      if (next === undefined) return;
      this.nowMs = Math.max(this.nowMs, next.atMs);
      const { arrival, call } = next;
      const answer = await this.ask(call, arrival);
      const { tenant, tokens } = arrival;
      if (answer.granted) this.sent.push({ atMs: this.nowMs + answer.waitMs, tenant, call, tokens });
      else this.#due.push({ ...next, atMs: this.nowMs + answer.waitMs, order: this.#order++ });
    }
  }
}

/** The most of anything that falls into one minute, wherever it begins. */
function mostInAMinute(sent: readonly Sent[], of: (one: Sent) => number): number {
  return Math.max(
    ...sent.map(({ atMs }) =>
      sent
        .filter((one) => one.atMs >= atMs && one.atMs < atMs + MINUTE_MS - 1e-3)
        .reduce((sum, one) => sum + of(one), 0),
    ),
  );
}

describe('the limiter', () => {
  it('lets through no more calls in any minute than the requests it is given, and all of them in the end', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 100 }), arrivals(3_000), async (perMinute, list) => {
        const callers = new Callers({ requestsPerMinute: perMinute });
        callers.arrive(list);
        await callers.finish();
        expect(callers.sent).toHaveLength(list.length);
        expect(mostInAMinute(callers.sent, () => 1)).toBeLessThanOrEqual(perMinute);
        expect(Math.max(...callers.questions.values())).toBeLessThanOrEqual(MOST_QUESTIONS);
      }),
      { numRuns: 60 },
    );
  });

  it('lets through no more tokens in any minute than it is given, beyond one call larger than its bucket', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 500, max: 5_000 }),
        arrivals(3_000, 1_500),
        async (perMinute, list) => {
          const callers = new Callers({ tokensPerMinute: perMinute });
          callers.arrive(list);
          await callers.finish();
          expect(callers.sent).toHaveLength(list.length);
          const largest = Math.max(...list.map(({ tokens }) => tokens));
          const most = mostInAMinute(callers.sent, ({ tokens }) => tokens);
          expect(most).toBeLessThanOrEqual(perMinute + Math.max(0, largest - Math.floor(perMinute / 10)));
        },
      ),
      { numRuns: 60 },
    );
  });

  it('uses what it may: a steady stream of callers is let through at nine tenths of the rate at least', async () => {
    const callers = new Callers({ requestsPerMinute: 600 });
    callers.arrive(Array.from({ length: 600 }, () => ({ afterMs: 0, tenant: 'a', tokens: 0 })));
    const startMs = callers.nowMs;
    await callers.finish();
    const lastMs = Math.max(...callers.sent.map(({ atMs }) => atMs));
    expect(lastMs - startMs).toBeLessThanOrEqual(MINUTE_MS / 0.9);
  });

  it('RUN-10 a tenant that waits behind another’s flood gets every other place from its first call on', async () => {
    const callers = new Callers({ requestsPerMinute: 60 });
    callers.arrive(Array.from({ length: 500 }, () => ({ afterMs: 0, tenant: 'a', tokens: 0 })));
    callers.arrive([{ afterMs: 10_000, tenant: 'b', tokens: 0 }, ...many('b', 9)]);
    await callers.finish();
    const inOrder = [...callers.sent].sort((one, other) => one.atMs - other.atMs);
    const arrivedMs = 1_000_000 + 10_000;
    const after = inOrder.filter(({ atMs }) => atMs > arrivedMs);
    const lastOfB = after.findLastIndex(({ tenant }) => tenant === 'b');
    expect(after.filter(({ tenant }) => tenant === 'b')).toHaveLength(10);
    // Ten places of its own, ten of the other’s, and a few lost to calls that were told their times before it came.
    expect(lastOfB).toBeLessThanOrEqual(24);
  });

  it('asks of a caller in a long line few questions: by half of its wait each time', async () => {
    const callers = new Callers({ requestsPerMinute: 60 });
    const calls = 1_000;
    callers.arrive(Array.from({ length: calls }, () => ({ afterMs: 0, tenant: 'a', tokens: 0 })));
    await callers.finish();
    expect(callers.sent).toHaveLength(calls);
    const asked = [...callers.questions.values()];
    expect(asked.reduce((sum, times) => sum + times, 0) / calls).toBeLessThanOrEqual(Math.log2(calls));
    // Nobody loses every race.
    expect(Math.max(...asked)).toBeLessThanOrEqual(MOST_QUESTIONS);
  });

  it('lets nobody call before a provider asked for it, and everybody one after the other from then on', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 20_000 }),
        fc.option(fc.integer({ min: 1, max: 3_000 })),
        arrivals(200),
        async (pauseMs, pacedMs, list) => {
          const callers = new Callers({});
          const untilMs = callers.nowMs + pauseMs;
          await callers.model.penalise({ key: KEY, pauseMs, sentAgoMs: 5, pacedMs });
          callers.arrive(list);
          await callers.finish();
          expect(callers.sent).toHaveLength(list.length);
          const atMs = callers.sent.map((one) => one.atMs).sort((a, b) => a - b);
          expect(atMs[0]).toBeGreaterThanOrEqual(untilMs);
          const first = Math.min(2_000, Math.max(20, 2 * Math.min(pauseMs, pacedMs ?? pauseMs)));
          const gaps = atMs.slice(1).map((at, index) => at - (atMs[index] ?? 0));
          for (const [index, gap] of gaps.entries()) {
            const half = 0.5 ** (((atMs[index + 1] ?? 0) - untilMs) / 30_000);
            if (first * half >= 10) expect(gap).toBeGreaterThanOrEqual(first * half - 1e-6);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it('doubles the spacing for a refusal that came in spite of it, not for one that was under way before', async () => {
    const callers = new Callers({});
    const spacingAfter = async (): Promise<number> => {
      callers.nowMs += 1_000;
      const [one, two] = [await callers.ask('x', free), await callers.ask('y', free)];
      expect(one).toMatchObject({ granted: true, waitMs: 0 });
      callers.nowMs += 1_000_000;
      return two.waitMs;
    };
    const free = { tenant: 'a', tokens: 0 };
    const refusal = { key: KEY, pauseMs: 100, pacedMs: null };
    await callers.model.penalise({ ...refusal, sentAgoMs: 50 });
    callers.nowMs += 10;
    await callers.model.penalise({ ...refusal, sentAgoMs: 50 });
    const once = await spacingAfter();
    await callers.model.penalise({ ...refusal, sentAgoMs: 50 });
    callers.nowMs += 60;
    await callers.model.penalise({ ...refusal, sentAgoMs: 50 });
    const twice = await spacingAfter();
    expect(once).toBeLessThanOrEqual(200);
    expect(once).toBeGreaterThan(190);
    expect(twice / once).toBeGreaterThan(1.9);
  });

  it('forgets a refusal with time: the key is free again, and asks for no more questions', async () => {
    const callers = new Callers({});
    await callers.model.penalise({ key: KEY, pauseMs: 100, sentAgoMs: 0, pacedMs: null });
    callers.nowMs += 1_000;
    expect(await callers.ask('x', { tenant: 'a', tokens: 0 })).toMatchObject({
      granted: true,
      limited: true,
    });
    expect(await callers.model.limited()).toEqual([KEY]);
    callers.nowMs += 10 * MINUTE_MS;
    expect(await callers.model.limited()).toEqual([]);
    expect(await callers.ask('y', { tenant: 'a', tokens: 0 })).toEqual({
      granted: true,
      waitMs: 0,
      limited: false,
    });
  });
});

function many(tenant: string, count: number): readonly Arrival[] {
  return Array.from({ length: count }, () => ({ afterMs: 0, tenant, tokens: 0 }));
}
