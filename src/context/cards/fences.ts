/**
 * Cards written into the text of an answer, for models that cannot call tools: a code block whose info string
 * is `card`, holding one JSON object with the card's `type` beside the members of its payload.
 *
 * Blocks are read as CommonMark reads them at the outermost level: a run of at least three backticks or tildes,
 * indented by at most three spaces, opens one; a run of the same sign, at least as long and alone on its line,
 * closes it. What stands inside another block is that block's text and no card.
 */
import { blake3Hex } from '../../ledger/chain.ts';
import { canonicalJson, type JsonObject } from '../../ledger/json.ts';
import type { Cards } from './registry.ts';

const INFO = 'card';
const LEAST_RUN = 3;
const MOST_INDENT = 3;
const BACKTICK = 0x60;
const TILDE = 0x7e;
const SPACE = 0x20;

/** What may be wrong with a fence before its payload is looked at, each as the end of a sentence about it. */
export const FENCE_FAULTS = {
  unterminated: 'is never closed',
  invalid_json: 'does not hold one JSON object',
  no_type: 'names no card: its "type" must be a string',
} as const;
export type FenceFault = keyof typeof FENCE_FAULTS;

/** `start` and `end` are code-unit indexes: whole lines, without the line feed that ends the last of them. */
export type Fence = { readonly start: number; readonly end: number } & (
  | { readonly kind: 'card'; readonly type: string; readonly payload: JsonObject }
  | { readonly kind: 'malformed'; readonly fault: FenceFault }
);

/** `next` is where the following line begins; `runEnd` ends the run of `sign` that begins the line. */
interface Line {
  readonly start: number;
  readonly end: number;
  readonly next: number;
  readonly sign: number;
  readonly run: number;
  readonly runEnd: number;
}

/** Every card fence of the text, in its order, in one pass over it. */
export function readFences(text: string): readonly Fence[] {
  const fences: Fence[] = [];
  let open: Line | null = null;
  for (let at = 0; at < text.length; ) {
    const line = lineAt(text, at);
    at = line.next;
    if (open === null) {
      if (opens(text, line)) open = line;
    } else if (closes(text, line, open)) {
      if (isCard(text, open)) fences.push(readFence(text, open, line));
      open = null;
    }
  }
  if (open !== null && isCard(text, open))
    fences.push({ start: open.start, end: text.length, kind: 'malformed', fault: 'unterminated' });
  return fences;
}

/**
 * The text without the fences whose payload digest is among `digests`. Blank lines around a fence that goes
 * are kept on one side of it only, and where only white space is left behind it the text ends before that;
 * nothing else changes. A second application changes nothing.
 */
export function withoutFences(cards: Cards, text: string, digests: ReadonlySet<string>): string {
  if (digests.size === 0) return text;
  const gone = readFences(text).filter((fence) => isAmong(cards, fence, digests));
  if (gone.length === 0) return text;
  const kept: string[] = [];
  let from = 0;
  let afterBlank = true;
  for (const { start, end } of gone) {
    if (start > from) {
      kept.push(text.slice(from, start));
      afterBlank = endsBlank(text, from, start);
    }
    from = lineAt(text, end).next;
    if (afterBlank) from = skipBlankLines(text, from);
  }
  const rest = text.slice(from);
  return rest.trim() === '' ? kept.join('').trimEnd() : kept.join('') + rest;
}

function lineAt(text: string, start: number): Line {
  const feed = text.indexOf('\n', start);
  const end = feed === -1 ? text.length : feed;
  let at = start;
  while (at - start < MOST_INDENT && text.charCodeAt(at) === SPACE) at += 1;
  const sign = text.charCodeAt(at);
  const runStart = at;
  if (sign === BACKTICK || sign === TILDE) while (at < end && text.charCodeAt(at) === sign) at += 1;
  return { start, end, next: feed === -1 ? end : feed + 1, sign, run: at - runStart, runEnd: at };
}

/** Backticks after the run make it inline code, not the opening of a block. */
function opens(text: string, line: Line): boolean {
  if (line.run < LEAST_RUN) return false;
  return line.sign === TILDE || !text.slice(line.runEnd, line.end).includes('`');
}

function closes(text: string, line: Line, open: Line): boolean {
  return line.sign === open.sign && line.run >= open.run && text.slice(line.runEnd, line.end).trim() === '';
}

function isCard(text: string, open: Line): boolean {
  return text.slice(open.runEnd, open.end).trim() === INFO;
}

function readFence(text: string, open: Line, close: Line): Fence {
  const { start } = open;
  const { end } = close;
  const value = parse(text.slice(open.next, close.start));
  if (value === null) return { start, end, kind: 'malformed', fault: 'invalid_json' };
  const { type, ...payload } = value;
  if (typeof type !== 'string') return { start, end, kind: 'malformed', fault: 'no_type' };
  return { start, end, kind: 'card', type, payload };
}

function parse(content: string): JsonObject | null {
  const text = content.trim();
  // A refusal of the parser costs microseconds, and a hostile text may hold a great many such fences.
  if (!text.startsWith('{') || !text.endsWith('}')) return null;
  try {
    return JSON.parse(text) as JsonObject;
  } catch {
    return null;
  }
}

/** A payload counts as it was written too, so that a card whose schema has changed since is still recognised. */
function isAmong(cards: Cards, fence: Fence, digests: ReadonlySet<string>): boolean {
  if (fence.kind === 'malformed') return false;
  const written = digestOf(fence.payload);
  if (written !== null && digests.has(written)) return true;
  const checked = cards.byType(fence.type)?.check(fence.payload);
  return checked?.ok === true && digests.has(checked.payloadDigest);
}

/** null for a payload that nests too deep to walk. */
function digestOf(payload: JsonObject): string | null {
  try {
    return blake3Hex(canonicalJson(payload));
  } catch {
    return null;
  }
}

/** Whether the last line of the stretch, which ends with a line's end, is blank. */
function endsBlank(text: string, from: number, to: number): boolean {
  const before = text.lastIndexOf('\n', to - 2);
  return text.slice(Math.max(from, before + 1), to).trim() === '';
}

function skipBlankLines(text: string, from: number): number {
  let at = from;
  while (at < text.length) {
    const { end, next } = lineAt(text, at);
    if (text.slice(at, end).trim() !== '') break;
    at = next;
  }
  return at;
}
