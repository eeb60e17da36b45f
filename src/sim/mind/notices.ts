/**
 * What the runtime says of the context itself, in the voice of the user: that items left it, that it fills up, and
 * which item a result belongs to. None of it was said by a person, none of it orders anything, and only the note of
 * what left may answer. Items are numbers, written `#<n>`.
 */

/** Both ends included. */
export interface ItemSpan {
  readonly from: number;
  readonly to: number;
}

/** Stands where the items of its span stood. */
export interface Residue extends ItemSpan {
  readonly kind: 'residue';
  /** In the words of whoever took them out; null where nothing was left. */
  readonly note: string | null;
}

export interface Reminder {
  readonly kind: 'reminder';
  /** What may be taken out, where it is named. */
  readonly span: ItemSpan | null;
}

/** A notice is short: nothing of it stands beyond. */
const MAX_NOTICE_CHARS = 4_000;
const HEAD_CHARS = 80;
const RESIDUE = /^\s*\[evicted\b/i;
const REMINDER = /^\s*\[[^\]\n]{0,60}\bpressure\b/i;
/** The call that a reminder proposes. */
const PROPOSED = /["']?op["']?\s?:\s?["']evict["']/;
const END = { from: /["']?\bfrom["']?\s?:\s?(\d{1,15})/, to: /["']?\bto["']?\s?:\s?(\d{1,15})/ };
const ITEM = /#(\d{1,15})/g;
/** A call that is spelled out holds quotes of its own. */
const SPELLED = /\{[^{}\n]{0,600}\}/g;
const QUOTE = /"(?:[^"\\\n]|\\.){1,1000}"/;
const STAMP = /\s*\[item #(\d{1,15})\]\s*$/;
const STAMP_CHARS = 40;

/** null for every other text. */
export function noticeIn(text: string): Residue | Reminder | null {
  const head = text.slice(0, HEAD_CHARS);
  if (!/^\s*\[/.test(head)) return null;
  return residueIn(text, head) ?? reminderIn(text, head);
}

/** A result without the stamp that ends it, and the item the stamp names. */
export function unstamped(content: string): { readonly content: string; readonly item: number | null } {
  const stamp = STAMP.exec(content.slice(-STAMP_CHARS));
  if (stamp === null) return { content, item: null };
  return { content: content.slice(0, content.length - stamp[0].length), item: Number(stamp[1]) };
}

/** The numbers in a text, as items are written. */
export function itemsIn(text: string): readonly number[] {
  return [...text.matchAll(ITEM)].map((match) => Number(match[1]));
}

function residueIn(text: string, head: string): Residue | null {
  if (!RESIDUE.test(head)) return null;
  const told = text.slice(0, MAX_NOTICE_CHARS);
  const [from, to] = itemsIn(told);
  if (from === undefined || to === undefined) return null;
  return { kind: 'residue', from, to, note: noteIn(told.replace(SPELLED, '')) };
}

function noteIn(told: string): string | null {
  const quoted = QUOTE.exec(told)?.[0];
  if (quoted === undefined) return null;
  try {
    return String(JSON.parse(quoted));
  } catch {
    return quoted.slice(1, -1);
  }
}

/** Named in the call that is proposed, else by the first two items. */
function reminderIn(text: string, head: string): Reminder | null {
  const told = text.slice(0, MAX_NOTICE_CHARS);
  if (!REMINDER.test(head) && !PROPOSED.test(told)) return null;
  const ends = [END.from, END.to].map((end) => end.exec(told)?.[1]);
  const [from, to] = ends.every((end) => end !== undefined) ? ends.map(Number) : itemsIn(told);
  return { kind: 'reminder', span: from === undefined || to === undefined ? null : { from, to } };
}
