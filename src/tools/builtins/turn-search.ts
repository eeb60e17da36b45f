/** What the tools share that find turns by words: bounds of a request, and how a hit reads. */
import { countChars } from '../../context/evidence/window.ts';
import type { FoundTurn } from '../contract.ts';

export const DEFAULT_FOUND = 8;
const MAX_FOUND = 20;
/** A question is a few words; a pasted document would only find what it holds itself. */
const MAX_QUERY_CHARS = 2_048;

/** A limit out of bounds is brought into them: the list says enough about how many there are. */
export function foundLimit(limit: number | undefined): number {
  return Math.min(Math.max(limit ?? DEFAULT_FOUND, 1), MAX_FOUND);
}

/** What is wrong with the query, or null. */
export function tooLongQuery(query: string): string | null {
  const chars = countChars(query);
  if (chars <= MAX_QUERY_CHARS) return null;
  return `The query has ${chars} characters; at most ${MAX_QUERY_CHARS} are searched for. Send its few telling words.`;
}

/** The line without the number that some cards open with. */
export function foundText({ number, line }: FoundTurn): string {
  const label = `T${number}:`;
  return line.startsWith(label) ? line.slice(label.length).trimStart() : line;
}
