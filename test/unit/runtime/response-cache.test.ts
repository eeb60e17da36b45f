import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatReply, ChatRequest, FinishReason } from '../../../src/context/request.ts';
import { type RequestKey, requestKey } from '../../../src/context/request-key.ts';
import type { ResponseStore } from '../../../src/db/response-cache.ts';
import type { AssistantBlock } from '../../../src/ledger/blocks.ts';
import { byteLength } from '../../../src/ledger/json.ts';
import {
  type CacheLookup,
  hitRates,
  probeOf,
  RESPONSE_CACHE_DEFAULTS,
  ResponseCache,
  type ResponseCacheSettings,
} from '../../../src/runtime/response-cache.ts';
import { Tally } from '../ledger/sample.ts';

const TTL_MS = 1_000;
const BOTH: ResponseCacheSettings = { mode: 'read-write', layer: 'store', ttlMs: TTL_MS };
const PROCESS: ResponseCacheSettings = { ...BOTH, layer: 'process' };
const FINISHES: readonly FinishReason[] = ['stop', 'tool_calls', 'length', 'content_filter', 'other'];
const USAGE = { inputTokens: 10, cacheReadTokens: 1, cacheWriteTokens: 2, outputTokens: 3 };

/** One store, the time that passes, and the processes that share both. */
class World implements ResponseStore {
  nowMs = 5_000;
  down = false;
  readonly asked: string[] = [];
  readonly errors: unknown[] = [];
  readonly rows = new Map<string, { readonly reply: string; readonly untilMs: number }>();

  process(settings: ResponseCacheSettings, limitBytes?: number): ResponseCache {
    return new ResponseCache({
      settings,
      store: this,
      clock: { monotonicMs: () => this.nowMs },
      onError: (error) => this.errors.push(error),
      ...(limitBytes === undefined ? {} : { limitBytes }),
    });
  }

  async read({ tenant, digest }: RequestKey) {
    this.#ask('read');
    const row = this.rows.get(`${tenant}/${digest}`);
    if (row === undefined || row.untilMs <= this.nowMs) return null;
    return { reply: row.reply, leftMs: row.untilMs - this.nowMs };
  }

  async keep({ tenant, digest }: RequestKey, reply: string, ttlMs: number) {
    this.#ask('keep');
    const row = this.rows.get(`${tenant}/${digest}`);
    if (row === undefined || row.untilMs <= this.nowMs)
      this.rows.set(`${tenant}/${digest}`, { reply, untilMs: this.nowMs + ttlMs });
  }

  #ask(what: string): void {
    this.asked.push(what);
    if (this.down) throw new Error('the store is down');
  }
}

function said(text: string, change: Partial<ChatReply> = {}): ChatReply {
  const content = [{ type: 'text', text } as const];
  const timings = { firstTokenMs: 4, totalMs: 9 };
  return { content, finish: 'stop', usage: USAGE, model: 'm-1', responseId: 'r1', ...timings, ...change };
}

const keyOf = (name: string | number, tenant = 'a'): RequestKey => ({ tenant, digest: `${tenant}-${name}` });
const KEY = keyOf('one');

function textOf(lookup: CacheLookup): string | null {
  if (lookup === 'not-looked' || lookup.hit === null) return null;
  const [block] = lookup.reply.content;
  return block?.type === 'text' ? block.text : null;
}

