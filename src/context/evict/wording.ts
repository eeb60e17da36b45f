/**
 * What eviction says to a model and to an operator. Residues, stamps and reminders stand in requests: a change of their
 * words is a change of WORDING_VERSION. What came from elsewhere is quoted, so that it adds no line and no marker.
 */
import { escapeMarkers } from '../assemble/markers.ts';
import type { Eviction, ItemRow, Measure, Span } from './contract.ts';

/** 1 KB is 1,000 bytes here. */
const KB_BYTES = 1_000;

export const kiloBytes = (bytes: number): string =>
  `${(bytes / KB_BYTES).toFixed(bytes < 100 * KB_BYTES ? 1 : 0)} KB`;

/** What breaks a line and stands unescaped in JSON. */
const JSON_BREAKS = /[\u0085\u2028\u2029]/gu;

/** Text of anybody's on one line of ours. */
const quoted = (text: string): string => escapeMarkers(JSON.stringify(text).replace(JSON_BREAKS, ' '));

/** Items `from` to `to`, however many they are. */
const itemRange = ({ from, to }: Span): string => (from === to ? `#${from}` : `#${from}–#${to}`);

/** Both numbers are always named. The line in the middle is left out where there is no note. */
export function residueWords({ from, to }: Span, note: string | null): string {
  return [
    `[evicted #${from}–#${to}: out of the context, kept in the transcript.`,
    ...(note === null ? [] : [`Note: ${quoted(note)}`]),
    `Read any back: transcript ${JSON.stringify({ op: 'read', items: [from] })}]`,
  ].join('\n');
}

export const stampWords = (item: number): string => `[item #${item}]`;

/** `span`: what the next eviction would take. */
export function pressureWords(figure: string, span: Span | null): string {
  if (span === null) return `[pressure] The context holds ${figure}.`;
  const call = JSON.stringify({ op: 'evict', from: span.from, to: span.to, note: '…' });
  return [
    `[pressure] The context holds ${figure}. The next eviction would take ${itemRange(span)} out of it.`,
    'Nothing is lost: the tool transcript reads every item back.',
    `To leave a line to yourself in their place, call context with ${call}, your one essential fact as the note.`,
    'The prompt in hand stays. Nothing is required of you: go on with the work.',
  ].join('\n');
}

function measureWords(measure: Measure): string {
  switch (measure.unit) {
    case 'tokens':
      return `${measure.used} of ${measure.limit} tokens`;
    case 'bytes':
      return `${kiloBytes(measure.used)} of history; the model's window is not known`;
    case 'stale':
      return 'unknown until the next reply';
  }
}

export const SURVEY_WORDS = {
  head: (measure: Measure, pieces: number, bytes: number): string =>
    `Context: ${measureWords(measure)}. ${pieces === 0 ? 'It holds no item.' : `What it holds, ${kiloBytes(bytes)} of it, oldest first:`}`,
  item: ({ item, role, kind, turn, label }: ItemRow, bytes: number): string =>
    [
      `#${item} ${role === 'user' ? 'prompt' : 'step'} T${turn}`,
      ...(kind === 'own' ? [] : [kind]),
      kiloBytes(bytes),
      ...(label === '' ? [] : [quoted(label)]),
    ].join(' '),
  residue: ({ from, to, note }: Eviction): string =>
    `#${from}–#${to} evicted${note === null ? '' : `, ${quoted(note)}`}`,
  run: (span: Span, items: number, residues: number, bytes: number): string =>
    [
      `${itemRange(span)}: ${items} items`,
      ...(residues === 0 ? [] : [`${residues} evicted spans`]),
      kiloBytes(bytes),
    ].join(', '),
} as const;

export const NOTE_WORDS = {
  empty: 'The note is empty. Write one essential fact, or leave the note out.',
  size: (bytes: number, most: number): string =>
    `The note has ${bytes} bytes of UTF-8; at most ${most} fit. Keep one essential fact.`,
  lines: 'The note has more than one line. Write it on one line.',
  unprintable: (point: string): string =>
    `The note holds the character ${point}, which is not printable. Write it in plain text.`,
} as const;

export const SPAN_WORDS = {
  backwards: ({ from, to }: Span): string =>
    `from is #${from} and to is #${to}: from must not be larger. Both ends are included.`,
  empty: (item: number): string => `There is no item #${item}: nothing has been recorded yet.`,
  never_recorded: (item: number, newest: number): string =>
    `There is no item #${item} here. The highest number is #${newest}.`,
  open: (item: number): string =>
    `Item #${item} is still open, and an eviction never touches work in hand. Name items before it.`,
  gone: (span: Span, lowest: number | null): string =>
    `${itemRange(span)} left the context earlier, and can be read with transcript. ${present(lowest)}`,
  only_residues: (span: Span, lowest: number | null): string =>
    `Between #${span.from} and #${span.to} only evicted spans are left, and no item that could leave. ${present(lowest)}`,
  survivor: (prompt: number, answers: Span): string =>
    `Prompt #${prompt} cannot go without its answers ${itemRange(answers)}. Name those too, or leave the prompt out.`,
  in_hand: (prompt: number, open: number): string =>
    `Prompt #${prompt} cannot go: its answer #${open} is still open. Name items before it.`,
} as const;

const present = (lowest: number | null): string =>
  lowest === null ? 'No item is left in the context.' : `The lowest item still in it is #${lowest}.`;

const FORMS = 'Calls are {"op":"survey"} and {"op":"evict","from":12,"to":40,"note":"one line, optional"}.';

export const CALL_WORDS = {
  shape: `A call of context takes an object. ${FORMS}`,
  missing: (fields: readonly string[]): string => `Missing: ${fields.join(', ')}. ${FORMS}`,
  op: (given: string): string => `There is no op ${given}. ${FORMS}`,
  fields: (given: readonly string[], op: string): string =>
    `There is no field ${given.join(', ')} in op ${op}, so nothing was done. ${FORMS}`,
  item: (field: string, given: string): string =>
    `${field} must be the number of an item, such as 12, and is ${given}. ${FORMS}`,
  note: (given: string): string => `note must be a text, and is ${given}. ${FORMS}`,
} as const;

/** What the system text says of it. */
export const EVICTION = `Prompts and steps are numbered #1, #2 and so on; a result ends with the number of its step. Where older ones left the context, a line says which: transcript reads them back, or finds words in them. context lists what you hold, and takes out what you do not need any more.`;
