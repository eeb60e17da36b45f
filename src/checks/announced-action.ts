/** Whether a text ends on an action it announces and nothing that follows. */
import { partsOf } from './code-blocks.ts';
import type { CheckLexicon } from './lexicon/index.ts';
import {
  holdsPhrase,
  isMark,
  type Phrases,
  phraseEnd,
  phrasesOf,
  sentencesOf,
  skipWords,
} from './sentences.ts';

/** An announcement is a sentence; what stands further from the end is not looked at. */
const MAX_TAIL_CHARS = 1_000;
const QUOTE_SIGN = /^[>"“«]|["”»]$/u;

/**
 * The last sentence says in the first person what is done now or next, and is no offer, promise or quotation.
 * `isText`: the turn was asked for text, which may itself speak so; then only "now", "next" or "let me" tell.
 */
export function endsOnAnnouncedAction(text: string, isText: boolean, lexicon: CheckLexicon): boolean {
  const last = partsOf(text).at(-1);
  if (last?.kind !== 'prose') return false;
  const line = last.text.slice(-MAX_TAIL_CHARS).trim().split('\n').at(-1)?.trim() ?? '';
  if (QUOTE_SIGN.test(line)) return false;
  const sentence = sentencesOf(line).at(-1);
  if (sentence === undefined || sentence.end === '?') return false;
  const { tokens } = sentence;
  if (holdsPhrase(tokens, phrasesOf(lexicon.offerCues))) return false;
  if (isText && !holdsPhrase(tokens, phrasesOf(lexicon.urgentCues))) return false;
  const announcers = phrasesOf(lexicon.announcers);
  return tokens.some((_, at) => announcesAt(tokens, at, announcers, lexicon));
}

function announcesAt(
  tokens: readonly string[],
  at: number,
  announcers: Phrases,
  lexicon: CheckLexicon,
): boolean {
  const end = phraseEnd(tokens, at, announcers);
  if (end === null || !beginsClause(tokens, at, lexicon)) return false;
  const verb = skipWords(tokens, end, new Set(lexicon.afterAnnouncer));
  // The text broke off: "Next, I'll …"
  if (verb >= tokens.length) return true;
  return lexicon.actionVerbs.includes(tokens[verb] ?? '');
}

/** Nothing but words such as "now" and "first" stands before it. */
function beginsClause(tokens: readonly string[], at: number, lexicon: CheckLexicon): boolean {
  let start = at;
  while (start > 0 && !isMark(tokens[start - 1] ?? '')) start -= 1;
  const leadIns = phrasesOf(lexicon.leadIns);
  while (start < at) {
    const next = phraseEnd(tokens, start, leadIns);
    if (next === null || next > at) return false;
    start = next;
  }
  return true;
}
