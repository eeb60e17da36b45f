/** Reads a call of the tool `context`. It is strict: a misspelled field must never make a cut wider than what was named. */
import type { Json, JsonObject } from '../../ledger/json.ts';
import { CALL_WORDS } from './wording.ts';

const FIELDS = { survey: ['op'], evict: ['op', 'from', 'to', 'note'] } as const;
type Op = keyof typeof FIELDS;
const OPS = Object.keys(FIELDS) as readonly Op[];
/** What a message shows of a wrong call. */
const SHOWN_CHARS = 60;
const SHOWN_FIELDS = 8;

export type ContextCall =
  | { readonly ok: true; readonly op: 'survey' }
  | {
      readonly ok: true;
      readonly op: 'evict';
      readonly from: number;
      readonly to: number;
      readonly note: string | null;
    }
  | { readonly ok: false; readonly message: string };

/** Whether the numbers name anything, and whether the note may stand, is resolved against the items. */
export function readContextCall(args: Json): ContextCall {
  if (!isObject(args)) return refused(CALL_WORDS.shape);
  const op = OPS.find((known) => known === args.op);
  if (op === undefined)
    return refused(args.op === undefined ? CALL_WORDS.missing(['op']) : CALL_WORDS.op(shown(args.op)));
  const legal: readonly string[] = FIELDS[op];
  const stray = Object.keys(args).filter((field) => !legal.includes(field));
  if (stray.length > 0) return refused(CALL_WORDS.fields(stray.slice(0, SHOWN_FIELDS).map(shown), op));
  return op === 'survey' ? { ok: true, op } : readEvict(args);
}

function readEvict(args: JsonObject): ContextCall {
  const { from, to, note = null } = args;
  const missing = ['from', 'to'].filter((field) => args[field] === undefined);
  if (missing.length > 0) return refused(CALL_WORDS.missing(missing));
  if (!isItem(from)) return refused(CALL_WORDS.item('from', shown(from)));
  if (!isItem(to)) return refused(CALL_WORDS.item('to', shown(to)));
  if (note !== null && typeof note !== 'string') return refused(CALL_WORDS.note(shown(note)));
  return { ok: true, op: 'evict', from, to, note };
}

function isObject(args: Json): args is JsonObject {
  return typeof args === 'object' && args !== null && !Array.isArray(args);
}

function isItem(value: Json | undefined): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

function shown(value: Json | undefined): string {
  const text = JSON.stringify(value ?? null);
  return text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS).toWellFormed()}…` : text;
}

function refused(message: string): ContextCall {
  return { ok: false, message };
}
