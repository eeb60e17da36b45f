/**
 * What may stand for a longer text: the whole of it up to 60 words, else its first sentence up to 60 words.
 * A *word* is a run without white space; of scripts that write without spaces, each character is one.
 * Text that is no language, such as encoded bytes, is never quoted.
 */

const QUOTED_WORDS = 60;
/** Longer than any word of a language and than most addresses. */
const MAX_WORD_CHARS = 256;
/** Words of a language stay far below this on average; encoded bytes in lines of 64 or 76 do not. */
const MAX_MEAN_CHARS = 48;
const CLOSING = /["'”’»)\]*_]/;
const STOP = /[.!?…]/;
const WIDE_STOP = /[。！？｡]/;
const LOWER_CASE = /\p{Ll}/u;

export interface Quote {
  readonly text: string;
  readonly whole: boolean;
}

interface Reading {
  words: number;
  /** Where the current word began; -1 between words. */
  wordStart: number;
}

/** Reads no further than it quotes. `start` and `end` cut a part out of a larger text. */
export function quoteOf(text: string, start = 0, end = text.length): Quote | null {
  const reading: Reading = { words: 0, wordStart: -1 };
  for (let at = start; at < end; at += 1) {
    readCharacter(text, at, reading);
    if (reading.wordStart !== -1 && at - reading.wordStart >= MAX_WORD_CHARS) return null;
    if (reading.words > QUOTED_WORDS) return firstSentence(text, start, at);
  }
  if (reading.words === 0 || isDense(end - start, reading)) return null;
  return { text: text.slice(start, end).trim(), whole: true };
}

/** The shortest beginning, before `limit`, that ends as a sentence does and has at least two words. */
function firstSentence(text: string, start: number, limit: number): Quote | null {
  const reading: Reading = { words: 0, wordStart: -1 };
  for (let at = start; at < limit; at += 1) {
    readCharacter(text, at, reading);
    if (reading.words < 2 || !endsSentence(text, at, limit)) continue;
    if (isDense(at + 1 - start, reading)) return null;
    return { text: text.slice(start, at + 1).trim(), whole: false };
  }
  return null;
}

function readCharacter(text: string, at: number, reading: Reading): void {
  const code = text.charCodeAt(at);
  if (isSpace(code)) {
    reading.wordStart = -1;
  } else if (standsAlone(code)) {
    reading.wordStart = -1;
    reading.words += 1;
  } else if (reading.wordStart === -1) {
    reading.wordStart = at;
    reading.words += 1;
  }
}

/** White space counts too: a gap may be as long as anything. */
function isDense(units: number, { words }: Reading): boolean {
  return units > words * MAX_MEAN_CHARS;
}

/** Whether a sentence ends with this character: its stop, or what closes after the stop. */
function endsSentence(text: string, at: number, limit: number): boolean {
  const character = text[at] ?? '';
  if (WIDE_STOP.test(character)) return true;
  const next = at + 1;
  if (next < limit && !isSpace(text.charCodeAt(next))) return false;
  let stop = at;
  while (stop > 0 && at - stop < 4 && CLOSING.test(text[stop] ?? '')) stop -= 1;
  if (!STOP.test(text[stop] ?? '')) return false;
  let after = next;
  while (after < limit && isSpace(text.charCodeAt(after))) after += 1;
  // "e.g. this" goes on.
  return after >= limit || !LOWER_CASE.test(text[after] ?? '');
}

function isSpace(code: number): boolean {
  return code <= 32 || code === 0xa0 || code === 0x3000 || code === 0x2028 || code === 0x2029;
}

/** Kana and Han. */
function standsAlone(code: number): boolean {
  return (code >= 0x3040 && code <= 0x30ff) || (code >= 0x3400 && code <= 0x9fff);
}
