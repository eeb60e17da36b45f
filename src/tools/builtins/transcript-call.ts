/** Reads a call of the tool `transcript`. It is strict: a misspelled field must never make a search wider than was named. */
import type { Json, JsonObject } from '../../ledger/json.ts';

const FIELDS = {
  index: ['op', 'after', 'limit'],
  read: ['op', 'items'],
  grep: ['op', 'pattern', 'items'],
} as const;
type Op = keyof typeof FIELDS;
const OPS = Object.keys(FIELDS) as readonly Op[];
const ALL_FIELDS: readonly string[] = Object.values(FIELDS).flat();

/** Items that one page lists unless the call says otherwise, and at most. */
export const PAGE_ITEMS = 500;
/** More than a result has room for. */
const MAX_NAMED_ITEMS = 1_000;
/** Every item of a session has a lower number. */
const MAX_ITEM = 2_147_483_647;
/** What a message shows of a wrong call. */
const SHOWN_CHARS = 60;
const SHOWN_FIELDS = 8;

const FORMS =
  'Calls are {"op":"index"}, {"op":"index","after":500}, {"op":"read","items":[12,13]}, {"op":"grep","pattern":"words"} and {"op":"grep","pattern":"words","items":[12,13]}.';

export type TranscriptCall =
  | { readonly op: 'index'; readonly after: number; readonly limit: number }
  | { readonly op: 'read'; readonly items: readonly number[] }
  /** `items` null searches all of them. */
  | { readonly op: 'grep'; readonly pattern: string; readonly items: readonly number[] | null };

export type TranscriptCallReading =
  | { readonly ok: true; readonly call: TranscriptCall }
  | { readonly ok: false; readonly message: string };

/** Whether the numbers name anything is found where the items are. */
export function readTranscriptCall(args: Json): TranscriptCallReading {
  if (!isObject(args)) return refused('A call of transcript takes an object.');
  const op = OPS.find((known) => known === args.op);
  if (op === undefined)
    return refused(args.op === undefined ? 'Missing: op.' : `There is no op ${shown(args.op)}.`);
  const legal: readonly string[] = FIELDS[op];
  const stray = Object.keys(args).filter((field) => !legal.includes(field) && !isBlank(field, args[field]));
  if (stray.length > 0) return refused(strayFields(stray, op));
  switch (op) {
    case 'index':
      return readIndex(args);
    case 'read':
      return readRead(args);
    case 'grep':
      return readGrep(args);
  }
}

function readIndex(args: JsonObject): TranscriptCallReading {
  const { after, limit } = { after: args.after ?? 0, limit: args.limit ?? PAGE_ITEMS };
  if (!isNumber(after, 0)) return refused(`after must be the number of an item, and is ${shown(after)}.`);
  if (!isNumber(limit, 1)) return refused(`limit must be a number of items, and is ${shown(limit)}.`);
  return { ok: true, call: { op: 'index', after, limit: Math.min(limit, PAGE_ITEMS) } };
}

function readRead({ items }: JsonObject): TranscriptCallReading {
  if (items === undefined) return refused('Missing: items.');
  const named = readItems(items);
  return typeof named === 'string' ? refused(named) : { ok: true, call: { op: 'read', items: named } };
}

function readGrep({ pattern, items }: JsonObject): TranscriptCallReading {
  if (pattern === undefined) return refused('Missing: pattern.');
  if (typeof pattern !== 'string' || pattern === '')
    return refused(`pattern must be a text to search for, and is ${shown(pattern)}.`);
  const named = items === undefined || items === 'all' ? null : readItems(items);
  return typeof named === 'string'
    ? refused(named)
    : { ok: true, call: { op: 'grep', pattern, items: named } };
}

/** What is wrong with them, where they are no numbers. An empty list is answered where the items are. */
function readItems(items: Json): readonly number[] | string {
  if (!Array.isArray(items))
    return `items must be a list of numbers, such as [12,13], and is ${shown(items)}.`;
  if (items.length > MAX_NAMED_ITEMS)
    return `items names ${items.length}; at most ${MAX_NAMED_ITEMS} can be named in one call.`;
  const numbers = items.filter((item) => isNumber(item, 0));
  const wrong = items.find((item) => !isNumber(item, 0));
  return wrong === undefined
    ? numbers
    : `items must be a list of numbers, such as [12,13], and holds ${shown(wrong)}.`;
}

function strayFields(stray: readonly string[], op: Op): string {
  const named = stray.slice(0, SHOWN_FIELDS).map(shown).join(', ');
  return `There is no field ${named} in op ${op}, whose fields are ${FIELDS[op].join(', ')}; nothing was searched or read.`;
}

/** Small models fill what another op takes with nothing. */
function isBlank(field: string, value: Json | undefined): boolean {
  return (value === null || value === '') && ALL_FIELDS.includes(field);
}

function isObject(args: Json): args is JsonObject {
  return typeof args === 'object' && args !== null && !Array.isArray(args);
}

function isNumber(value: Json, least: number): value is number {
  return Number.isInteger(value) && Number(value) >= least && Number(value) <= MAX_ITEM;
}

function shown(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS).toWellFormed()}…` : text;
}

function refused(problem: string): TranscriptCallReading {
  return { ok: false, message: `${problem} ${FORMS}` };
}
