/** The words a directive is read by, one language at a time, and the digest that ties them to the resolver's version. */
import { blake3Hex } from '../../ledger/chain.ts';
import { canonicalJson } from '../../ledger/json.ts';
import { LIGHT_EN, OBJECTS_EN, OPENINGS_EN, WITHIN_EN } from './en-acts.ts';
import { AXES_EN } from './en-axes.ts';
import { FORMS_EN } from './en-forms.ts';
import { GRAMMAR_EN } from './en-grammar.ts';
import { LIVE_EN } from './en-live.ts';
import { STRAND_WORDS_EN } from './strands-en.ts';

/** Of the rules and the word lists together: a change of either that changes a reading takes the next number. */
export const RESOLVER_VERSION = 1;

/** Lists as they are written, parted by commas, become lists of phrases. */
type Listed<Text> = Text extends string
  ? readonly string[]
  : { readonly [Name in keyof Text]: Listed<Text[Name]> };

const EN_TEXT = {
  grammar: GRAMMAR_EN,
  openings: OPENINGS_EN,
  within: WITHIN_EN,
  objects: OBJECTS_EN,
  light: LIGHT_EN,
  axes: AXES_EN,
  live: LIVE_EN,
  forms: FORMS_EN,
} as const;

/** Phrases in lower case; in an opening, `*` stands for a word, `*ing` and `*s` for its ending, `#` for a figure. */
export type Lexicon = Listed<typeof EN_TEXT> & {
  readonly language: string;
  /** Of another make: the lists that part a directive into strands. */
  readonly strands: typeof STRAND_WORDS_EN;
};

const EN: Lexicon = { ...listed(EN_TEXT), language: 'en', strands: STRAND_WORDS_EN };
const BY_LANGUAGE: ReadonlyMap<string, Lexicon> = new Map([[EN.language, EN]]);

/** The lexicon of a locale's language (`en-GB`: `en`); English for one that has none, and for null. */
export function lexiconFor(locale: string | null): Lexicon {
  const language = (locale ?? '').split(/[-_]/u, 1)[0]?.toLowerCase() ?? '';
  return BY_LANGUAGE.get(language) ?? EN;
}

/** Hex of 32 bytes over every list; the way the source is laid out does not matter. */
export function lexiconDigest(lexicon: Lexicon): string {
  return blake3Hex(canonicalJson(lexicon));
}

function listed<Text>(text: Text): Listed<Text> {
  if (typeof text === 'string') return phrasesOf(text) as Listed<Text>;
  const entries = Object.entries(text as Record<string, unknown>);
  return Object.fromEntries(entries.map(([name, inner]) => [name, listed(inner)])) as Listed<Text>;
}

function phrasesOf(list: string): readonly string[] {
  return list
    .split(',')
    .map((phrase) => phrase.trim().replace(/\s+/gu, ' '))
    .filter((phrase) => phrase !== '');
}
