/** Calls of a tool that takes items out of the requests: by an order, on a reminder, and again after a refusal. */
import { byteLength, type JsonObject } from '../../ledger/json.ts';
import { asObject } from '../untyped.ts';
import { type Conversation, callKey } from './conversation.ts';
import { type ItemSpan, itemsIn } from './notices.ts';
import type { Outcome } from './outcome.ts';
import type { PlannedCall, Situation } from './situation.ts';
import { summarise } from './summary.ts';
import type { KnownTool } from './toolbox.ts';

/** A note is one line of so many bytes of UTF-8. */
const MAX_NOTE_BYTES = 240;
const NOTE_WORDS = 24;
const UNPRINTABLE = /[\p{C}\p{Z}]+/gu;
/** Not every wire flags a refusal: it is known by its first line. */
const REFUSED =
  /^(?:missing|the note)\b|\b(?:refused|was not called|nothing was done|still open|is open|cannot go|left the context|only evicted|never recorded|there is no (?:item|field|op)|must (?:not )?be|takes an object)\b/i;
const REFUSAL_CHARS = 300;

export function contextTool(tools: readonly KnownTool[]): KnownTool | undefined {
  return tools.find((known) => known.role === 'context');
}

/** The two items that the order names; how things stand, where it names none. */
export function orderedEdit(known: KnownTool, { directive, shapes }: Conversation): PlannedCall {
  const [from, to] = itemsIn(directive);
  if (from === undefined || to === undefined) return surveyCall(known);
  const [note] = shapes.quoted;
  return evictCall(known, { from, to }, note ?? null);
}

export function surveyCall(known: KnownTool): PlannedCall {
  return { name: known.tool.name, args: { op: 'survey' } };
}

/** What the reminder proposes, with a note in words of the request; null where no span is named. */
export function proposedCall({ conversation, tools }: Situation): PlannedCall | null {
  const known = contextTool(tools);
  const span = conversation.reminder?.span;
  return known === undefined || span == null ? null : evictCall(known, span, noteOf(span, conversation));
}

/** Evictions that were asked for since the reminder, oldest first. */
export function triedSince({ conversation, tools }: Situation): readonly Outcome[] {
  const known = contextTool(tools);
  const { reminder, outcomes } = conversation;
  if (known === undefined || reminder === null) return [];
  return outcomes.filter(
    (one) => one.at > reminder.at && one.name === known.tool.name && asObject(one.args)?.op === 'evict',
  );
}

function isRefused(tried: Outcome): boolean {
  const [line = ''] = tried.content.slice(0, REFUSAL_CHARS).split('\n', 1);
  return tried.failed || REFUSED.test(line);
}

/** A call that was just refused is made once more as the reminder proposes it. */
export function repairedCall(situation: Situation): PlannedCall | null {
  const last = triedSince(situation).at(-1);
  const call = last?.last === true && isRefused(last) ? proposedCall(situation) : null;
  return call === null || situation.conversation.made.has(callKey(call.name, call.args)) ? null : call;
}

/** Steps that only managed the context: they look at nothing. */
export function managingSteps({ conversation, tools }: Situation): number {
  const name = contextTool(tools)?.tool.name;
  const managed = conversation.outcomes.filter((one) => one.current && one.name === name);
  return new Set(managed.map((one) => one.at)).size;
}

function evictCall({ tool }: KnownTool, { from, to }: ItemSpan, note: string | null): PlannedCall {
  const args: JsonObject = note === null ? { op: 'evict', from, to } : { op: 'evict', from, to, note };
  return { name: tool.name, args };
}

/** The most telling words of the span's own results, else of all that was said. */
function noteOf({ from, to }: ItemSpan, { outcomes, said, directive }: Conversation): string | null {
  const stamped = outcomes.filter(({ item }) => item !== null && from <= item && item <= to);
  const texts = stamped.length > 0 ? stamped.map((one) => one.content) : said.map((one) => one.text);
  const words = summarise(texts.length > 0 ? texts.join('\n') : directive, NOTE_WORDS);
  const note = cutBytes(words.replace(UNPRINTABLE, ' ').trim(), MAX_NOTE_BYTES);
  return note === '' ? null : note;
}

function cutBytes(text: string, maxBytes: number): string {
  let kept = '';
  let bytes = 0;
  for (const character of text) {
    bytes += byteLength(character);
    if (bytes > maxBytes) break;
    kept += character;
  }
  return kept.trimEnd();
}
