import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { residueText } from '../../../src/context/evict/residue.ts';
import { type SimCall, type SimModel, type Simulator, startSimulator } from '../../../src/sim/index.ts';
import { PrefixCache, SHORT_LIFE_MS } from '../../../src/sim/prefix-cache.ts';
import { prefixTokens, promptTokens, type Segment, segmentsOf } from '../../../src/sim/prompt.ts';
import { SharedPrefixes } from '../../../src/sim/shared-prefixes.ts';
import { Tally } from '../ledger/sample.ts';

const MODEL: SimModel = {
  name: 'measured',
  window: 1_000_000,
  horizon: 1_000_000,
  tokensPerByte: 0.3,
  maxOutputTokens: 100,
  prefillTokensPerSecond: 1,
  decodeTokensPerSecond: 1,
  quantisation: 'none',
  supportsImages: false,
};
const SYSTEM = 'Be brief.';

function talk(texts: readonly string[]): readonly Segment[] {
  const messages = texts.map((text) => ({
    role: 'user' as const,
    content: [{ type: 'text' as const, text }],
  }));
  return segmentsOf({ tools: [], system: [SYSTEM], messages });
}

const bytesOf = (texts: readonly string[]): number =>
  new TextEncoder().encode([SYSTEM, ...texts].join('')).length;

/** What the two have at their start, worked out text by text. */
function commonStart(left: readonly string[], right: readonly string[]): readonly string[] {
  const end = left.findIndex((text, at) => right[at] !== text);
  return left.slice(0, end === -1 ? left.length : end);
}

/** A session: texts are added, and now and then a span of them gives way to a residue. */
const session = fc.array(
  fc.oneof(
    fc.record({ do: fc.constant('add' as const), text: fc.string({ minLength: 1, maxLength: 40 }) }),
    fc.record({
      do: fc.constant('evict' as const),
      from: fc.nat(30),
      length: fc.integer({ min: 1, max: 8 }),
    }),
    fc.constant({ do: 'other session' as const }),
  ),
  { minLength: 4, maxLength: 30 },
);

describe('the bytes a prompt shares with earlier ones', () => {
  it('LIN-03 are those of the longest start that any earlier prompt of the series had, whatever was evicted', () => {
    const tally = new Tally();
    fc.assert(
      fc.property(session, (acts) => {
        const shared = new SharedPrefixes();
        const cache = new PrefixCache(MODEL);
        const sent: (readonly string[])[] = [];
        let texts: readonly string[] = ['The first.'];
        for (const [at, act] of acts.entries()) {
          if (act.do === 'add') texts = [...texts, `${at} ${act.text}`];
          if (act.do === 'evict') {
            const from = act.from % texts.length;
            const residue = residueText({ from, to: from + act.length, note: null });
            texts = [...texts.slice(0, from), residue, ...texts.slice(from + act.length)];
          }
          if (act.do === 'other session') shared.add('other', talk([...texts, 'in another session']));
          const starts = sent.map((one) => commonStart(texts, one));
          const longest = starts.toSorted((left, right) => right.length - left.length)[0];
          const segments = talk(texts);
          const bytes = longest === undefined ? 0 : bytesOf(longest);
          expect(shared.sharedBytes('own', segments)).toBe(bytes);
          expect(cache.implicit(segments, at).readTokens).toBe(Math.ceil(bytes * MODEL.tokensPerByte));
          shared.add('own', segments);
          sent.push(texts);
          tally.count({ [act.do]: true });
        }
      }),
      { numRuns: 150 },
    );
    tally.report('prompts of sessions that evict');
  });

  it('LIN-03 of a marked cache are read up to a mark before the cut, and written anew behind it', () => {
    const cache = new PrefixCache(MODEL);
    const block = (name: string): string => `${name} ${'x'.repeat(4_000)}`;
    const first = talk([block('a'), block('b'), block('c')]);
    const marks = [0, 2, 3].map((segment) => ({ segment, lifeMs: SHORT_LIFE_MS }));
    expect(cache.explicit(first, marks, 0).writtenShortTokens).toBe(promptTokens(first, MODEL));
    const residue = residueText({ from: 3, to: 3, note: null });
    const late = talk([block('a'), block('b'), residue, block('d')]);
    const use = cache.explicit(
      late,
      [0, 3, 4].map((segment) => ({ segment, lifeMs: SHORT_LIFE_MS })),
      1,
    );
    expect(use.readTokens).toBe(prefixTokens(first[2], MODEL));
    expect(use.readTokens + use.writtenShortTokens).toBe(promptTokens(late, MODEL));
    const early = talk([residue, block('c'), block('d')]);
    const rewritten = cache.explicit(
      early,
      [0, 2, 3].map((segment) => ({ segment, lifeMs: SHORT_LIFE_MS })),
      2,
    );
    expect(rewritten.readTokens).toBe(0);
    expect(rewritten.writtenShortTokens).toBe(promptTokens(early, MODEL));
  });

  it('are forgotten for the series used longest ago, never for the one that is added to', () => {
    const shared = new SharedPrefixes(100);
    for (let at = 0; at < 60; at += 1) shared.add(`series ${at}`, talk([`text ${at}`]));
    expect(shared.size).toBeLessThanOrEqual(100);
    expect(shared.sharedBytes('series 0', talk(['text 0']))).toBe(0);
    expect(shared.sharedBytes('series 59', talk(['text 59']))).toBe(bytesOf(['text 59']));
    const long = talk(Array.from({ length: 300 }, (_, at) => `text ${at}`));
    shared.add('long', long);
    expect(shared.sharedBytes('long', long)).toBe(long.at(-1)?.endBytes);
    expect(shared.sharedBytes('series 59', talk(['text 59']))).toBe(0);
  });
});

