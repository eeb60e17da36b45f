import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decodeTerms,
  encodeTerms,
  isPair,
  pairHash,
  queryTerms,
  termsOfCard,
  wordHash,
} from '../../../src/context/relevance/terms.ts';
import { normalised, wordsOf } from '../../../src/context/relevance/words.ts';
import { Tally } from '../ledger/sample.ts';
import { cardOf } from './plan-sample.ts';

const formsOf = (text: string) => wordsOf(normalised(text)).map(({ form }) => form);
const has = (encoded: Uint8Array, hash: number) => decodeTerms(encoded).hashes.includes(hash);
const entities = (text: string, candidates: readonly string[]) => {
  const { hashes, weights } = queryTerms(text);
  return candidates.filter((word) => weights[hashes.indexOf(wordHash(word))] === 4);
};

describe('words of a text', () => {
  it('PLN-01 keeps combining marks, folds compatibility forms and case, and takes any script', () => {
    expect(formsOf('Cafe\u0301 हिन्दी ﬁle ΑΘΗΝΑ')).toEqual(['café', 'हिन्दी', 'file', 'αθηνα']);
    expect(formsOf('北京天气')).toEqual(['北京', '京天', '天气']);
  });

  it('PLN-01 gives a name whole and in its parts', () => {
    expect(formsOf('call read_file on src/parser/main.ts.')).toEqual([
      'read_file',
      'read',
      'file',
      'src/parser/main.ts',
      'src',
      'parser',
      'main',
      'ts',
    ]);
  });

  it('PLN-01 leaves out articles, questions, times and generic instructions, in the plural too', () => {
    expect(
      formsOf('What is this the number of times to reply, define or make one today? Numbers, lines'),
    ).toEqual([]);
    expect(formsOf('prices')).toEqual(formsOf('price'));
  });

  it('reads millions of characters of one run, or of quotes, in one pass', () => {
    for (const unit of ['a', '/', '"', '“', '. ', '_-'])
      expect(queryTerms(unit.repeat(2_000_000)).subjects).toBeLessThanOrEqual(1);
    expect(formsOf('a'.repeat(5_000_000))).toEqual([]);
  });
});

describe('terms of a card', () => {
  it('PLN-01 takes in every field that tells a turn, and adjacent words of what was asked and of titles', () => {
    const encoded = termsOfCard(
      cardOf({
        asked: 'the copper price',
        narration: 'it rose sharply',
        did: [{ tool: 'web_search', args: '{"q":"smelter"}', evidence: 'e1', shape: 'text' }],
        presentations: [
          { id: 'p1', type: 'metric', title: 'London close', digest: 'nine thousand', derivedFrom: [] },
        ],
        domains: ['finance'],
      }),
    );
    const found = ['copper', 'price', 'rose', 'web_search', 'smelter', 'london', 'thousand', 'finance'];
    for (const word of found) expect([word, has(encoded, wordHash(word))]).toEqual([word, true]);
    expect(has(encoded, pairHash('copper', 'price'))).toBe(true);
    expect(has(encoded, pairHash('london', 'close'))).toBe(true);
    expect(has(encoded, pairHash('rose', 'sharply'))).toBe(false);
    expect(has(encoded, wordHash('the'))).toBe(false);
  });

  it('PLN-01 encodes hashes in order with their counts, and reads them back without a copy', () => {
    const tally = new Tally();
    const hash = fc.integer({ min: 0, max: 0xffffffff });
    const count = fc.integer({ min: 1, max: 400 });
    fc.assert(
      fc.property(fc.array(fc.tuple(hash, count), { maxLength: 50 }), fc.nat({ max: 3 }), (made, offset) => {
        const counts = new Map(made);
        const encoded = encodeTerms(counts);
        const held = new Uint8Array(encoded.length + offset);
        held.set(encoded, offset);
        const { hashes, counts: read } = decodeTerms(held.subarray(offset));
        expect([...hashes]).toEqual([...counts.keys()].sort((one, other) => one - other));
        for (const [at, key] of hashes.entries()) expect(read[at]).toBe(Math.min(255, counts.get(key) ?? 0));
        if (offset === 0) expect(hashes.buffer).toBe(held.buffer);
        tally.count({
          capped: made.some(([, times]) => times > 255),
          'off a word boundary': offset > 0,
          empty: made.length === 0,
        });
      }),
    );
    tally.report('encoded terms');
    expect(() => decodeTerms(new Uint8Array(7))).toThrow(RangeError);
  });
});

describe('terms of what is asked', () => {
  it('PLN-01 weighs figures, files, capitals inside a sentence and quotations four times', () => {
    const text = 'Compare copper in Lisbon with q42, notes.md and "spot market"';
    const words = ['copper', 'lisbon', 'q42', 'notes.md', 'spot', 'market', 'compare'];
    expect(entities(text, words)).toEqual(['lisbon', 'q42', 'notes.md', 'spot', 'market']);
    expect(entities('COPPER IN LISBON', ['copper', 'lisbon'])).toEqual([]);
  });

  it('PLN-01 has each term once, subject words first, and pairs that no sentence end divides', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 80 }), (text) => {
        const { hashes, weights, telling, subjects } = queryTerms(text, { act: 'answer', domains: ['web'] });
        expect(new Set(hashes).size).toBe(hashes.length);
        expect([weights.length, telling.length]).toEqual([hashes.length, hashes.length]);
        expect([...hashes.subarray(0, subjects)].some(isPair)).toBe(false);
      }),
    );
    const pairs = [...queryTerms('copper price. tariff').hashes].filter(isPair);
    expect(pairs).toEqual([pairHash('copper', 'price')]);
  });
});
