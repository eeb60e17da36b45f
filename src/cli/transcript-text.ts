/** The transcript as text for people. */
import type {
  Evicted,
  TranscriptFound,
  TranscriptIndex,
  TranscriptItems,
  TranscriptPart,
} from '../client/index.ts';
import { numbered } from './context-text.ts';
import { oneLine, shown } from './output.ts';
import { table } from './table.ts';

const LABEL_CHARS = 60;
const INDENT = '  ';
const ROLES = { user: 'prompt', assistant: 'step' } as const;

export function indexText({ items, evictions, unlisted, open, next }: TranscriptIndex): string {
  if (items.length === 0 && unlisted.length === 0) return 'No item is recorded here.';
  const rows = items.map(({ item, turn, role, kind, bytes, held, label }) => [
    `#${item}`,
    `T${turn}`,
    ROLES[role],
    kind,
    item === open ? 'open' : held,
    String(bytes),
    oneLine(label, LABEL_CHARS),
  ]);
  return [
    table(
      [
        { title: 'Item', align: 'right' },
        { title: 'Turn', align: 'right' },
        { title: 'Is' },
        { title: 'From' },
        { title: 'Held' },
        { title: 'Bytes', align: 'right' },
        { title: 'Label' },
      ],
      rows,
    ),
    ...evictions.map(
      ({ from, to, author, note }) =>
        `evicted ${span(from, to)} by the ${author}${note === null ? '' : `: ${JSON.stringify(shown(note))}`}`,
    ),
    ...unlisted.map(
      ({ turn, session, record, reason }) =>
        `T${turn} cannot be listed: record ${record} of session ${session}: ${shown(reason)}`,
    ),
    ...(next === null ? [] : [`There are more: --after ${next} goes on.`]),
  ].join('\n');
}

export function itemsText({ items }: TranscriptItems): string {
  return items
    .flatMap(({ item, turn, role, messages }) => [
      `#${item} ${ROLES[role]} T${turn}`,
      ...messages.flatMap((message) => [
        `${INDENT}${message.role}:`,
        ...message.parts.flatMap((part) => indented(shown(partText(part)))),
      ]),
    ])
    .join('\n');
}

export function foundText({ hits, total, skipped, searched_to: searchedTo }: TranscriptFound): string {
  const { turns, first } = skipped;
  return [
    ...hits.map(
      ({ item, turn, message, line, text }) => `#${item} T${turn} ${message}:${line} ${shown(text)}`,
    ),
    `${total} ${total === 1 ? 'line matches' : 'lines match'}${hits.length < total ? `; the oldest ${hits.length} are shown` : ''}.`,
    ...(first === null
      ? []
      : [
          `Turns passed over as unreadable: ${turns}. First: record ${first.record} of session ${first.session}: ${shown(first.reason)}`,
        ]),
    ...(searchedTo === null
      ? []
      : [`The search was cut short: it came to #${searchedTo.item} of #${searchedTo.of}.`]),
  ].join('\n');
}

export function evictedText({ evicted, pieces, history_bytes: bytes }: Evicted): string {
  const rows = pieces.map((piece) => [
    span(piece.from, piece.to),
    piece.fidelity,
    String(piece.bytes),
    piece.reason,
  ]);
  const columns = [
    { title: 'Items' },
    { title: 'As' },
    { title: 'Bytes', align: 'right' },
    { title: 'Because' },
  ] as const;
  return [
    `${span(evicted.from, evicted.to)} left the requests (record ${evicted.record}). The next one carries ${bytes} bytes of history:`,
    '',
    table(columns, rows),
  ].join('\n');
}

function partText(part: TranscriptPart): string {
  switch (part.type) {
    case 'text':
      return part.text;
    case 'reasoning':
      return `(thought) ${part.text}`;
    case 'program':
      return `called ${part.tool} ${part.source}`;
    case 'result':
      return `${part.tool} returned (${part.evidence ?? 'in place'}, ${part.status}):\n${part.text}`;
    case 'binary':
      return `(${part.media_type}, ${part.bytes} bytes)`;
    case 'custom':
      return `(kept by ${part.kind})`;
  }
}

function indented(text: string): readonly string[] {
  return text.split('\n').map((line) => `${INDENT}${INDENT}${line}`);
}

function span(from: number, to: number): string {
  return numbered('#', from, to);
}