describe('a kept reply', () => {
  it('CST-02 answers the same request from the process, without the timings and the provider’s name of one call', async () => {
    const cache = new World().process(BOTH);
    await cache.keep(KEY, said('Eels.'));
    expect(await cache.lookup(KEY)).toEqual({
      hit: 'process',
      reply: { content: [{ type: 'text', text: 'Eels.' }], finish: 'stop', usage: USAGE, model: 'm-1' },
    });
    expect(await cache.lookup(keyOf('two'))).toMatchObject({ hit: null });
  });

  it('CST-02 answers another process from the store once, and from its own memory after that', async () => {
    const world = new World();
    await world.process(BOTH).keep(KEY, said('Eels.'));
    const other = world.process(BOTH);
    const [first, second] = [await other.lookup(KEY), await other.lookup(KEY)];
    expect([first, second]).toMatchObject([{ hit: 'store' }, { hit: 'process' }]);
    expect([textOf(first), textOf(second)]).toEqual(['Eels.', 'Eels.']);
    expect(world.asked).toEqual(['keep', 'read']);
  });

  it('CST-02 stays in the process where that is the only layer', async () => {
    const world = new World();
    const cache = world.process(PROCESS);
    await cache.keep(KEY, said('Eels.'));
    expect(await cache.lookup(KEY)).toMatchObject({ hit: 'process' });
    expect(await cache.lookup(keyOf('two'))).toEqual({ hit: null, looked: ['process'], mayCall: true });
    expect(world.asked).toEqual([]);
  });

  it('CST-02 is a whole one: what was cut, filtered or ended otherwise is asked for again', async () => {
    for (const finish of FINISHES) {
      const world = new World();
      const cache = world.process(BOTH);
      await cache.keep(KEY, said('Eels.', { finish }));
      const kept = finish === 'stop' || finish === 'tool_calls';
      const other = await world.process(BOTH).lookup(KEY);
      expect([finish, textOf(await cache.lookup(KEY)), textOf(other)]).toEqual(
        kept ? [finish, 'Eels.', 'Eels.'] : [finish, null, null],
      );
    }
  });

  it('CST-02 is not replaced by a later one, in any layer', async () => {
    const world = new World();
    const [one, two] = [world.process(BOTH), world.process(BOTH)];
    await one.keep(KEY, said('Eels.'));
    await one.keep(KEY, said('Crabs.'));
    await two.keep(KEY, said('Squid.'));
    expect(textOf(await one.lookup(KEY))).toBe('Eels.');
    expect(textOf(await world.process(BOTH).lookup(KEY))).toBe('Eels.');
  });

  it('CST-02 comes back as it was, whatever stands in it, and is no object that two hits share', async () => {
    const text = fc.string({ unit: 'binary' });
    const block: fc.Arbitrary<AssistantBlock> = fc.oneof(
      fc.record({ type: fc.constant('text' as const), text }),
      fc.record(
        { type: fc.constant('thinking' as const), text, signature: text, signedBy: text },
        { requiredKeys: ['type', 'text'] },
      ),
      fc.record({
        type: fc.constant('tool_call' as const),
        id: text,
        name: text,
        args: fc.constantFrom({ path: 'a\0b', deep: [1, null, { x: '\uD800' }] }, null, {}),
      }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(block), fc.option(fc.constant(USAGE)), async (content, usage) => {
        const world = new World();
        await world.process(BOTH).keep(KEY, said('', { content, usage }));
        const other = world.process(BOTH);
        const hits = [await other.lookup(KEY), await other.lookup(KEY), await other.lookup(KEY)];
        const replies = hits.map((hit) => (hit === 'not-looked' || hit.hit === null ? null : hit.reply));
        const kept = { content, usage, finish: 'stop', model: 'm-1' };
        expect(replies).toEqual([kept, kept, kept]);
        expect(new Set(replies.map((reply) => reply?.content)).size).toBe(3);
      }),
    );
  });

  it('CST-02 ends with its time; a copy in a process ends with the one it was made of', async () => {
    const world = new World();
    const [one, late] = [world.process(BOTH), world.process(BOTH)];
    await one.keep(KEY, said('Eels.'));
    world.nowMs += TTL_MS - 1;
    expect(textOf(await late.lookup(KEY))).toBe('Eels.');
    world.nowMs += 1;
    expect([await one.lookup(KEY), await late.lookup(KEY)]).toMatchObject([{ hit: null }, { hit: null }]);
    await late.keep(KEY, said('Crabs.'));
    expect([textOf(await one.lookup(KEY)), textOf(await late.lookup(KEY))]).toEqual(['Crabs.', 'Crabs.']);
  });
});

