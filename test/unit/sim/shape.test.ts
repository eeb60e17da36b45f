import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatMessage } from '../../../src/context/request.ts';
import { DEFAULT_SIM_MODELS, type SimModel } from '../../../src/sim/index.ts';
import { promptTokens, segmentsOf } from '../../../src/sim/prompt.ts';
import { draw } from '../../../src/sim/random.ts';
import { breakArguments, fitReply } from '../../../src/sim/shape.ts';
import { truncateToContext } from '../../../src/sim/truncation.ts';
import { pieces } from '../../../src/sim/wires/contract.ts';

const [SMALL] = DEFAULT_SIM_MODELS;
if (SMALL === undefined) throw new Error('there is no default model');
const MODEL: SimModel = { ...SMALL, tokensPerByte: 0.5 };

const anyText = fc.string({ unit: 'binary', maxLength: 300 });

describe('fitting a reply to its limit', () => {
  it('keeps a reply that fits and cuts a longer one without breaking a character', () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 1, max: 80 }), (text, limit) => {
        const fitted = fitReply({ thinking: null, text, calls: [] }, limit, MODEL);
        expect(text.startsWith(fitted.reply.text)).toBe(true);
        expect(fitted.outputTokens).toBeLessThanOrEqual(limit);
        expect(fitted.finish).toBe(fitted.reply.text === text ? 'stop' : 'length');
        if (Buffer.byteLength(text) <= limit * 2) expect(fitted.finish).toBe('stop');
      }),
    );
  });

  it('spends thinking first and leaves out calls that no longer fit', () => {
    const reply = { thinking: 't'.repeat(10), text: '', calls: [{ name: 'go', argsText: '{"far":true}' }] };
    expect(fitReply(reply, 100, MODEL)).toMatchObject({ finish: 'tool_calls', thinkingTokens: 5 });
    expect(fitReply(reply, 8, MODEL).reply.calls).toEqual([{ name: 'go', argsText: '{"fa' }]);
    expect(fitReply(reply, 6, MODEL)).toMatchObject({ finish: 'length', reply: { calls: [] } });
  });
});

describe('breaking arguments', () => {
  it('leaves no call whose arguments parse, whatever they were', () => {
    fc.assert(
      fc.property(fc.json(), (argsText) => {
        const [call] = breakArguments(
          { thinking: null, text: '', calls: [{ name: 'go', argsText }] },
          [],
        ).calls;
        expect(() => JSON.parse(call?.argsText ?? '{}')).toThrow(SyntaxError);
      }),
    );
  });
});

describe('deltas', () => {
  it('join to the text and split no character', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const parts = pieces(text);
        expect(parts.join('')).toBe(text);
        for (const part of parts) expect(part.isWellFormed()).toBe(true);
      }),
    );
  });
});

describe('the silent cut of a prompt', () => {
  const texts = fc.array(fc.string({ maxLength: 400 }), { minLength: 1, maxLength: 10 });

  it('always fits, keeps system and the newest messages whole, and cuts nothing that fits', () => {
    fc.assert(
      fc.property(texts, fc.integer({ min: 20, max: 400 }), (all, contextTokens) => {
        const messages = all.map(
          (text): ChatMessage => ({ role: 'user', content: [{ type: 'text', text }] }),
        );
        const prompt = { tools: [], system: ['Brief.'], messages };
        const cut = truncateToContext(prompt, contextTokens, MODEL);
        expect(promptTokens(segmentsOf(cut), MODEL)).toBeLessThanOrEqual(contextTokens);
        expect(cut.system).toEqual(prompt.system);
        const kept = cut.messages.length;
        expect(kept).toBeGreaterThan(0);
        if (kept > 1) expect(cut.messages).toEqual(messages.slice(-kept));
        const oneMore = { ...prompt, messages: messages.slice(-kept - 1) };
        if (kept < messages.length)
          expect(promptTokens(segmentsOf(oneMore), MODEL)).toBeGreaterThan(contextTokens);
      }),
    );
  });
});

describe('drawing', () => {
  it('is a function of seed and words, spread evenly over [0, 1)', () => {
    const drawn = Array.from({ length: 4_000 }, (_, at) => draw(5, 'word', at));
    expect(drawn).toEqual(Array.from({ length: 4_000 }, (_, at) => draw(5, 'word', at)));
    for (let bucket = 0; bucket < 10; bucket += 1) {
      const share = drawn.filter((one) => Math.floor(one * 10) === bucket).length / drawn.length;
      expect(share).toBeGreaterThan(0.07);
      expect(share).toBeLessThan(0.13);
    }
    expect(draw(6, 'word', 1)).not.toBe(draw(5, 'word', 1));
    expect(draw(5, 'a', 'bc')).not.toBe(draw(5, 'ab', 'c'));
  });
});
