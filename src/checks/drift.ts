/** Whether an answer is an earlier turn's, word for word. */
import { isHonestNoData } from './freshness.ts';
import { type CheckLexicon, checkLexiconFor } from './lexicon/index.ts';
import { wordsOf } from './words.ts';

/** Shorter answers, such as "Yes, it is.", are given twice in good faith. */
const LEAST_WORDS = 5;

export function isRepeatOf(
  given: { readonly text: string; readonly directive: string },
  earlier: { readonly answer: string; readonly asked: string; readonly sameThread: boolean },
  lexicon: CheckLexicon = checkLexiconFor(null),
): boolean {
  const text = given.text.trim();
  if (earlier.sameThread || text !== earlier.answer.trim() || !hasWords(text, LEAST_WORDS)) return false;
  return !asksTheSame(given.directive, earlier.asked) && !isHonestNoData(text, lexicon);
}

function hasWords(text: string, least: number): boolean {
  let count = 0;
  for (const _ of wordsOf(text)) {
    count += 1;
    if (count === least) return true;
  }
  return false;
}

/** Case, punctuation and white space aside. */
function asksTheSame(directive: string, earlier: string): boolean {
  if (directive === earlier) return true;
  const words = wordsOf(directive);
  for (const word of wordsOf(earlier)) if (words.next().value !== word) return false;
  return words.next().done === true;
}
