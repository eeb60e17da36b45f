import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { BUILTIN_CARDS, createCards } from '../../../src/context/cards/index.ts';
import type { BodyOf } from '../../../src/ledger/kinds.ts';
import { type TurnView, unasked } from '../../../src/ledger/view.ts';
import { MACHINES } from '../../../src/machines/registry.ts';
import type { EmbedOutcome, Leg, Provider, ProviderFailure } from '../../../src/providers/contract.ts';
import { Admission } from '../../../src/runtime/admission.ts';
import { EmbeddingCalls } from '../../../src/runtime/embedding-calls.ts';
import { Engine } from '../../../src/runtime/engine.ts';
import { TurnCache } from '../../../src/runtime/turn-cache.ts';
import { TurnVectors } from '../../../src/runtime/turn-vectors.ts';
import { embedText } from '../../../src/sim/embeddings.ts';
import { createToolSurface } from '../../../src/tools/surface.ts';
import { createMemoryDatabase } from '../../simulation/memory/database.ts';
import { openConversation, type TurnSaid } from '../../support/conversation.ts';

type Embed = NonNullable<Provider['embed']>;
const DOWN: ProviderFailure = { kind: 'retryable', code: 'network', message: 'nobody answers' };
const REFUSED: ProviderFailure = { kind: 'bad_request', message: 'too odd' };
const DEADLINE_MS = 2_000;
const A_MINUTE_MS = 60_000;
/** Texts of one request. */
const BATCH = 32;

/** A deployment with a leg whose answers a test decides, and a time that moves when it is told to. */
class World {
  readonly database = createMemoryDatabase({ nowMs: () => this.nowMs });
  readonly asked: { readonly texts: readonly string[]; readonly timeoutMs: number }[] = [];
  readonly errors: unknown[] = [];
  nowMs = Date.UTC(2026, 0, 2);
  answer: (texts: readonly string[]) => Promise<EmbedOutcome> = async (texts) => answered(texts);

  readonly clock = {
    nowMs: () => this.nowMs,
    monotonicMs: () => this.nowMs,
    sleep: () => Promise.resolve(),
    after: () => () => {},
  };

  readonly engine = new Engine({
    store: this.database.store(),
    registry: MACHINES,
    admission: new Admission({
      queue: { admit: () => Promise.resolve() } as never,
      upkeep: this.database.upkeep(),
      leaseMs: 6_000,
      clock: this.clock,
      onError: (error) => this.errors.push(error),
      wakeIn: () => {},
    }),
    clock: this.clock,
    timezone: 'UTC',
    cards: createCards(BUILTIN_CARDS),
    surface: createToolSurface([]),
    turns: new TurnCache(this.database.store()),
  });

  process(model = 'places', limit: 'open' | 'held' = 'open'): TurnVectors {
    const leg: Leg = { name: 'embedder', provider: 'openai', model, timeoutMs: 60_000 };
    const embed: Embed = (texts, { timeoutMs }) => {
      this.asked.push({ texts, timeoutMs });
      return this.answer(texts);
    };
    const limiter = {
      run: async (_: unknown, call: () => Promise<unknown>) =>
        limit === 'open'
          ? { kind: 'ran', outcome: await call() }
          : { kind: 'delayed', delayMs: 5_000, reason: 'rate_limited' },
    } as never;
    const calls = new EmbeddingCalls({ leg, embed, limiter, clock: this.clock, rateOf: () => null });
    return new TurnVectors({
      engine: this.engine,
      store: this.database.turnVectors(),
      calls,
      onError: (error) => this.errors.push(error),
    });
  }

  async session(turns: readonly TurnSaid[]) {
    const { ref, head, write } = await openConversation(this.engine, randomUUID());
    await write(turns);
    const close = (vectors: TurnVectors, number = turns.length) =>
      vectors.afterTurn({ ref, head, epoch: 0, number });
    const likeness = (vectors: TurnVectors, text: string, turnId: string = randomUUID()) =>
      vectors.likeness(ref, head, 0, open(turnId, text, turns.length + 1));
    const records = async () => {
      const found: { readonly kind: string; readonly data: never }[] = [];
      for await (const { kind, body } of this.engine.store.records(ref))
        found.push({ kind, data: JSON.parse(body ?? '{}') as never });
      return found;
    };
    return {
      ref,
      write,
      close,
      likeness,
      /** By number of the turn. */
      placed: async () => {
        const after = { head, model: 'places', seq: 0, limit: 1_000 };
        const rows = await this.database.turnVectors().vectorsAfter(ref, after);
        return rows.map(({ number }) => number);
      },
      receipts: async () =>
        (await records())
          .filter(({ kind }) => kind === 'work-receipt')
          .map(({ data }) => data as BodyOf<'work-receipt'>),
    };
  }
}