describe('the modes', () => {
  it('CST-02 off is what stands by itself, and neither looks nor keeps', async () => {
    expect(RESPONSE_CACHE_DEFAULTS.mode).toBe('off');
    const world = new World();
    await world.process(BOTH).keep(KEY, said('Eels.'));
    const off = world.process({ ...BOTH, mode: 'off' });
    await off.keep(keyOf('two'), said('Crabs.'));
    expect(await off.lookup(KEY)).toBe('not-looked');
    expect(world.rows.size).toBe(1);
    expect(world.asked).toEqual(['keep']);
  });

  it('CST-02 write-only keeps what others will find, looks nowhere, counts nothing and harms no reply that is kept', async () => {
    const world = new World();
    await world.process(BOTH).keep(KEY, said('Eels.'));
    const recorder = world.process({ ...BOTH, mode: 'write-only' });
    const lookup = await recorder.lookup(KEY);
    expect(lookup).toBe('not-looked');
    expect(hitRates([probeOf(lookup)])).toMatchObject({ hits: 0, misses: 0, rate: null });
    await recorder.keep(KEY, said('Squid.'));
    await recorder.keep(keyOf('two'), said('Crabs.'));
    expect(world.asked).not.toContain('read');
    const reader = world.process(BOTH);
    expect([textOf(await reader.lookup(KEY)), textOf(await reader.lookup(keyOf('two')))]).toEqual([
      'Eels.',
      'Crabs.',
    ]);
  });

  it('CST-02 strict finds what is kept, forbids the call on a miss, and keeps nothing', async () => {
    const world = new World();
    await world.process(BOTH).keep(KEY, said('Eels.'));
    const strict = world.process({ ...BOTH, mode: 'strict' });
    expect(await strict.lookup(KEY)).toMatchObject({ hit: 'store' });
    const looked = ['process', 'store'];
    expect(await strict.lookup(keyOf('two'))).toEqual({ hit: null, looked, mayCall: false });
    await strict.keep(keyOf('two'), said('Crabs.'));
    expect(world.rows.size).toBe(1);
    const alone = world.process({ ...PROCESS, mode: 'strict' });
    expect(await alone.lookup(KEY)).toEqual({ hit: null, looked: ['process'], mayCall: false });
  });

  it('CST-02 a trajectory run again is hits from end to end; from a tool that answers otherwise on, misses', async () => {
    const cache = new World().process(BOTH);
    expect(await runTrajectory(cache, () => 'Eels.')).toEqual([null, null, null]);
    expect(await runTrajectory(cache, () => 'Eels.')).toEqual(['process', 'process', 'process']);
    const second = (step: number) => (step === 2 ? 'Crabs.' : 'Eels.');
    expect(await runTrajectory(cache, second)).toEqual(['process', 'process', null]);
  });
});

describe('a store that fails', () => {
  it('CST-02 fails no call: a lookup is a miss, in strict mode too, what was kept stays in the process, and the error is told', async () => {
    const world = new World();
    await world.process(BOTH).keep(keyOf('two'), said('Crabs.'));
    world.down = true;
    const looked = ['process', 'store'];
    const cache = world.process(BOTH);
    expect(await cache.lookup(keyOf('two'))).toEqual({ hit: null, looked, mayCall: true });
    const strict = world.process({ ...BOTH, mode: 'strict' });
    expect(await strict.lookup(keyOf('two'))).toEqual({ hit: null, looked, mayCall: false });
    await cache.keep(KEY, said('Eels.'));
    expect(world.errors).toHaveLength(3);
    expect(textOf(await cache.lookup(KEY))).toBe('Eels.');
  });

  it('CST-02 counts a row that nobody can read as a miss', async () => {
    const world = new World();
    world.rows.set(`${KEY.tenant}/${KEY.digest}`, { reply: '{"content":', untilMs: world.nowMs + TTL_MS });
    const cache = world.process(BOTH);
    expect([await cache.lookup(KEY), await cache.lookup(KEY)]).toMatchObject([{ hit: null }, { hit: null }]);
    expect(world.errors).toHaveLength(2);
  });
});

