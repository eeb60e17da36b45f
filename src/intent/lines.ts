/** Lines of a directive, and what each of them looks like: a request, prose, or material. */
import { hasRequest, LIST_ITEM, type Stretch } from './sentences.ts';
import { tokensOf, type Vocabulary } from './strand-words.ts';

/** `data`: made by a machine, or quoted. `prose`: people's words that ask nothing. */
export type LineKind = 'blank' | 'fence' | 'data' | 'asks' | 'prose';

export interface Line extends Stretch {
  readonly kind: LineKind;
  /** Not one with the line before, although no blank line stands between. */
  readonly apart: boolean;
}

/** A directive is read so far from each end; between them everything is material. */
const SCANNED_CHARS = 64 * 1024;
const SCANNED_LINES = 1_000;
/** Nobody types a longer line: what asks in one is its beginning. */
const LONG_LINE_CHARS = 1_000;
/** A line is judged by so much of its beginning. */
const JUDGED_CHARS = 400;
/** A request is looked for in so much of it. */
const ASKED_CHARS = 2_000;
/** Two words stand in so much of it. */
const SHAPE_CHARS = 80;
/** As many lines that begin with the same words, figures aside, come from a machine. */
const MIN_ALIKE = 8;
/** Below this share of letters and spaces a line is data. */
const MIN_LETTERS = 0.6;
/** Too short for a share to tell anything. */
const MIN_JUDGED_CHARS = 12;
/** A longer run without a space is encoded. */
const ENCODED_CHARS = 100;

