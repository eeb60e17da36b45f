import { describe, expect, it } from 'vitest';
import {
  type Lexicon,
  lexiconDigest,
  lexiconFor,
  RESOLVER_VERSION,
} from '../../../src/intent/lexicon/index.ts';
import { ACTS } from '../../../src/ledger/reading.ts';

/** One row for each version ever released; rows are added, never changed. */
const DIGESTS: Readonly<Record<number, string>> = {
  1: 'e009a77fe71934d8c327fa123a56566a3d2d3eaaa199ca66d76af5e624304dd7',
};

describe('the lexicon', () => {
  it('INT-01 F45 stands as its version says: a changed list takes a new version', () => {
    expect(
      lexiconDigest(lexiconFor(null)),
      'A word list changed. Raise RESOLVER_VERSION in src/intent/lexicon/index.ts and add a row with the new digest here.',
    ).toBe(DIGESTS[RESOLVER_VERSION]);
    expect(Math.max(...Object.keys(DIGESTS).map(Number))).toBe(RESOLVER_VERSION);
  });

  it('INT-01 F45 has another digest when any one of its lists has another word', () => {
    const lexicon = lexiconFor(null);
    const digest = lexiconDigest(lexicon);
    const changed: readonly Lexicon[] = [
      { ...lexicon, light: [...lexicon.light, 'frobnicate'] },
      { ...lexicon, live: { ...lexicon.live, local: lexicon.live.local.slice(1) } },
      { ...lexicon, strands: { ...lexicon.strands, sequence: 'x' as typeof lexicon.strands.sequence } },
    ];
    for (const other of changed) expect(lexiconDigest(other)).not.toBe(digest);
    expect(lexiconDigest({ ...lexicon })).toBe(digest);
  });

  it('INT-01 picks the lists by the language of a locale, English for any other', () => {
    for (const locale of ['en', 'en-GB', 'EN_us', 'de-DE', '', 'xx', null])
      expect(lexiconFor(locale).language).toBe('en');
  });

  it('INT-01 opens no request of two acts with one phrase', () => {
    const { openings } = lexiconFor(null);
    const actsOf = new Map<string, string[]>();
    for (const act of ACTS)
      for (const phrase of [...openings[act].strong, ...openings[act].fair])
        actsOf.set(phrase, [...(actsOf.get(phrase) ?? []), act]);
    const shared = [...actsOf].filter(([, acts]) => new Set(acts).size > 1);
    expect(shared).toEqual([]);
  });

  it('INT-01 writes every phrase as it is compared: lower case, single spaces, nothing empty', () => {
    const { strands: _, ...lists } = lexiconFor(null);
    let phrases = 0;
    const walk = (value: unknown): void => {
      if (Array.isArray(value)) {
        for (const phrase of value as readonly string[]) {
          expect(phrase).toBe(phrase.toLowerCase().trim().replace(/\s+/gu, ' '));
          expect(phrase).not.toBe('');
          phrases += 1;
        }
      } else if (typeof value === 'object' && value !== null) Object.values(value).forEach(walk);
    };
    walk(lists);
    expect(phrases).toBeGreaterThan(1_000);
  });
});
