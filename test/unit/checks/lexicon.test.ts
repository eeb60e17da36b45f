import { describe, expect, it } from 'vitest';
import {
  CHECK_LEXICON_VERSION,
  checkLexiconDigest,
  checkLexiconFor,
} from '../../../src/checks/lexicon/index.ts';
import { sentencesOf } from '../../../src/checks/sentences.ts';

/** A new version gets a new line; a line that stands is never changed. */
const DIGESTS: Readonly<Record<number, string>> = {
  1: 'ab5e3b0ce3d6f54daa1d5d834f1e418ca90284571e063f84235a164e91154499',
};

describe('the words of the checks', () => {
  it('F45 the lists change only together with their version', () => {
    const hint = 'A list changed: count CHECK_LEXICON_VERSION up and add the digest of the new version here.';
    expect(checkLexiconDigest(checkLexiconFor(null)), hint).toBe(DIGESTS[CHECK_LEXICON_VERSION]);
  });

  it('serves every locale, with English where a language has no lists', () => {
    expect(checkLexiconFor('en-GB')).toBe(checkLexiconFor(null));
    expect(checkLexiconFor('hi-IN')).toBe(checkLexiconFor(null));
  });

  it('holds every phrase as the reader of sentences writes it, and none twice', () => {
    for (const [list, phrases] of Object.entries(checkLexiconFor(null))) {
      expect(new Set(phrases).size, list).toBe(phrases.length);
      for (const phrase of phrases) {
        const words = sentencesOf(phrase).flatMap(({ tokens }) => tokens);
        expect(words.join(' '), list).toBe(phrase);
      }
    }
  });

  it('CHK-04 has about forty words that name no topic', () => {
    const { topicStopwords } = checkLexiconFor(null);
    expect(topicStopwords.length).toBeGreaterThan(30);
    expect(topicStopwords.length).toBeLessThan(60);
  });
});
