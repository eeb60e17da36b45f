/** A directive's own words, cut where another request begins: at sentences, lines, list items and markers. */
import { besides } from './pasted.ts';
import { asks, asksInWords, markerAt, type Stretch, sentencesOf } from './sentences.ts';
import { tokensOf, type Vocabulary } from './strand-words.ts';

/** More requests than these are one with the last. */
const MAX_PARTS = 12;
/** A line this long that ends without a full stop was broken for its length: the next one goes on with it. */
const WRAPPED_CHARS = 60;
const SOFT_END = /[\p{L}\p{N},]\s*$/u;
const SOFT_START = /^[ \t]*\p{Ll}/u;
/** A marker is looked for in so much of a sentence. */
const MARKED_CHARS = 4_000;
/** Quoted words are spoken of, not spoken. One that does not end soon is none. */
export const QUOTATION = /"[^"\n]{1,300}"|“[^”\n]{1,300}”|`[^`\n]{1,300}`/gu;
/** So many words behind a marker show whether a request follows. */
const CLAUSE_WORDS = 40;

/**
 * In order, without the white space around them. A part begins where a request does; what asks nothing goes with the
 * part before it, or with the first. A part may enclose pasted stretches.
 */
export function partsOf(
  text: string,
  pasted: readonly Stretch[],
  vocabulary: Vocabulary,
): readonly Stretch[] {
  const parts: { from: number; to: number; asks: boolean }[] = [];
  const clauses = besides(text, pasted)
    .flatMap((range) => linesIn(text, range))
    .flatMap((line) => sentencesOf(text, line, vocabulary))
    .flatMap((sentence) => clausesOf(text, sentence, vocabulary))
    .map((clause) => trimmed(text, clause))
    .filter(({ from, to }) => from < to);
  const isQuoted = quotationsIn(text, besides(text, pasted));
  for (const clause of clauses) {
    const last = parts.at(-1);
    const isRequest = asks(text, clause, vocabulary);
    const mayOpen = parts.length < MAX_PARTS && !isQuoted(clause.from);
    const opens = last === undefined || (isRequest && last.asks && mayOpen);
    if (opens) parts.push({ ...clause, asks: isRequest });
    else parts.splice(-1, 1, { from: last.from, to: clause.to, asks: last.asks || isRequest });
  }
  return parts.map(({ from, to }) => ({ from, to }));
}

/** Whether a place lies inside a quotation; to be asked from front to back. */
function quotationsIn(text: string, ranges: readonly Stretch[]): (at: number) => boolean {
  const quotations = ranges.flatMap((range) =>
    [...text.slice(range.from, range.to).matchAll(QUOTATION)].map(({ 0: quotation, index }) => ({
      from: range.from + index,
      to: range.from + index + quotation.length,
    })),
  );
  let next = 0;
  return (at) => {
    while ((quotations[next]?.to ?? Number.POSITIVE_INFINITY) <= at) next += 1;
    return (quotations[next]?.from ?? at) < at;
  };
}

/** Hard line breaks part; those of a text that was broken for its width do not. */
function linesIn(text: string, { from, to }: Stretch): readonly Stretch[] {
  const lines: Stretch[] = [];
  const region = text.slice(from, to);
  for (let start = 0, end = 0; start < region.length; start = end) {
    const newline = region.indexOf('\n', start);
    end = newline === -1 ? region.length : newline + 1;
    const last = lines.at(-1);
    const wraps = last !== undefined && goesOn(text.slice(last.from, last.to), region.slice(start, end));
    if (wraps) lines.splice(-1, 1, { from: last.from, to: from + end });
    else lines.push({ from: from + start, to: from + end });
  }
  return lines;
}

function goesOn(before: string, line: string): boolean {
  const lastLine = before.slice(before.lastIndexOf('\n', before.length - 2) + 1);
  return lastLine.length >= WRAPPED_CHARS && SOFT_END.test(lastLine.slice(-8)) && SOFT_START.test(line);
}

/** Cut before each marker that a request follows, unless it belongs to a condition. */
function clausesOf(text: string, sentence: Stretch, vocabulary: Vocabulary): readonly Stretch[] {
  const tokens = tokensOf(text, sentence.from, Math.min(sentence.to, sentence.from + MARKED_CHARS));
  const starts = [sentence.from];
  let conditional = false;
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at];
    const marker = markerAt(tokens, at, vocabulary);
    const before = tokens[at - 1]?.form ?? '';
    if (token === undefined) break;
    conditional ||= vocabulary.conditions.has(token.form);
    if (marker === null) continue;
    const stands = marker.strength === 'strong' || token.afterBreak;
    if (at > 0 && stands && !conditional && !vocabulary.bindsMarker.has(before)) {
      if (asksInWords(tokens.slice(at, at + CLAUSE_WORDS), vocabulary)) starts.push(token.from);
    }
    at += marker.words - 1;
  }
  return starts.map((from, index) => ({ from, to: starts[index + 1] ?? sentence.to }));
}

function trimmed(text: string, { from, to }: Stretch): Stretch {
  const shown = text.slice(from, to);
  const start = from + shown.length - shown.trimStart().length;
  return { from: start, to: start + shown.trim().length };
}