describe('the call log', () => {
  let sim: Simulator;
  beforeEach(async () => {
    sim = await startSimulator({ seed: 3, models: [MODEL, { ...MODEL, name: 'narrow', window: 40 }] });
  });
  afterEach(() => sim.close());

  async function send(
    texts: readonly string[],
    more: { readonly [name: string]: unknown } = {},
  ): Promise<SimCall | undefined> {
    const messages = [
      { role: 'system', content: SYSTEM },
      ...texts.map((content) => ({ role: 'user', content })),
    ];
    const body = JSON.stringify({ model: MODEL.name, messages, ...more });
    const headers = { 'content-type': 'application/json' };
    await (await fetch(`${sim.url}/v1/chat/completions`, { method: 'POST', headers, body })).text();
    return sim.calls().at(-1);
  }

  it('LIN-03 tells of each call, in order, what it shares with answered calls of its session, model and wire', async () => {
    const key = { prompt_cache_key: 's1' };
    expect(await send(['one', 'two'], key)).toMatchObject({
      sessionKey: 's1',
      promptBytes: bytesOf(['one', 'two']),
      sharedBytes: 0,
    });
    expect(await send(['one', 'two', 'three'], key)).toMatchObject({ sharedBytes: bytesOf(['one', 'two']) });
    expect(await send(['one', '[gone]', 'three'], key)).toMatchObject({ sharedBytes: bytesOf(['one']) });
    expect(await send(['one', 'two', 'three', 'four'], key)).toMatchObject({
      sharedBytes: bytesOf(['one', 'two', 'three']),
    });
    expect(await send(['one', 'two'], { session_id: 's2' })).toMatchObject({
      sessionKey: 's2',
      sharedBytes: 0,
    });
    expect(await send(['one', 'two'])).toMatchObject({ sessionKey: null, sharedBytes: 0 });
    expect(await send(['one', 'two'])).toMatchObject({
      sessionKey: null,
      sharedBytes: bytesOf(['one', 'two']),
    });
  });

  it('LIN-03 does not count a call that was refused or failed as one that was sent', async () => {
    const key = { prompt_cache_key: 's1' };
    sim.setFaults([{ match: { count: 1 }, fault: { name: 'server_error' } }]);
    expect(await send(['one'], key)).toMatchObject({ status: 500, sharedBytes: 0 });
    expect(await send(['one'], key)).toMatchObject({ status: 200, sharedBytes: 0 });
    expect(await send(['one'], key)).toMatchObject({ status: 200, sharedBytes: bytesOf(['one']) });
    const long = 'x'.repeat(400);
    for (let again = 0; again < 2; again += 1)
      expect(await send([long], { ...key, model: 'narrow' })).toMatchObject({
        status: 400,
        promptBytes: bytesOf([long]),
        sharedBytes: 0,
      });
  });
});
