/** What requests say of what left them, in the reference's own copy: a change of these words is one of every request. */
import type { AskedEdit, Filled, Span } from './acts.ts';
import { utf8Bytes } from './bytes.ts';

/** Of a call whose turn ended before it did. */
export const NO_RESULT =
  'No result: the turn ended before this call finished. It may or may not have taken effect.';

export const stampOf = (item: number): string => `\n[item #${item}]`;

export function residueOf({ from, to, note }: AskedEdit): string {
  const noted = note === null ? '' : `\nNote: ${JSON.stringify(note)}`;
  return `[evicted #${from}–#${to}: out of the context, kept in the transcript.${noted}\nRead any back: transcript {"op":"read","items":[${from}]}]`;
}

export function reminderOf({ used, limit }: Filled, span: Span | null): string {
  const figure = `[pressure] The context holds ${used} of ${limit} tokens.`;
  if (span === null) return figure;
  const { from, to } = span;
  return [
    `${figure} The next eviction would take ${from === to ? `#${from}` : `#${from}–#${to}`} out of it.`,
    'Nothing is lost: the tool transcript reads every item back.',
    `To leave a line to yourself in their place, call context with {"op":"evict","from":${from},"to":${to},"note":"…"}, your one essential fact as the note.`,
    'The prompt in hand stays. Nothing is required of you: go on with the work.',
  ].join('\n');
}

/** A message of one text, as it weighs. */
export function textBytes(text: string): number {
  return MESSAGE_BYTES + utf8Bytes(text);
}

/** What a message weighs beside its content. */
export const MESSAGE_BYTES = 16;
