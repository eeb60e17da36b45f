import { setImmediate as settled } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { RateLimitStore } from '../../../src/db/rate-limits.ts';
import type { Clock } from '../../../src/ledger/clock.ts';
import type { CallOutcome, Leg, ProviderFailure } from '../../../src/providers/contract.ts';
import { limitKey, RateLimiter } from '../../../src/runtime/rate-limiter.ts';
import { RateLimitModel } from '../../reference/rate-limits.ts';

const LEG: Leg = { name: 'main', provider: 'openai', model: 'm', apiKeyEnv: 'KEY_OF_MAIN', timeoutMs: 1_000 };
const TENANT = '00000000-0000-7000-8000-00000000000a';

type Statement = { readonly [K in keyof RateLimitStore]: K }[keyof RateLimitStore];

/** Time that moves when it is told to, and everything the limiters of some processes ask of one store. */
class World {
  nowMs = 5_000_000;
  readonly asked: Statement[] = [];
  readonly errors: unknown[] = [];
  /** Notices do not arrive. */
  deaf = false;
  readonly #timers = new Set<{ readonly atMs: number; readonly act: () => void }>();
  readonly clock: Clock = {
    nowMs: () => this.nowMs,
    monotonicMs: () => this.nowMs,
    sleep: (delayMs) => new Promise((resolve) => void this.clock.after(delayMs, resolve)),
    after: (delayMs, act) => {
      const timer = { atMs: this.nowMs + delayMs, act };
      this.#timers.add(timer);
      return () => this.#timers.delete(timer);
    },
  };
  readonly #limiters: RateLimiter[] = [];
  readonly model = new RateLimitModel({
    nowMs: () => this.nowMs,
    onNotify: (key) => {
      if (this.deaf) return;
      for (const limiter of this.#limiters) limiter.hear(key);
    },
  });
  #calls = 0;

  limiter(): RateLimiter {
    const { asked, model, clock } = this;
    const store: RateLimitStore = {
      take: (request) => {
        asked.push('take');
        return model.take(request);
      },
      settle: (settlement) => {
        asked.push('settle');
        return model.settle(settlement);
      },
      penalise: (refusal) => {
        asked.push('penalise');
        return model.penalise(refusal);
      },
      limited: () => {
        asked.push('limited');
        return model.limited();
      },
    };
    const onError = (error: unknown): void => void this.errors.push(error);
    const workerId = `worker-${this.#limiters.length}`;
    const made = new RateLimiter({ store, workerId, leaseMs: 6_000, clock, onError });
    this.#limiters.push(made);
    return made;
  }

  async pass(ms: number): Promise<void> {
    const untilMs = this.nowMs + ms;
    for (;;) {
      await settled();
      const next = [...this.#timers].sort((a, b) => a.atMs - b.atMs)[0];
      if (next === undefined || next.atMs > untilMs) break;
      this.#timers.delete(next);
      this.nowMs = Math.max(this.nowMs, next.atMs);
      next.act();
    }
    this.nowMs = untilMs;
    await settled();
  }

  /** One call of a turn of its own; a name makes it the same call again. */
  call(
    limiter: RateLimiter,
    outcome: CallOutcome,
    over: { leg?: Leg; tokens?: number; signal?: AbortSignal; name?: string; sent?: number[] } = {},
  ) {
    const { leg = LEG, tokens = 0, signal = new AbortController().signal, name, sent } = over;
    const child = name ?? `step-${this.#calls++}`;
    const ref = { tenant: TENANT, session: TENANT, actor: TENANT, child, dispatch: 1 };
    return limiter.run({ leg, ref, tokens, signal }, async () => {
      sent?.push(this.nowMs);
      await settled();
      return outcome;
    });
  }
}

/** As a turn does: comes back when it was told to, until the call was made. */
async function insist(world: World, limiter: RateLimiter, name: string, sent: number[]): Promise<void> {
  for (;;) {
    const result = await world.call(limiter, answered(), { name, sent });
    if (result.kind !== 'delayed') return;
    expect(result.reason).toMatch(/^rate_limited: leg "main" /u);
    await world.clock.sleep(result.delayMs);
  }
}

const answered = (tokens: number | null = null): CallOutcome => ({
  ok: true,
  reply: {
    content: [],
    finish: 'stop',
    usage:
      tokens === null
        ? null
        : { inputTokens: tokens, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 0 },
    model: 'm',
    firstTokenMs: null,
    totalMs: 1,
  },
});

const refused = (retryAfterMs?: number, code: 'rate_limited' | 'overloaded' = 'rate_limited'): CallOutcome =>
  failed({
    kind: 'retryable',
    code,
    message: 'slow down',
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });

const failed = (failure: ProviderFailure): CallOutcome => ({ ok: false, failure });

describe('calls nobody limits', () => {
  it('cost no statement at all, however many there are and however they end', async () => {
    const world = new World();
    const limiter = world.limiter();
    await limiter.start();
    expect(world.asked).toEqual(['limited']);
    const ends = [
      answered(),
      answered(100),
      failed({ kind: 'auth', message: 'no' }),
      failed({ kind: 'retryable', code: 'server_error', message: 'oops' }),
      failed({ kind: 'retryable', code: 'overloaded', message: 'busy' }),
      failed({ kind: 'aborted', message: 'stop' }),
    ];
    for (const outcome of ends)
      for (let n = 0; n < 20; n++)
        expect(await world.call(limiter, outcome)).toEqual({ kind: 'ran', outcome });
    expect(world.asked).toEqual(['limited']);
  });

  it('cost none either for a leg whose neighbour was refused: another model, key or address', async () => {
    const world = new World();
    const limiter = world.limiter();
    await world.call(limiter, refused(60_000));
    const before = world.asked.length;
    for (const other of [
      { ...LEG, model: 'n' },
      { ...LEG, apiKeyEnv: 'OTHER' },
      { ...LEG, baseUrl: 'http://here/v1' },
    ])
      expect(await world.call(limiter, answered(), { leg: other })).toMatchObject({ kind: 'ran' });
    expect(world.asked).toHaveLength(before);
    expect(await world.call(limiter, answered(), { leg: { ...LEG, name: 'twin' } })).toMatchObject({
      kind: 'delayed',
    });
  });

  it('are told apart by a key that holds no credential', () => {
    process.env.KEY_OF_MAIN = 'sk-secret';
    const key = limitKey(LEG);
    process.env.KEY_OF_MAIN = 'sk-other';
    expect(limitKey(LEG)).toBe(key);
    expect(key).toMatch(/^[0-9a-f]{64}$/u);
    delete process.env.KEY_OF_MAIN;
  });
});

describe('after a refusal', () => {
  it('no process calls before the time the provider asked for, and then one call after the other', async () => {
    const world = new World();
    const [one, other] = [world.limiter(), world.limiter()];
    const sent: number[] = [];
    const untilMs = world.nowMs + 3_000;
    expect(await world.call(one, refused(3_000))).toMatchObject({ kind: 'ran' });
    const all = Promise.all(
      Array.from({ length: 8 }, (_, n) => insist(world, n % 2 === 0 ? one : other, `turn-${n}`, sent)),
    );
    await world.pass(60_000);
    await all;
    expect(sent).toHaveLength(8);
    expect(sent[0]).toBeGreaterThanOrEqual(untilMs);
    const gaps = sent.slice(1).map((at, index) => at - (sent[index] ?? 0));
    // Two seconds at first, less as time goes by: never all of them at once.
    expect(gaps[0]).toBeGreaterThan(1_800);
    for (const gap of gaps) expect(gap).toBeGreaterThan(1_000);
  });

  it('a process that was refused waits without a notice, and starts again half as fast as it was answered', async () => {
    const world = new World();
    world.deaf = true;
    const limiter = world.limiter();
    const sent: number[] = [];
    for (let n = 0; n < 20; n++) {
      await world.call(limiter, answered());
      await world.pass(100);
    }
    await world.call(limiter, refused(5_000));
    const untilMs = world.nowMs + 5_000;
    const all = Promise.all(Array.from({ length: 4 }, (_, n) => insist(world, limiter, `turn-${n}`, sent)));
    await world.pass(30_000);
    await all;
    expect(sent[0]).toBeGreaterThanOrEqual(untilMs);
    const gap = (sent[1] ?? 0) - (sent[0] ?? 0);
    expect(gap).toBeGreaterThanOrEqual(190);
    expect(gap).toBeLessThanOrEqual(300);
  });

  it('a key is asked for until its spacing is over, and silent again from then on', async () => {
    const world = new World();
    const limiter = world.limiter();
    await world.call(limiter, refused(100));
    await world.pass(1_000);
    const count = () => world.asked.filter((statement) => statement === 'take').length;
    await world.call(limiter, answered());
    expect(count()).toBe(1);
    await world.pass(600_000);
    await world.call(limiter, answered());
    expect(count()).toBe(2);
    for (let n = 0; n < 10; n++) await world.call(limiter, answered());
    expect(count()).toBe(2);
  });

  it('an overload that names no time limits nobody, and one that does limits everybody', async () => {
    const world = new World();
    const limiter = world.limiter();
    await world.call(limiter, refused(undefined, 'overloaded'));
    expect(world.asked).toEqual([]);
    await world.call(limiter, refused(500, 'overloaded'));
    expect(world.asked).toEqual(['penalise']);
    await world.pass(120_000);
    await world.call(limiter, refused());
    expect(await world.call(limiter, answered())).toMatchObject({ kind: 'delayed' });
  });

  it('a process that missed the notice learns of it when the line is back, and now and then', async () => {
    const world = new World();
    const limiter = world.limiter();
    await limiter.start();
    const deaf = { key: limitKey(LEG), pauseMs: 60_000, sentAgoMs: 0, pacedMs: null };
    const missed = new RateLimitModel({ nowMs: () => world.nowMs });
    Object.assign(world.model, { limited: () => missed.limited() });
    await missed.penalise(deaf);
    const watched = async () => {
      const before = world.asked.filter((statement) => statement === 'take').length;
      await world.call(limiter, answered());
      return world.asked.filter((statement) => statement === 'take').length > before;
    };
    expect(await watched()).toBe(false);
    limiter.hear('');
    await settled();
    expect(await watched()).toBe(true);
    // The shared limiter itself knows nothing here, so its answer made the key silent again.
    expect(await watched()).toBe(false);
    await world.pass(10_000);
    expect(await watched()).toBe(true);
    await limiter.stop();
    expect(world.errors).toEqual([]);
  });
});

describe('a configured limit', () => {
  const limited = (limits: NonNullable<Leg['limits']>): Leg => ({ ...LEG, limits });

  it('sits out a short wait in place, and gives the call back for a longer one', async () => {
    const world = new World();
    const limiter = world.limiter();
    const leg = limited({ requestsPerMinute: 300 });
    const sent: number[] = [];
    const first = Promise.all(
      Array.from({ length: 30 }, () => world.call(limiter, answered(), { leg, sent })),
    );
    // Sums of fractions may be off by less than a millisecond.
    await world.pass(1);
    expect((await first).map(({ kind }) => kind)).toEqual(Array.from({ length: 30 }, () => 'ran'));
    const second = world.call(limiter, answered(), { leg, sent });
    const third = world.call(limiter, answered(), { leg, sent });
    await settled();
    expect(sent).toHaveLength(30);
    await world.pass(250);
    expect(await second).toMatchObject({ kind: 'ran' });
    expect(sent).toHaveLength(31);
    const back = await third;
    expect(back).toMatchObject({ kind: 'delayed' });
    if (back.kind === 'delayed') expect(back.delayMs).toBeGreaterThanOrEqual(250);
  });

  it('an abort ends the wait at once, makes no call and gives back what was taken', async () => {
    const world = new World();
    const limiter = world.limiter();
    const leg = limited({ tokensPerMinute: 60_000 });
    const sent: number[] = [];
    await world.call(limiter, answered(), { leg, tokens: 6_000 });
    const stop = new AbortController();
    const waiting = world.call(limiter, answered(), { leg, tokens: 200, sent, signal: stop.signal });
    await settled();
    stop.abort();
    expect(await waiting).toEqual({ kind: 'aborted', drafts: [] });
    expect(sent).toEqual([]);
    await settled();
    const again = world.call(limiter, answered(), { leg, tokens: 200, sent });
    await world.pass(250);
    expect(await again).toMatchObject({ kind: 'ran' });
  });

  it('reserves the estimate, and corrects it to what the call cost', async () => {
    const world = new World();
    const limiter = world.limiter();
    const leg = limited({ tokensPerMinute: 10_000 });
    expect(await world.call(limiter, answered(10), { leg, tokens: 1_000 })).toMatchObject({ kind: 'ran' });
    await settled();
    expect(await world.call(limiter, answered(5_000), { leg, tokens: 900 })).toMatchObject({ kind: 'ran' });
    await settled();
    const dear = await world.call(limiter, answered(), { leg, tokens: 1 });
    expect(dear).toMatchObject({ kind: 'delayed' });
    if (dear.kind === 'delayed') expect(dear.delayMs).toBeGreaterThan(20_000);
    expect(world.asked).toEqual(['take', 'settle', 'take', 'settle', 'take']);
  });

  it('keeps the estimate of a call nobody knows the cost of, and gives back that of one refused unread', async () => {
    for (const [outcome, kept] of [
      [failed({ kind: 'retryable', code: 'network', message: 'gone' }), true],
      [answered(), true],
      [failed({ kind: 'over_length', message: 'long' }), false],
      [failed({ kind: 'auth', message: 'no' }), false],
    ] as const) {
      const world = new World();
      const limiter = world.limiter();
      const leg = limited({ tokensPerMinute: 10_000 });
      await world.call(limiter, outcome, { leg, tokens: 1_000 });
      await settled();
      const next = await world.call(limiter, answered(), { leg, tokens: 1_000 });
      expect([outcome, next.kind]).toEqual([outcome, kept ? 'delayed' : 'ran']);
    }
  });

  it('frees the place of a call that ended, also of one that threw', async () => {
    const world = new World();
    const limiter = world.limiter();
    const leg = limited({ concurrent: 1 });
    const ref = { tenant: TENANT, session: TENANT, actor: TENANT, child: 'bad', dispatch: 1 };
    const signal = new AbortController().signal;
    const bad = limiter.run<CallOutcome>({ leg, ref, tokens: 0, signal }, () =>
      Promise.reject(new Error('defect')),
    );
    await expect(bad).rejects.toThrow('defect');
    await limiter.stop();
    const held = world.call(limiter, answered(), { leg });
    expect(await world.call(limiter, answered(), { leg })).toMatchObject({ kind: 'delayed' });
    expect(await held).toMatchObject({ kind: 'ran' });
    await limiter.stop();
    expect(world.asked.filter((statement) => statement === 'settle')).toHaveLength(2);
  });
});
