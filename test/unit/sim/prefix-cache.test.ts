import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatMessage } from '../../../src/context/request.ts';
import type { SimModel } from '../../../src/sim/index.ts';
import { LONG_LIFE_MS, PrefixCache, SHORT_LIFE_MS } from '../../../src/sim/prefix-cache.ts';
import { promptTokens, segmentsOf } from '../../../src/sim/prompt.ts';

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

function talk(texts: readonly string[]) {
  const messages = texts.map((text, at): ChatMessage => {
    const content = [{ type: 'text' as const, text }];
    return at % 2 === 0 ? { role: 'user', content } : { role: 'assistant', content };
  });
  return segmentsOf({ tools: [], system: ['Be brief.'], messages });
}

const texts = fc.array(fc.string({ minLength: 1, maxLength: 80 }), { minLength: 1, maxLength: 12 });

describe('the implicit cache', () => {
  it('reads exactly the whole earlier prompt when the next one only appends', () => {
    fc.assert(
      fc.property(texts, texts, (start, more) => {
        const cache = new PrefixCache(MODEL);
        const first = talk(start);
        expect(cache.implicit(first, 0).readTokens).toBe(0);
        expect(cache.implicit(talk([...start, ...more]), 1).readTokens).toBe(promptTokens(first, MODEL));
      }),
    );
  });

  it('reads nothing from the first changed block on', () => {
    fc.assert(
      fc.property(texts, fc.nat(), (start, at) => {
        const cache = new PrefixCache(MODEL);
        cache.implicit(talk(start), 0);
        const index = at % start.length;
        const changed = start.map((text, position) => (position === index ? `${text}!` : text));
        const kept = promptTokens(talk(start).slice(0, index + 1), MODEL);
        expect(cache.implicit(talk(changed), 1).readTokens).toBe(kept);
      }),
    );
  });

  it('tells two texts in one block from one text split over two', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.string({ minLength: 1 }), (left, right) => {
        const cache = new PrefixCache(MODEL);
        cache.implicit(talk([left + right]), 0);
        expect(cache.implicit(talk([left, right]), 0).readTokens).toBe(promptTokens(talk([]), MODEL));
      }),
    );
  });

  it('forgets five minutes after the last use', () => {
    const cache = new PrefixCache(MODEL);
    const prompt = talk(['one', 'two', 'three']);
    cache.implicit(prompt, 0);
    expect(cache.implicit(prompt, SHORT_LIFE_MS - 1).readTokens).toBe(promptTokens(prompt, MODEL));
    expect(cache.implicit(prompt, 2 * SHORT_LIFE_MS - 2).readTokens).toBe(promptTokens(prompt, MODEL));
    expect(cache.implicit(prompt, 3 * SHORT_LIFE_MS).readTokens).toBe(0);
  });

  it('stays bounded and drops what was used longest ago', () => {
    const cache = new PrefixCache(MODEL);
    const old = talk(['the very first']);
    cache.implicit(old, 0);
    for (let at = 0; at < 60_000; at += 1) cache.implicit(talk([`prompt ${at}`]).slice(1), 1);
    expect(cache.size).toBeLessThanOrEqual(50_000);
    expect(cache.implicit(old, 2).readTokens).toBe(0);
    expect(cache.implicit(talk(['prompt 59999']), 2).readTokens).toBeGreaterThan(0);
  });
});

describe('the explicit cache', () => {
  const BIG = 'b'.repeat(4_000);
  const marked = (segment: number, lifeMs = SHORT_LIFE_MS) => [{ segment, lifeMs }];

  it('writes only at breakpoints, and never a prefix below 1,024 tokens', () => {
    const cache = new PrefixCache(MODEL);
    const small = talk(['a'.repeat(3_000)]);
    expect(promptTokens(small, MODEL)).toBeLessThan(1_024);
    expect(cache.explicit(small, marked(1), 0)).toEqual({
      readTokens: 0,
      writtenShortTokens: 0,
      writtenLongTokens: 0,
    });
    expect(cache.size).toBe(0);
    const big = talk([BIG, 'x', 'y']);
    const tokens = promptTokens(big.slice(0, 2), MODEL);
    expect(cache.explicit(big, marked(1), 0).writtenShortTokens).toBe(tokens);
    expect(cache.size).toBe(1);
    expect(cache.explicit(talk([BIG, 'other']), marked(1), 1).readTokens).toBe(tokens);
    expect(cache.explicit(talk([BIG, 'other']), [], 1).readTokens).toBe(0);
  });

  it('looks back over twenty blocks and no further', () => {
    const more = (count: number) => talk([BIG, ...Array.from({ length: count }, (_, at) => `turn ${at}`)]);
    const tokens = promptTokens(talk([BIG]), MODEL);
    const read = (count: number) => {
      const cache = new PrefixCache(MODEL);
      cache.explicit(talk([BIG]), marked(1), 0);
      return cache.explicit(more(count), marked(count + 1), 1).readTokens;
    };
    expect(read(19)).toBe(tokens);
    expect(read(20)).toBe(0);
  });

  it('splits what it writes by life, and the long life lasts an hour', () => {
    const cache = new PrefixCache(MODEL);
    const prompt = talk([BIG, BIG]);
    const breakpoints = [
      { segment: 1, lifeMs: LONG_LIFE_MS },
      { segment: 2, lifeMs: SHORT_LIFE_MS },
    ];
    const long = promptTokens(prompt.slice(0, 2), MODEL);
    const all = promptTokens(prompt, MODEL);
    expect(cache.explicit(prompt, breakpoints, 0)).toEqual({
      readTokens: 0,
      writtenShortTokens: all - long,
      writtenLongTokens: long,
    });
    expect(cache.explicit(prompt, breakpoints, SHORT_LIFE_MS).readTokens).toBe(long);
    expect(cache.explicit(prompt, breakpoints, SHORT_LIFE_MS + LONG_LIFE_MS).readTokens).toBe(0);
  });

  it('never reports more than the prompt, whatever the breakpoints', () => {
    fc.assert(
      fc.property(texts, fc.array(fc.nat(12), { maxLength: 4 }), (start, at) => {
        const cache = new PrefixCache({ ...MODEL, tokensPerByte: 20 });
        const prompt = talk(start);
        const places = [...new Set(at.map((one) => one % prompt.length))].toSorted(
          (left, right) => left - right,
        );
        const breakpoints = places.map((segment) => ({ segment, lifeMs: SHORT_LIFE_MS }));
        for (const nowMs of [0, 1]) {
          const use = cache.explicit(prompt, breakpoints, nowMs);
          const total = use.readTokens + use.writtenShortTokens + use.writtenLongTokens;
          expect(total).toBeLessThanOrEqual(promptTokens(prompt, { ...MODEL, tokensPerByte: 20 }));
          if (nowMs === 1) expect(use.writtenShortTokens).toBe(0);
        }
      }),
    );
  });
});