const answered = (texts: readonly string[]): EmbedOutcome => ({
  ok: true,
  vectors: texts.map(embedText),
  inputTokens: 7 * texts.length,
});
const failed = (failure: ProviderFailure) => async (): Promise<EmbedOutcome> => ({ ok: false, failure });
const open = (turnId: string, text: string, number: number): TurnView => ({
  ...unasked(number),
  turnId,
  input: [{ type: 'text', text }],
});
const boat = (n: number): TurnSaid => ({
  asked: `Which boat lies at berth ${n}?`,
  answer: `The Petrel ${n}.`,
});
const boats = (count: number) => Array.from({ length: count }, (_, at) => boat(at + 1));
const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => from + at);

describe('turns in the space of an embedding model', () => {
  it('PLN-07 are placed when a turn closed: the newest that have no place, as many as one request takes', async () => {
    const world = new World();
    const session = await world.session(boats(40));
    const vectors = world.process();
    session.close(vectors);
    await vectors.stop();
    expect((await session.placed()).toSorted((a, b) => a - b)).toEqual(numbers(40 - BATCH + 1, 40));
    expect(world.asked.map(({ texts }) => texts.length)).toEqual([BATCH]);
    expect(world.asked[0]?.texts).toContain('Which boat lies at berth 40?\nThe Petrel 40.');
  });

  it('PLN-07 are caught up with by the next close, in whatever process, after one died in between', async () => {
    const world = new World();
    const session = await world.session(boats(5));
    const dying = world.process();
    world.answer = () => new Promise(() => {});
    session.close(dying);
    await expect.poll(() => world.asked).toHaveLength(1);
    await session.write([boat(6)]);
    world.answer = async (texts) => answered(texts);
    const next = world.process();
    session.close(next, 6);
    await next.stop();
    expect((await session.placed()).toSorted((a, b) => a - b)).toEqual(numbers(1, 6));
  });

  it('PLN-07 are stored once, though two processes placed them at the same time', async () => {
    const world = new World();
    const session = await world.session(boats(3));
    const [one, other] = [world.process(), world.process()];
    session.close(one);
    session.close(other);
    await Promise.all([one.stop(), other.stop()]);
    expect((await session.placed()).toSorted((a, b) => a - b)).toEqual([1, 2, 3]);
    expect(world.errors).toEqual([]);
  });

  it('PLN-07 that close while others are placed are placed right after', async () => {
    const world = new World();
    const session = await world.session(boats(2));
    const vectors = world.process();
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    world.answer = async (texts) => {
      await held;
      return answered(texts);
    };
    session.close(vectors);
    await session.write([boat(3)]);
    session.close(vectors, 3);
    release();
    await vectors.stop();
    expect((await session.placed()).toSorted((a, b) => a - b)).toEqual([1, 2, 3]);
  });

  it('PLN-07 are like a directive by the cosine of their places, and those without a place are not', async () => {
    const world = new World();
    const session = await world.session([
      { asked: 'Photosynthesising chloroplasts?', answer: 'Photosynthesised chloroplastic.' },
      boat(2),
    ]);
    const vectors = world.process();
    expect(await session.likeness(vectors, 'photosynthetic chloroplastid')).toBeNull();
    expect(world.asked).toEqual([]);
    session.close(vectors);
    await vectors.stop();
    const likeness = await session.likeness(world.process(), 'Photosynthetically chloroplasty!');
    expect(likeness?.(1)).toBeGreaterThan(0.7);
    expect(likeness?.(2)).toBeLessThan(0.3);
    expect(likeness?.(3)).toBe(0);
  });

  it('PLN-07 another model placed count for nothing', async () => {
    const world = new World();
    const session = await world.session(boats(2));
    const before = world.process('another');
    session.close(before);
    await before.stop();
    expect(world.asked).toHaveLength(1);
    const vectors = world.process();
    expect(await session.likeness(vectors, 'Which boat lies at berth 1?')).toBeNull();
    session.close(vectors);
    await vectors.stop();
    expect((await session.placed()).toSorted((a, b) => a - b)).toEqual([1, 2]);
  });

  it('PLN-07 that have no words are asked for once, and take no room of others', async () => {
    const world = new World();
    const wordless = Array.from({ length: BATCH }, () => ({ asked: '', answer: null }));
    const session = await world.session([boat(1), ...wordless]);
    const vectors = world.process();
    session.close(vectors);
    session.close(vectors);
    await vectors.stop();
    const more = world.process();
    session.close(more);
    session.close(more);
    await more.stop();
    expect(await session.placed()).toEqual([1]);
    expect(world.asked.map(({ texts }) => texts)).toEqual([['Which boat lies at berth 1?\nThe Petrel 1.']]);
  });
});

