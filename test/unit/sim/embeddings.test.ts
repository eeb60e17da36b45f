import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EMBEDDING_DIMENSIONS, embedText } from '../../../src/sim/embeddings.ts';

function nearness(left: string, right: string): number {
  const other = embedText(right);
  return embedText(left).reduce((sum, value, at) => sum + value * (other[at] ?? 0), 0);
}

const anyText = fc.string({ unit: 'binary', maxLength: 200 });
const word = fc.stringMatching(/^[a-z]{4,10}$/);

describe('the place of a text', () => {
  it('is a unit vector of fixed length, the same for the same text', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const vector = embedText(text);
        expect(vector).toHaveLength(EMBEDDING_DIMENSIONS);
        expect(Math.hypot(...vector)).toBeCloseTo(1, 9);
        expect(embedText(text)).toEqual(vector);
      }),
    );
  });

  it('does not hang on case, marks, punctuation or the order of words', () => {
    fc.assert(
      fc.property(fc.array(word, { minLength: 1, maxLength: 8 }), (words) => {
        const folded = embedText(words.join(' '));
        const dressed = embedText(`¡${words.toReversed().join(', ').toUpperCase()}!`);
        for (const [at, value] of folded.entries()) expect(dressed[at]).toBeCloseTo(value, 9);
      }),
    );
    expect(nearness('Crème brûlée', 'creme brulee')).toBeCloseTo(1, 9);
  });

  it('is near that of other forms of the same stems and far from that of other words', () => {
    expect(nearness('refund the payment', 'payments were refunded')).toBeGreaterThan(0.6);
    expect(nearness('refund the payment', 'glaciers melt slowly')).toBeLessThan(0.35);
    expect(nearness('book a table', 'booking tables')).toBeGreaterThan(
      nearness('book a table', 'cancel my order'),
    );
  });

  it('is a little nearer the more words are shared', () => {
    const said = 'the harbour lantern burns at night';
    const shares = ['harbour', 'harbour lantern', 'harbour lantern burns', said].map((text) =>
      nearness(said, text),
    );
    expect(shares).toEqual(shares.toSorted((left, right) => left - right));
  });
});
