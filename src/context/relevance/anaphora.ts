/** Whether a directive points back at what was said or done before it. */
import { askedPart } from './terms.ts';

const SINGLE_CUES: ReadonlySet<string> = new Set(['that', 'it', 'again', 'previous', 'above', 'continue']);
/** Cues of two words, by the first. */
const DOUBLE_CUES: ReadonlyMap<string, string> = new Map([
  ['the', 'same'],
  ['this', 'one'],
]);
const ORDINALS: ReadonlySet<string> = new Set(
  `first second third fourth fifth sixth seventh eighth ninth tenth 1st 2nd 3rd 4th 5th 6th 7th 8th 9th 10th last
  latter former other`.split(/\s+/),
);
/** After an ordinal these leave open what is counted: "the first of", "the second one and". */
const OPEN_AFTER_ORDINAL: ReadonlySet<string> = new Set(
  'one ones of and or but is was are were in on for with to as then too instead please'.split(' '),
);
const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu;
/** Stands for whatever ends a clause, between the words around it. */
const CLAUSE_END = '';
const ENDS_CLAUSE = /[.,;:!?…\n]/u;

export function refersBack(text: string): boolean {
  let last = CLAUSE_END;
  let beforeLast = CLAUSE_END;
  for (const word of clausesOf(askedPart(text))) {
    if (SINGLE_CUES.has(word) || DOUBLE_CUES.get(last) === word) return true;
    if (isOpenOrdinal(beforeLast, last, word)) return true;
    beforeLast = last;
    last = word;
  }
  return isOpenOrdinal(beforeLast, last, CLAUSE_END);
}

/** "The second", and nothing behind it that says of what. */
function isOpenOrdinal(article: string, ordinal: string, next: string): boolean {
  if (article !== 'the' || !ORDINALS.has(ordinal)) return false;
  return next === CLAUSE_END || OPEN_AFTER_ORDINAL.has(next);
}

function* clausesOf(text: string): Generator<string> {
  let end = 0;
  for (const match of text.matchAll(WORD)) {
    if (ENDS_CLAUSE.test(text.slice(end, match.index))) yield CLAUSE_END;
    yield match[0].toLowerCase();
    end = match.index + match[0].length;
  }
  if (ENDS_CLAUSE.test(text.slice(end))) yield CLAUSE_END;
}