describe('an embedding leg', () => {
  it('PLN-07 that fails is told of once a minute, and left alone that long', async () => {
    const world = new World();
    const session = await world.session(boats(3));
    const vectors = world.process();
    session.close(vectors);
    await vectors.stop();
    world.answer = failed(DOWN);
    for (const _ of numbers(1, 5)) expect(await session.likeness(vectors, 'Which boat?')).toBeNull();
    expect(world.errors.map(String)).toEqual([expect.stringContaining('nobody answers')]);
    expect(world.asked).toHaveLength(2);
    world.nowMs += A_MINUTE_MS;
    world.answer = async (texts) => answered(texts);
    expect(await session.likeness(vectors, 'Which boat?')).not.toBeNull();
    expect(world.errors).toHaveLength(1);
  });

  it('PLN-07 that breaks in a way nobody foresaw leaves the plan without a likeness', async () => {
    const world = new World();
    const session = await world.session(boats(1));
    const vectors = world.process();
    session.close(vectors);
    await vectors.stop();
    world.answer = () => Promise.reject(new Error('broken'));
    expect(await session.likeness(vectors, 'Which boat?')).toBeNull();
    expect(world.errors.map(String)).toEqual(['Error: broken']);
  });

  it('PLN-07 that refuses what a turn says is not asked for it again, and is for the next', async () => {
    const world = new World();
    const session = await world.session(boats(1));
    const vectors = world.process();
    world.answer = failed(REFUSED);
    session.close(vectors);
    await vectors.stop();
    world.answer = async (texts) => answered(texts);
    world.nowMs += A_MINUTE_MS;
    await session.write([boat(2)]);
    session.close(vectors, 2);
    await vectors.stop();
    expect(await session.placed()).toEqual([2]);
  });

  it('PLN-07 that its limits hold back is not asked, and is no error', async () => {
    const world = new World();
    const session = await world.session(boats(1));
    const vectors = world.process('places', 'held');
    session.close(vectors);
    await vectors.stop();
    expect([world.asked, world.errors, await session.receipts()]).toEqual([[], [], []]);
  });

  it('PLN-07 has two seconds for a directive, and is asked once for one that is planned again', async () => {
    const world = new World();
    const session = await world.session(boats(2));
    const vectors = world.process();
    session.close(vectors);
    await vectors.stop();
    const turn = randomUUID();
    await session.likeness(vectors, 'Which boat?', turn);
    await session.likeness(vectors, 'Which boat?', turn);
    expect(world.asked.slice(1)).toEqual([{ texts: ['Which boat?'], timeoutMs: DEADLINE_MS }]);
  });
});

describe('receipts of an embedding leg', () => {
  it('PLN-07 are written with the places, those of directives too', async () => {
    const world = new World();
    const session = await world.session(boats(2));
    const vectors = world.process();
    session.close(vectors);
    await vectors.stop();
    expect(await session.receipts()).toMatchObject([
      {
        purpose: 'embedding',
        child: 'turns',
        leg: 'embedder',
        settlement: 'answered',
        usage: { inputTokens: 14, outputTokens: 0 },
      },
    ]);
    await session.likeness(vectors, 'Which boat?');
    expect(await session.receipts()).toHaveLength(1);
    await session.write([boat(3)]);
    session.close(vectors, 3);
    await vectors.stop();
    expect((await session.receipts()).map(({ child }) => child)).toEqual(['turns', 'directive', 'turns']);
  });

  it('PLN-07 are written where the process ends before another turn closes', async () => {
    const world = new World();
    const session = await world.session(boats(1));
    const before = world.process();
    session.close(before);
    await before.stop();
    const vectors = world.process();
    world.answer = failed(DOWN);
    await session.likeness(vectors, 'Which boat?');
    await vectors.stop();
    await vectors.stop();
    const [, receipt, ...more] = await session.receipts();
    expect(receipt).toMatchObject({
      child: 'directive',
      settlement: 'network',
      problem: 'nobody answers',
      usage: null,
    });
    expect(more).toEqual([]);
  });

  it('PLN-07 of a plan that no turn follows are written at once', async () => {
    const world = new World();
    const session = await world.session(boats(1));
    const before = world.process();
    session.close(before);
    await before.stop();
    const vectors = world.process();
    await session.likeness(vectors, 'Which boat?', '');
    await expect.poll(() => session.receipts()).toHaveLength(2);
  });
});
