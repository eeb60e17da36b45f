import { sentencesOf } from './sentences.ts';

const DIGIT = /\p{Nd}/u;

/** A text of questions alone that states no figure asks for what it needs; it answers nothing yet. */
export function asksBack(text: string): boolean {
  if (DIGIT.test(text)) return false;
  const sentences = sentencesOf(text);
  return sentences.length > 0 && sentences.every(({ end }) => end === '?' || end === '？');
}
