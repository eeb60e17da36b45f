import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { searchTurns } from '../../../src/context/relevance/search.ts';
import { queryTerms, wordHash } from '../../../src/context/relevance/terms.ts';
import { Tally } from '../ledger/sample.ts';
import { indexOf, type TurnSpec, turnSpec } from './plan-sample.ts';

const asking = (...asked: readonly string[]): readonly TurnSpec[] => asked.map((text) => ({ asked: text }));
const ranked = (turns: readonly TurnSpec[], text: string) =>
  searchTurns(indexOf(turns), text, 20).map(({ number }) => number);

/** BM25 as the literature has it, over plain words, computed the slow way; the act is a word of each turn. */
function bm25(documents: readonly (readonly string[])[], query: readonly string[]): readonly number[] {
  const scores = documents.map((words) =>
    query.reduce((sum, word) => {
      const has = documents.filter((other) => other.includes(word)).length;
      const idf = Math.log(1 + (documents.length - has + 0.5) / (has + 0.5));
      const times = words.filter((other) => other === word).length;
      return sum + (idf * times * 2.2) / (times + 1.2 * (0.25 + (0.75 * (words.length + 1)) / 100));
    }, 0),
  );
  const best = Math.max(...scores, Number.MIN_VALUE);
  return scores.map((score) => score / best);
}

describe('the index of closed turns', () => {
  it('PLN-01 scores as BM25 with k1 1.2, b 0.75 and an average length of 100, the best match being 1', () => {
    const tally = new Tally();
    const word = fc.constantFrom('copper', 'tariff', 'violin', 'glacier');
    const few = fc.array(fc.array(word, { maxLength: 30 }), { minLength: 1, maxLength: 20 });
    const documents = fc
      .tuple(few, fc.constantFrom(1, 1, 1, 40))
      .map(([made, times]) => Array.from({ length: times }, () => made).flat());
    fc.assert(
      fc.property(documents, word, word, (made, one, other) => {
        const index = indexOf(made.map((words) => ({ narration: words.join(' ') })));
        const { relevance } = index.score(queryTerms(`${one} ${other}`));
        const wanted = bm25(made, [...new Set([one, other])]);
        expect(relevance.length).toBe(made.length);
        for (const [at, score] of relevance.entries()) expect(score).toBeCloseTo(wanted[at] ?? 0, 10);
        tally.count({
          'nothing matches': !made.some((words) => words.includes(one) || words.includes(other)),
          'more than a block': made.length > 256,
        });
      }),
      { numRuns: 300 },
    );
    tally.report('scores');
  });

  it('PLN-01 puts a name before a plain word, and words that stand together before words that do not', () => {
    const others = asking('violin', 'glacier', 'orchid', 'harbour');
    expect(ranked([...asking('copper', 'Lisbon'), ...others], 'copper of Lisbon')[0]).toBe(2);
    const apart = asking('copper glacier price', 'copper price glacier');
    expect(ranked([...apart, ...others], 'copper price')).toEqual([2, 1]);
  });

  it('F12 matches no generic words: they are neither indexed nor asked for', () => {
    expect(ranked(asking('reply three times', 'define a number'), 'reply with the number of times')).toEqual(
      [],
    );
  });

  it('keeps turns by ascending numbers with gaps, and refuses one that is not newer', () => {
    const index = indexOf([{ number: 3 }, { number: 9, full: 7, card: 5 }, { number: 57 }]);
    expect([index.count, index.first, index.last]).toEqual([3, 3, 57]);
    expect([
      index.positionOf(9),
      index.positionOf(10),
      index.positionAfter(9),
      index.positionAfter(99),
    ]).toEqual([1, -1, 2, 3]);
    expect([index.numberAt(2), index.fullBytesAt(1), index.cardBytesAt(1)]).toEqual([57, 7, 5]);
    const again = { number: 57, fullBytes: 1, cardBytes: 1, terms: new Uint8Array(), links: [] };
    expect(() => index.append(again)).toThrow(RangeError);
  });

  it('PLN-01 gives one turn the same match however the turns are spread over blocks', () => {
    const many = Array.from({ length: 600 }, (_, at) => ({
      asked: at === 300 ? 'orchid glacier' : 'violin',
    }));
    const index = indexOf(many);
    expect(searchTurns(index, 'orchid', 5)).toEqual([{ number: 301, score: 1 }]);
    expect(index.holds(300, wordHash('glacier'))).toBe(true);
    expect(index.holds(299, wordHash('glacier'))).toBe(false);
    expect(index.holds(600, wordHash('glacier'))).toBe(false);
    expect(index.approximateBytes).toBeGreaterThan(600 * 5);
    expect(index.approximateBytes).toBeGreaterThan(indexOf(many.slice(0, 300)).approximateBytes);
  });

  it('finds by words best first, newest first among equals, no more than asked for, and nothing without a match', () => {
    fc.assert(
      fc.property(fc.array(turnSpec, { maxLength: 20 }), fc.nat({ max: 5 }), (turns, limit) => {
        const index = indexOf(turns);
        const found = searchTurns(index, 'copper Lisbon violin', limit);
        expect(found.length).toBeLessThanOrEqual(limit);
        for (const [at, { number, score }] of found.entries()) {
          expect(score).toBeGreaterThan(0);
          const before = found[at - 1];
          if (before === undefined) expect(score).toBe(1);
          else expect(before.score > score || (before.score === score && before.number > number)).toBe(true);
        }
      }),
    );
    expect(ranked(asking('copper', 'violin', 'copper'), 'copper')).toEqual([3, 1]);
  });
});
