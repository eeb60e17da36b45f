/** What a summariser's reply is worth: its text in whole sentences within the bounds, or nothing. */
import { byteLength } from '../../ledger/json.ts';
import { visibleText } from '../../ledger/view.ts';
import { escapeMarkers } from '../assemble/markers.ts';
import type { ChatReply } from '../request.ts';

/** Scripts without spaces make long words: a word counts as one for each so many bytes of it. */
const WORD_BYTES = 16;
const FENCE = /^(`{3,}|~{3,})[^\n]*(?:\n|$)/u;
const CLOSING = /["'”’»)\]*_]/u;
const ENDS = /[.!?…]/u;
/** Ends a sentence without a space behind it. */
const WIDE_ENDS = /[。！？]/u;
/** A full stop behind one of these ends no sentence. */
const ABBREVIATIONS = new Set(
  'e.g i.e cf vs etc approx no nos mr mrs ms dr prof st inc ltd fig vol'.split(' '),
);
const LONGEST_ABBREVIATION = Math.max(...[...ABBREVIATIONS].map((word) => word.length));

/**
 * The reply's text without a fence around it, markers escaped; sentences from the first on while they hold at most
 * `maxWords` words. null when that leaves nothing. Of a reply cut at its limit the unfinished end is left out.
 */
export function readSummary(reply: Pick<ChatReply, 'content' | 'finish'>, maxWords: number): string | null {
  const text = withoutFence(visibleText(reply.content).trim()).trim();
  let words = 0;
  let end = 0;
  for (const { from, to, finished } of sentences(text)) {
    words += wordsOf(text.slice(from, to));
    if (words > maxWords || (reply.finish === 'length' && !finished)) break;
    end = to;
  }
  const kept = text.slice(0, end).trim();
  return kept === '' ? null : escapeMarkers(kept);
}

function withoutFence(text: string): string {
  const opening = FENCE.exec(text);
  if (opening === null) return text;
  const [line, mark = ''] = opening;
  const inner = text.slice(line.length).trimEnd();
  if (inner.endsWith(mark)) return inner.slice(0, -mark.length);
  return inner.includes(`\n${mark}`) ? text : inner;
}

interface Span {
  readonly from: number;
  readonly to: number;
  /** It ended by itself, not because the text did. */
  readonly finished: boolean;
}

/** A line break ends a sentence, and so does a mark with a space behind it. */
function* sentences(text: string): Generator<Span> {
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    let to = at + 1;
    if (ENDS.test(character) || WIDE_ENDS.test(character)) {
      while (CLOSING.test(text.charAt(to))) to += 1;
      const open = to < text.length && !/\s/u.test(text.charAt(to)) && !WIDE_ENDS.test(character);
      if (open || goesOn(text, from, at, to)) continue;
    } else if (character !== '\n') continue;
    yield { from, to, finished: true };
    from = to;
    at = to - 1;
  }
  if (from < text.length) yield { from, to: text.length, finished: false };
}

/** The stop at `at` belongs to an abbreviation, or what follows it begins in lower case. */
function goesOn(text: string, from: number, at: number, to: number): boolean {
  if (/^[ \t]\p{Ll}/u.test(text.slice(to, to + 3))) return true;
  if (text.charAt(at) !== '.') return false;
  const before = text.slice(Math.max(from, at - LONGEST_ABBREVIATION - 1), at);
  const word = before.split(/\s+/u).at(-1) ?? '';
  return /^\p{L}$/u.test(word) || ABBREVIATIONS.has(word.toLowerCase());
}

function wordsOf(sentence: string): number {
  let words = 0;
  for (const word of sentence.split(/\s+/u))
    if (word !== '') words += Math.max(1, Math.floor(byteLength(word) / WORD_BYTES));
  return words;
}
