import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readVectors } from '../../../src/providers/vectors.ts';

describe('embeddings off a wire', () => {
  it('are handed on as they came when there is one a text, all of one length', () => {
    const finite = fc.double({ noNaN: true, noDefaultInfinity: true });
    const vectors = fc
      .integer({ min: 1, max: 8 })
      .chain((length) =>
        fc.array(fc.array(finite, { minLength: length, maxLength: length }), { minLength: 1 }),
      );
    fc.assert(
      fc.property(vectors, (given) => {
        expect(readVectors(given, given.length)).toEqual(given);
      }),
    );
  });

  it.each<[string, readonly unknown[]]>([
    ['one too few', [[1]]],
    ['one too many', [[1], [1], [1]]],
    ['of two lengths', [[1], [1, 2]]],
    ['of no length', [[], []]],
    ['not of numbers', [[1], ['1']]],
    ['of numbers that are none', [[1], [Number.NaN]]],
    ['no lists', [[1], { 0: 1, length: 1 }]],
  ])('are malformed when they are %s', (_name, vectors) => {
    expect(() => readVectors(vectors, 2)).toThrow(/embeddings/);
  });
});
