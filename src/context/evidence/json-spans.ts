/**
 * Reads JSON where it stands in a text that was found valid before. So a number of twenty digits comes out
 * as it was written, and no depth of nesting exhausts the stack.
 */

export interface Span {
  readonly start: number;
  readonly end: number;
}

interface Member {
  /** With its quotes. */
  readonly name: Span;
  readonly value: Span;
}

type JsonKind = 'object' | 'array' | 'text' | 'number' | 'boolean' | 'null';

const QUOTE = 34;
const BACKSLASH = 92;

export function rootSpan(text: string): Span {
  const start = skipSpace(text, 0);
  return { start, end: valueEnd(text, start) };
}

export function kindOf(text: string, { start }: Span): JsonKind {
  switch (text[start]) {
    case '{':
      return 'object';
    case '[':
      return 'array';
    case '"':
      return 'text';
    case 't':
    case 'f':
      return 'boolean';
    case 'n':
      return 'null';
    default:
      return 'number';
  }
}

export function* elementsOf(text: string, array: Span): Generator<Span, void, void> {
  let at = skipSpace(text, array.start + 1);
  while (at < array.end - 1) {
    const value = { start: at, end: valueEnd(text, at) };
    yield value;
    at = afterComma(text, value.end);
  }
}

/** A name that is written twice comes twice. */
export function* membersOf(text: string, object: Span): Generator<Member, void, void> {
  let at = skipSpace(text, object.start + 1);
  while (at < object.end - 1) {
    const name = { start: at, end: stringEnd(text, at) };
    const start = skipSpace(text, skipSpace(text, name.end) + 1);
    const value = { start, end: valueEnd(text, start) };
    yield { name, value };
    at = afterComma(text, value.end);
  }
}

/** The value as it was written, less the white space between its parts. */
export function compact(text: string, { start, end }: Span): string {
  const kept: string[] = [];
  let from = start;
  for (let at = start; at < end; ) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = stringEnd(text, at);
    else if (!isSpace(code)) at += 1;
    else {
      kept.push(text.slice(from, at));
      at = skipSpace(text, at);
      from = at;
    }
  }
  kept.push(text.slice(from, end));
  return kept.join('');
}

/** The text a string stands for. */
export function decoded(text: string, { start, end }: Span): string {
  return String(JSON.parse(text.slice(start, end)));
}

export function countOf(spans: Iterable<unknown>): number {
  let count = 0;
  for (const _ of spans) count += 1;
  return count;
}

function valueEnd(text: string, start: number): number {
  let depth = 0;
  let at = start;
  do {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = stringEnd(text, at);
    else if (isOpening(code)) {
      depth += 1;
      at += 1;
    } else if (isClosing(code)) {
      depth -= 1;
      at += 1;
    } else at = depth === 0 ? wordEnd(text, at) : at + 1;
  } while (depth > 0 && at < text.length);
  return at;
}

/** After a number, `true`, `false` or `null`. */
function wordEnd(text: string, start: number): number {
  let at = start;
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 44 || isSpace(code) || isClosing(code)) break;
  }
  return at;
}

function stringEnd(text: string, start: number): number {
  let at = start + 1;
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === BACKSLASH) at += 1;
    else if (code === QUOTE) return at + 1;
  }
  return text.length;
}

function afterComma(text: string, end: number): number {
  const at = skipSpace(text, end);
  return text.charCodeAt(at) === 44 ? skipSpace(text, at + 1) : at;
}

function skipSpace(text: string, start: number): number {
  let at = start;
  while (at < text.length && isSpace(text.charCodeAt(at))) at += 1;
  return at;
}

function isSpace(code: number): boolean {
  return code === 32 || code === 10 || code === 13 || code === 9;
}

/** `[` or `{`. */
function isOpening(code: number): boolean {
  return code === 91 || code === 123;
}

/** `]` or `}`. */
function isClosing(code: number): boolean {
  return code === 93 || code === 125;
}