describe('the replies a process holds', () => {
  it('CST-02 take no more bytes than allowed, and the least recently used goes first', async () => {
    const tally = new Tally();
    const step = fc.record({ key: fc.nat(7), keep: fc.boolean(), length: fc.integer({ min: 0, max: 120 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), async (steps) => {
        const limitBytes = 700;
        const cache = new World().process(PROCESS, limitBytes);
        // The most recently used last.
        let expected: readonly { readonly key: number; readonly text: string }[] = [];
        let evicted = 0;
        for (const { key, keep, length } of steps) {
          const known = expected.find((held) => held.key === key);
          const text = 'x'.repeat(length);
          if (keep) await cache.keep(keyOf(key), said(text));
          else expect(textOf(await cache.lookup(keyOf(key)))).toBe(known?.text ?? null);
          const used = known ?? (keep ? { key, text } : null);
          if (used === null) continue;
          expected = [...expected.filter((held) => held.key !== key), used];
          while (sum(expected.map((held) => keptBytes(held.text))) > limitBytes) {
            expected = expected.slice(1);
            evicted += 1;
          }
        }
        tally.count({
          evicted: evicted > 0,
          'several evicted': evicted > 3,
          'several held': expected.length > 2,
        });
      }),
    );
    tally.report('replies a process holds');
  });

  it('CST-02 a reply larger than all of them may be together drives none out', async () => {
    const cache = new World().process(PROCESS, 700);
    await cache.keep(KEY, said('Eels.'));
    await cache.keep(keyOf('two'), said('x'.repeat(700)));
    expect([textOf(await cache.lookup(KEY)), textOf(await cache.lookup(keyOf('two')))]).toEqual([
      'Eels.',
      null,
    ]);
  });
});

describe('the hit rate', () => {
  it('CST-02 of a hit, a miss and a strict miss is one in three', async () => {
    const world = new World();
    const [cache, strict] = [world.process(PROCESS), world.process({ ...PROCESS, mode: 'strict' })];
    const lookups = [await cache.lookup(KEY)];
    await cache.keep(KEY, said('Eels.'));
    lookups.push(await cache.lookup(KEY), await strict.lookup(KEY));
    const third = { hits: 1, misses: 2, rate: 1 / 3 };
    expect(hitRates(lookups.map(probeOf))).toEqual({
      ...third,
      byLayer: { process: third, store: { hits: 0, misses: 0, rate: null } },
    });
  });

  it('CST-02 counts a request once, and once below for each layer that was looked in', async () => {
    const world = new World();
    await world.process(BOTH).keep(KEY, said('Eels.'));
    const cache = world.process(BOTH);
    const lookups = [await cache.lookup(KEY), await cache.lookup(KEY), await cache.lookup(keyOf('two'))];
    expect(lookups.map(probeOf)).toEqual([
      { request: 'hit', layers: { process: 'miss', store: 'hit' } },
      { request: 'hit', layers: { process: 'hit' } },
      { request: 'miss', layers: { process: 'miss', store: 'miss' } },
    ]);
    expect(hitRates(lookups.map(probeOf))).toEqual({
      hits: 2,
      misses: 1,
      rate: 2 / 3,
      byLayer: {
        process: { hits: 1, misses: 2, rate: 1 / 3 },
        store: { hits: 1, misses: 1, rate: 1 / 2 },
      },
    });
  });

  it('CST-02 obeys the sums: layers hit as often as requests, the store is looked in where the process missed, parts add up', () => {
    const reply = said('Eels.');
    const lookup = fc.constantFrom<CacheLookup>(
      'not-looked',
      { hit: 'process', reply },
      { hit: 'store', reply },
      { hit: null, looked: ['process', 'store'], mayCall: true },
    );
    const some = fc.array(lookup, { maxLength: 20 });
    fc.assert(
      fc.property(some, some, (one, two) => {
        const [all, first, second] = [[...one, ...two], one, two].map((part) => hitRates(part.map(probeOf)));
        if (all === undefined || first === undefined || second === undefined) throw new Error('no rates');
        const { process, store } = all.byLayer;
        expect(process.hits + store.hits).toBe(all.hits);
        expect(store.hits + store.misses).toBe(process.misses);
        expect(store.misses).toBe(all.misses);
        expect(all.hits + all.misses).toBe([...one, ...two].filter((each) => each !== 'not-looked').length);
        expect([first.hits + second.hits, first.misses + second.misses]).toEqual([all.hits, all.misses]);
        expect(all.rate === null).toBe(all.hits + all.misses === 0);
      }),
    );
  });
});

/** Three steps: two that call a tool, and the answer. Returns what answered each. */
async function runTrajectory(cache: ResponseCache, toolResult: (step: number) => string) {
  let request: ChatRequest = {
    system: 'You read files.',
    tools: [],
    messages: [{ role: 'user', content: [{ type: 'text', text: 'What is in the files?' }] }],
    maxTokens: 900,
  };
  const hits: unknown[] = [];
  for (const step of [1, 2, 3]) {
    const leg = { tenant: 'a', provider: 'openai', endpoint: '', model: 'm-1' };
    const key = requestKey({ ...leg, request });
    const lookup = await cache.lookup(key);
    if (lookup === 'not-looked') throw new Error('the cache was not looked in');
    const id = `t1s${step}c0`;
    const call: AssistantBlock = { type: 'tool_call', id, name: 'read', args: { path: `${step}.md` } };
    const live = step < 3 ? said('', { content: [call], finish: 'tool_calls' }) : said('Eels.');
    if (lookup.hit === null) await cache.keep(key, live);
    hits.push(lookup.hit);
    const { content } = lookup.hit === null ? live : lookup.reply;
    const result = {
      type: 'tool_result',
      callId: id,
      name: 'read',
      content: toolResult(step),
      isError: false,
    } as const;
    request = {
      ...request,
      messages: [...request.messages, { role: 'assistant', content }, { role: 'user', content: [result] }],
    };
  }
  return hits;
}

function keptBytes(text: string): number {
  const { content, finish, usage, model } = said(text);
  return byteLength(JSON.stringify({ content, finish, usage, model }));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