const FENCE = /^[ \t]{0,3}(?:`{3,}|~{3,})/;
const QUOTED_MAIL = /^[ \t]*>/;
/** https://www.rfc-editor.org/rfc/rfc5322#section-3.6 */
const MAIL_HEADER = /^(?:From|To|Cc|Bcc|Subject|Date|Sent|Reply-To|Message-ID|In-Reply-To): /;
const TIMESTAMP =
  /^[ \t]*[[(]?(?:\d{4}[-/]\d{2}[-/]\d{2}(?:[T ]|$)|\d{1,2}:\d{2}:\d{2}|[A-Z][a-z]{2} {1,2}\d{1,2} \d{2}:\d{2})/;
const LEVEL = /^[ \t]*\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b/;
const STACK_FRAME = /^(?:[ \t]+at [^ ]|[ \t]*File "|Traceback \(|[ \t]*\.\.\. \d+ more)/;
const JSON_LINE = /^[ \t]*(?:[{}[\]]|"[^"\n]{0,100}"[ \t]*:)/;
const MARKUP = /^[ \t]*(?:<[/!?A-Za-z]|\|[^|]*\|)/;
/** Not in a figure such as 1,000,000. */
const CELL_COMMA = /,(?! |\d{3}\b)/g;
const NOT_LETTERS = /[^\p{L}\p{M} ]/gu;
const ENCODED = new RegExp(`^\\S{${ENCODED_CHARS}}`);
const DATA_SHAPES = [QUOTED_MAIL, MAIL_HEADER, TIMESTAMP, LEVEL, STACK_FRAME, JSON_LINE, MARKUP, ENCODED];
const BEGINNING_END = /[:.?!](?=\s)|[。！？]/u;

/** Lines of a part of the text, in order, together covering it. */
export function linesOf(text: string, part: Stretch, vocabulary: Vocabulary): readonly Line[] {
  const lines = [...spansOf(text, part)].map((span) => {
    const beginning = text.slice(span.from, Math.min(span.to, span.from + JUDGED_CHARS));
    const kind = shapedKind(beginning);
    return { ...span, beginning, kind, shape: kind === null ? shapeOf(beginning) : null };
  });
  const alike = new Map<string, number>();
  for (const { shape } of lines) if (shape !== null) alike.set(shape, (alike.get(shape) ?? 0) + 1);
  return lines.map(({ from, to, apart, beginning, kind, shape }) => {
    const repeats = shape !== null && (alike.get(shape) ?? 0) >= MIN_ALIKE;
    return {
      from,
      to,
      apart,
      kind: kind ?? (repeats ? 'data' : wordedKind(text, { from, to }, beginning, vocabulary)),
    };
  });
}

/** Where the part that is read from the front ends and the one read from the back begins. */
export function scannedEnds(text: string): { readonly head: Stretch; readonly tail: Stretch } {
  const head = headEnd(text);
  const tail = tailStart(text);
  const to = head < tail ? head : text.length;
  return { head: { from: 0, to }, tail: { from: Math.max(to, tail), to: text.length } };
}

/** In the midst of a line only where the first one is longer than is read. */
function headEnd(text: string): number {
  const front = text.slice(0, SCANNED_CHARS);
  let end = 0;
  for (let lines = 0; lines < SCANNED_LINES; lines++) {
    const newline = front.indexOf('\n', end);
    if (newline === -1) break;
    end = newline + 1;
  }
  return end === 0 ? wholeAt(text, front.length) : end;
}

/** The text's end where its last line is longer than is read. */
function tailStart(text: string): number {
  const offset = Math.max(0, text.length - SCANNED_CHARS);
  const back = text.slice(offset);
  let start = back.length;
  for (let lines = 0; lines < SCANNED_LINES && start > 0; lines++) {
    const newline = back.lastIndexOf('\n', start - 2);
    if (newline === -1 || start === 1) break;
    start = newline + 1;
  }
  return offset + start;
}

function* spansOf(text: string, { from, to }: Stretch): Generator<Stretch & { readonly apart: boolean }> {
  const region = text.slice(from, to);
  for (let start = 0, end = 0; start < region.length; start = end) {
    const newline = region.indexOf('\n', start);
    end = newline === -1 ? region.length : newline + 1;
    const cut = end - start > LONG_LINE_CHARS ? askedEnd(region, start, end) : end;
    yield { from: from + start, to: from + cut, apart: false };
    if (cut < end) yield { from: from + cut, to: from + end, apart: true };
  }
}

/** Behind the first sentence of a long line, or the colon in it; the line's end where neither comes soon. */
function askedEnd(region: string, start: number, end: number): number {
  const found = BEGINNING_END.exec(region.slice(start, start + JUDGED_CHARS));
  return found === null ? end : start + found.index + 1;
}

/** The first two words, figures made equal; null for an item of a list and for a question. */
function shapeOf(line: string): string | null {
  if (LIST_ITEM.test(line) || line.includes('?')) return null;
  const [first, second] = tokensOf(line, 0, SHAPE_CHARS);
  if (first === undefined || second === undefined) return null;
  return `${first.form} ${second.form}`.replace(/\p{N}+/gu, '0');
}

/** What its form alone shows; null where its words must be read. */
function shapedKind(line: string): 'blank' | 'fence' | 'data' | null {
  if (line.trim() === '') return 'blank';
  if (FENCE.test(line)) return 'fence';
  return DATA_SHAPES.some((shape) => shape.test(line)) || isTabular(line) ? 'data' : null;
}

function wordedKind(
  text: string,
  { from, to }: Stretch,
  beginning: string,
  vocabulary: Vocabulary,
): LineKind {
  if (hasRequest(text, { from, to: Math.min(to, from + ASKED_CHARS) }, vocabulary)) return 'asks';
  return isDense(beginning) ? 'data' : 'prose';
}

function isTabular(line: string): boolean {
  if (line.includes('\t') && line.trim().includes('\t')) return true;
  const commas = line.match(CELL_COMMA)?.length ?? 0;
  return commas >= 2 && line.trim().split(' ').length <= 2 * commas;
}

function isDense(line: string): boolean {
  const shown = line.trim();
  if (shown.length < MIN_JUDGED_CHARS) return false;
  return 1 - (shown.match(NOT_LETTERS)?.length ?? 0) / shown.length < MIN_LETTERS;
}

/** `at`, or one less where a character would be cut in two. */
function wholeAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code >= 0xdc00 && code <= 0xdfff ? at - 1 : at;
}
