import { describe, expect, it } from 'vitest';
import { refersBack } from '../../../src/context/relevance/anaphora.ts';

describe('pointing back', () => {
  it.each([
    'do that again',
    'make it shorter',
    'Continue.',
    'the same for Lisbon',
    'use the previous figure',
    'as above',
    'is this one cheaper?',
    'tell me about the second one',
    'open the first',
    'the last one, please',
    'what about the 2nd?',
    'and the latter',
  ])('PLN-01 F12 is seen in "%s"', (text) => {
    expect(refersBack(text)).toBe(true);
  });

  it.each([
    'list every item',
    'which hat fits',
    'against the tide',
    'who was the first president',
    'the second law of motion',
    'this is onerous',
    'one first, then',
    'aboveboard and continued',
    '',
  ])('PLN-01 is not seen in "%s"', (text) => {
    expect(refersBack(text)).toBe(false);
  });

  it('reads a long paste at its two ends', () => {
    const paste = 'copper glacier\n'.repeat(400_000);
    expect(refersBack(paste)).toBe(false);
    expect(refersBack(`${paste} do it`)).toBe(true);
  });
});
