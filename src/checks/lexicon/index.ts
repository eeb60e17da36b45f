/**
 * Words the checks go by, for a language. A reply was judged by the lists of a version, so a list changes only
 * together with the version.
 */
import { blake3Hex } from '../../ledger/chain.ts';
import { canonicalJson } from '../../ledger/json.ts';
import { CHECK_WORDS_EN } from './en.ts';

export const CHECK_LEXICON_VERSION = 1;

/** Lists of words and phrases by what they tell; `en.ts` says it of each. */
export type CheckLexicon = { readonly [List in keyof typeof CHECK_WORDS_EN]: readonly string[] };

const ENGLISH = lexiconOf(CHECK_WORDS_EN);

/** `locale` is a BCP 47 tag. English is the only language so far, and stands in for the others. */
export function checkLexiconFor(_locale: string | null): CheckLexicon {
  return ENGLISH;
}

/** blake3 of the lists' canonical JSON, in hex. */
export function checkLexiconDigest(lexicon: CheckLexicon): string {
  return blake3Hex(canonicalJson(lexicon));
}

function lexiconOf(words: typeof CHECK_WORDS_EN): CheckLexicon {
  const lists = Object.entries(words).map(([list, phrases]) => [list, phrasesIn(phrases)]);
  return Object.fromEntries(lists) as CheckLexicon;
}

function phrasesIn(list: string): readonly string[] {
  return list.split('|').map((phrase) => phrase.trim().replaceAll(/\s+/gu, ' '));
}
