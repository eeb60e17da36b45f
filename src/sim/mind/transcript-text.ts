/** What a tool that reads the transcript was asked, and what its answers say: as data, or as lines that name items. */
import type { Json } from '../../ledger/json.ts';
import { asArray, asNumber, asObject, asString, type Untyped } from '../untyped.ts';

export type TranscriptOp = 'index' | 'read' | 'grep';

export interface TranscriptCall {
  readonly op: TranscriptOp;
  /** Empty where all are meant. */
  readonly items: readonly number[];
}

/** A line that a search found. */
export interface Hit {
  readonly item: number;
  readonly text: string;
}

/** More would be nested without an end. */
const MAX_DEPTH = 12;
/** The item that a line is about, before anything else: `#12 …`, `- T4 #12 …`, `item 12: …`. */
const ITEM_LINE =
  /^\s{0,8}(?:[-*]\s)?[[(]?(?:T\d{1,9}\W{1,3})?(?:item\s)?(?:#|(?<=item\s))(\d{1,15})\b(.*)$/i;
/** Notes in brackets behind an answer that is data. */
const TRAILING_NOTE = /\s*\n\[[^\]\n]{0,300}\]\s*$/;
const NOTE_CHARS = 400;
const ROLES: ReadonlySet<string> = new Set(['user', 'assistant', 'tool', 'system']);
/** Members that tell what was said; what was called, and where it all stands, tells nothing. */
const TEXT_MEMBERS = ['text', 'content'] as const;
/** An earlier look-up holds the words that were looked for, and of what it found no more than a line. */
const OF_LOOKUP = /\\?"(?:op|hits)\\?"\s?:\s?|\(\?i\)/;

/** null for the arguments of any other tool. */
export function transcriptCallOf(args: Json): TranscriptCall | null {
  const { op, items, pattern } = asObject(args) ?? {};
  if (op === 'index') return { op, items: [] };
  const named = (asArray(items) ?? []).flatMap((item) => asNumber(item) ?? []);
  if (op === 'read' && named.length > 0) return { op, items: named };
  return op === 'grep' && asString(pattern) !== null ? { op, items: named } : null;
}

/** In the order of the answer. */
export function hitsIn(content: string): readonly Hit[] {
  const found = asArray(asObject(dataIn(content))?.hits);
  if (found !== null) return found.flatMap(hitOf);
  const hits: Hit[] = [];
  let item: number | null = null;
  for (const line of content.split('\n')) {
    const named = ITEM_LINE.exec(line);
    if (named !== null) item = Number(named[1]);
    const text = named?.[2] ?? line;
    if (item !== null && /\p{L}|\p{N}/u.test(text)) hits.push({ item, text });
  }
  return hits;
}

/** Data as lines, each speaker named before what he said; text as it stands. */
export function readText(content: string): string {
  const data = dataIn(content);
  const lines: string[] = [];
  if (data === null) lines.push(...content.split('\n'));
  else tell(data, lines, 0);
  return lines.filter((line) => !isOfLookup(line)).join('\n');
}

/** Part of a call that looked something up. */
export function isOfLookup(line: string): boolean {
  return OF_LOOKUP.test(line);
}

function hitOf(value: unknown): readonly Hit[] {
  const hit = asObject(value);
  const item = asNumber(hit?.item);
  return item === null ? [] : [{ item, text: asString(hit?.text) ?? '' }];
}

function dataIn(content: string): unknown {
  if (!/^\s*[[{]/.test(content)) return null;
  const note = TRAILING_NOTE.exec(content.slice(-NOTE_CHARS));
  const bare = note === null ? content : content.slice(0, content.length - note[0].length);
  try {
    return JSON.parse(bare) as unknown;
  } catch {
    return null;
  }
}

function tell(value: unknown, lines: string[], depth: number): void {
  if (depth > MAX_DEPTH) return;
  const list = asArray(value);
  if (list !== null) {
    for (const one of list) tell(one, lines, depth + 1);
    return;
  }
  const object = asObject(value);
  if (object === null) return;
  if (ROLES.has(asString(object.role) ?? '')) lines.push(`${String(object.role)}:`);
  lines.push(...textsOf(object));
  for (const member of Object.values(object)) tell(member, lines, depth + 1);
}

function textsOf(object: Untyped): readonly string[] {
  return TEXT_MEMBERS.flatMap((name) => asString(object[name])?.split('\n') ?? []);
}
