/** Whether a reply states as current what nothing in its turn looked at. */
import type { Reading } from '../ledger/reading.ts';
import { asksBack } from './asks-back.ts';
import type { CheckLexicon } from './lexicon/index.ts';
import { isMark, type Phrases, phraseEnd, phrasesOf, sentencesOf, skipWords } from './sentences.ts';

/** How far a noun of knowing may stand behind "do not have". */
const LACK_REACH_WORDS = 6;
/** How far back the one who speaks is looked for. */
const SPEAKER_REACH_WORDS = 12;

/**
 * `observed`: a call of this turn that sees the world as it is now succeeded. `text` null asks about a card call,
 * which nothing but an observation excuses; a text may also say that there is no such data, or ask back.
 */
export function isStale(
  given: { readonly reading: Reading | null; readonly observed: boolean; readonly text: string | null },
  lexicon: CheckLexicon,
): boolean {
  const { reading, observed, text } = given;
  if (observed || reading === null || !reading.domains.includes('live-data')) return false;
  if (text === null) return true;
  return text.trim() !== '' && !isHonestNoData(text, lexicon) && !asksBack(text);
}

/** Says that what was asked for is not known, was not found or cannot be reached. */
export function isHonestNoData(text: string, lexicon: CheckLexicon): boolean {
  const words = noDataWords(lexicon);
  return sentencesOf(text).some(({ tokens }) =>
    tokens.some(
      (token, at) =>
        phraseEnd(tokens, at, words.phrases) !== null ||
        (token === 'no' && words.data.has(tokens[skipWords(tokens, at + 1, words.currency)] ?? '')) ||
        lacks(tokens, at, words) ||
        failsToFind(tokens, at, words) ||
        doesNotKnow(tokens, at, words) ||
        isUnavailable(tokens, at, words),
    ),
  );
}

type NoDataWords = ReturnType<typeof noDataWords>;

function noDataWords(lexicon: CheckLexicon) {
  return {
    phrases: phrasesOf(lexicon.noDataPhrases),
    lackOpeners: phrasesOf(lexicon.lackOpeners),
    unableOpeners: phrasesOf(lexicon.unableOpeners),
    negations: phrasesOf(lexicon.plainNegations),
    unavailable: phrasesOf(lexicon.unavailable),
    find: new Set(lexicon.findVerbs),
    know: new Set(lexicon.knowVerbs),
    found: new Set(lexicon.foundForms),
    data: new Set(lexicon.dataNouns),
    currency: new Set(lexicon.currencyWords),
    current: new Set(lexicon.currentWords),
    adverbs: new Set(lexicon.adverbs),
    speakers: new Set(lexicon.speakers),
  } as const;
}

function lacks(tokens: readonly string[], at: number, words: NoDataWords): boolean {
  const end = phraseEnd(tokens, at, words.lackOpeners);
  // "I don't have to …" lacks nothing.
  if (end === null || tokens[end] === 'to' || !speaks(tokens, at, words)) return false;
  for (const token of tokens.slice(end, end + LACK_REACH_WORDS)) {
    if (isMark(token)) return false;
    if (words.data.has(token) || words.current.has(token)) return true;
  }
  return false;
}

function failsToFind(tokens: readonly string[], at: number, words: NoDataWords): boolean {
  const verb = verbBehind(tokens, at, words.unableOpeners, words);
  if (verb === null) return false;
  if (tokens[verb] === 'be') return words.found.has(tokens[skipWords(tokens, verb + 1, words.adverbs)] ?? '');
  return words.find.has(tokens[verb] ?? '') && speaks(tokens, at, words);
}

function doesNotKnow(tokens: readonly string[], at: number, words: NoDataWords): boolean {
  const verb = verbBehind(tokens, at, words.negations, words);
  return verb !== null && words.know.has(tokens[verb] ?? '') && speaks(tokens, at, words);
}

function isUnavailable(tokens: readonly string[], at: number, words: NoDataWords): boolean {
  if (phraseEnd(tokens, at, words.unavailable) === null) return false;
  const near = tokens.slice(Math.max(0, at - SPEAKER_REACH_WORDS), at + SPEAKER_REACH_WORDS);
  return near.some((token) => words.data.has(token) || words.current.has(token));
}

/** Where the word behind the phrase and its adverbs stands; null where the phrase does not begin at `at`. */
function verbBehind(
  tokens: readonly string[],
  at: number,
  phrases: Phrases,
  { adverbs }: NoDataWords,
): number | null {
  const end = phraseEnd(tokens, at, phrases);
  return end === null ? null : skipWords(tokens, end, adverbs);
}

function speaks(tokens: readonly string[], at: number, { speakers }: NoDataWords): boolean {
  const before = tokens.slice(Math.max(0, at - SPEAKER_REACH_WORDS), at);
  return before.length === 0 || before.some((token) => speakers.has(token));
}
