/** A text in short. What stands for the rest is always one recall away: a card names its turn, a digest its evidence. */
import { countChars } from './evidence/window.ts';

const SENTENCE_END = /[.!?](?=["'”’)\]]*(?:\s|$))/u;
/** No word, path or address of a text that people wrote is longer; what is, is encoded data. */
const WORD_CHARS = 400;
const LONG_WORD = new RegExp(`\\S{${WORD_CHARS + 1},}`, 'gu');

/**
 * The whole text up to `words` words. A longer one by its first sentence, or its first line where that ends sooner;
 * one whose first sentence is longer still, by its first words and a sign that it goes on.
 */
export function firstSentence(text: string, words: number): string {
  const trimmed = text
    .trim()
    .replace(LONG_WORD, (word) => `[${countChars(word)} characters without a space]`);
  if (wordsEnd(trimmed, words) === trimmed.length) return trimmed;
  const newline = trimmed.indexOf('\n');
  const line = newline === -1 ? trimmed : trimmed.slice(0, newline);
  const end = SENTENCE_END.exec(line);
  const sentence = end === null ? line : line.slice(0, end.index + 1);
  const at = wordsEnd(sentence, words);
  return at === sentence.length ? sentence.trim() : `${sentence.slice(0, at)} …`;
}

/** Where the first `words` words end; the text's end when it has no more. */
function wordsEnd(text: string, words: number): number {
  const word = /\S+/gu;
  let end = text.length;
  for (let count = 0; count < words; count++) {
    if (word.exec(text) === null) return text.length;
    end = word.lastIndex;
  }
  return text.slice(end).trim() === '' ? text.length : end;
}
