/** Whether a call that stands in a text is one the text makes, rather than one it tells of. */
import type { CheckLexicon } from './lexicon/index.ts';
import { phraseEnd, phrasesOf, sentencesOf } from './sentences.ts';
import { isPlainWord } from './tool-names.ts';

/** Markup around a call is short; the bound keeps the two patterns below linear. */
const MAX_MARKUP_CHARS = 64;
/** The sentence in which a call stands, as far as it tells anything. */
const MAX_SENTENCE_CHARS = 300;
const OPENING =
  /^[\s`*_>#|,[\]()\d.-]*(?:<\|?(?:tool_call|tool_use|function_call)\|?>|(?:tool call|call|action)\s*:)?[\s`*_[]*$/iu;
const CLOSING = /^[\s`)*_;,.\]]*(?:<\|?\/?(?:tool_call|tool_use|function_call)\|?>)?[\s`)*_;,.\]]*$/iu;

export interface CallPlace {
  readonly name: string;
  /** Where the name or the object of the call begins, and where the call ends. */
  readonly from: number;
  readonly end: number;
  /** What stands between the name and its arguments; empty for an object that holds both. */
  readonly gap: string;
}

/** A call has its lines to itself, or ends the text behind words that do not report it. */
export function isWrittenCall(text: string, call: CallPlace, lexicon: CheckLexicon): boolean {
  const lineStart = text.lastIndexOf('\n', call.from - 1) + 1;
  const before = text.slice(Math.max(lineStart, call.from - MAX_SENTENCE_CHARS), call.from);
  if (isMarkup(before, OPENING) && call.from - lineStart <= MAX_MARKUP_CHARS) {
    if (isPlainWord(call.name) && call.gap.includes(':')) return false;
    return isMarkup(lineFrom(text, call.end), CLOSING) && !isIntroduced(text, lineStart, lexicon);
  }
  const behind = text.slice(call.end, call.end + MAX_MARKUP_CHARS + 1);
  if (!isMarkup(behind, CLOSING) || /[\n:]/u.test(call.gap)) return false;
  if (call.gap !== '' && isPlainWord(call.name) && !call.gap.includes('(')) return false;
  return !reports(before, lexicon);
}

function isMarkup(text: string, pattern: RegExp): boolean {
  return text.length <= MAX_MARKUP_CHARS && pattern.test(text);
}

function lineFrom(text: string, at: number): string {
  const piece = text.slice(at, at + MAX_MARKUP_CHARS + 1);
  const feed = piece.indexOf('\n');
  return feed === -1 ? piece : piece.slice(0, feed);
}

/** "I ran this:" above it. */
function isIntroduced(text: string, lineStart: number, lexicon: CheckLexicon): boolean {
  const before = text.slice(Math.max(0, lineStart - MAX_SENTENCE_CHARS), lineStart).trimEnd();
  const line = before.slice(before.lastIndexOf('\n') + 1);
  return line.endsWith(':') && reports(line, lexicon);
}

function reports(words: string, lexicon: CheckLexicon): boolean {
  const reporting = phrasesOf(lexicon.reporting);
  const last = sentencesOf(words).at(-1)?.tokens ?? [];
  return last.some((_, at) => phraseEnd(last, at, reporting) !== null);
}
