/** What a span that a model or an operator names comes to: the span that is recorded, or why there is none. */
import type { ItemTable, Piece, Span } from './contract.ts';
import { type NoteReading, parseNote } from './note.ts';
import { piecesOf, reachOf } from './pieces.ts';
import { itemsIn, type Parted, partedPrompt, type Run, spanOver } from './survivors.ts';
import { SPAN_WORDS } from './wording.ts';

export interface AskedSpan extends Span {
  readonly note?: string | null | undefined;
}

export type SpanRefusal =
  | 'backwards'
  | 'empty'
  | 'never_recorded'
  | 'open'
  | 'gone'
  | 'only_residues'
  | 'survivor';

export type Resolved =
  | { readonly ok: true; readonly span: Span; readonly note: string | null }
  | { readonly ok: false; readonly reason: SpanRefusal; readonly message: string }
  | Extract<NoteReading, { readonly ok: false }>;

/**
 * Takes every resident item between the two numbers, and swallows each residue that they touch. Ends are moved so that no
 * prompt goes before its answers. Without open work the whole context may leave.
 */
export function resolveSpan(table: ItemTable, asked: AskedSpan): Resolved {
  const note = asked.note === undefined || asked.note === null ? null : parseNote(asked.note);
  if (note?.ok === false) return note;
  const refusal = unnameable(table, asked);
  if (refusal !== null) return refusal;
  const pieces = piecesOf(table);
  const run = touched(pieces, asked);
  const parted = partedPrompt(pieces, run);
  const span =
    parted === null
      ? spanOver(pieces, run)
      : (spanOver(pieces, { ...run, last: parted.at - 1 }) ??
        spanOver(pieces, { ...run, first: parted.at + 1 }));
  if (span !== null) return { ok: true, span, note: note?.note ?? null };
  return parted === null ? departed(pieces, run, asked) : unanswered(table, pieces, parted);
}

type Refused = Extract<Resolved, { readonly ok: false }>;

/** Ends that name nothing, or work in hand. */
function unnameable({ items, evictions, open }: ItemTable, asked: AskedSpan): Refused | null {
  const { from, to } = asked;
  if (from > to) return refused('backwards', SPAN_WORDS.backwards({ from, to }));
  const known = (item: number): boolean =>
    items.some((row) => row.item === item) || evictions.some((left) => left.from <= item && item <= left.to);
  const unknown = [from, to].find((item) => !known(item));
  const newest = newestOf(items, evictions);
  if (newest === null) return refused('empty', SPAN_WORDS.empty(from));
  if (unknown !== undefined) return refused('never_recorded', SPAN_WORDS.never_recorded(unknown, newest));
  if (open !== null && from <= open && open <= to) return refused('open', SPAN_WORDS.open(open));
  return null;
}

function newestOf(items: ItemTable['items'], evictions: ItemTable['evictions']): number | null {
  const highest = evictions.reduce((most, { to }) => Math.max(most, to), items.at(-1)?.item ?? -1);
  return highest === -1 ? null : highest;
}

function touched(pieces: readonly Piece[], { from, to }: Span): Run {
  return {
    first: pieces.findIndex((piece) => reachOf(piece).to >= from),
    last: pieces.findLastIndex((piece) => reachOf(piece).from <= to),
  };
}

/** All that was named has left: by one eviction, or by several. */
function departed(pieces: readonly Piece[], run: Run, { from, to }: Span): Refused {
  const lowest = itemsIn(pieces, { first: 0, last: pieces.length - 1 })[0] ?? null;
  return run.first === run.last
    ? refused('gone', SPAN_WORDS.gone({ from, to }, lowest))
    : refused('only_residues', SPAN_WORDS.only_residues({ from, to }, lowest));
}

/** A prompt alone was named. Answers that are still being written cannot be added. */
function unanswered({ open }: ItemTable, pieces: readonly Piece[], { at, left }: Parted): Refused {
  const prompt = itemsIn(pieces, { first: at, last: at })[0] ?? left.from;
  return open !== null && left.from <= open && open <= left.to
    ? refused('survivor', SPAN_WORDS.in_hand(prompt, open))
    : refused('survivor', SPAN_WORDS.survivor(prompt, left));
}

function refused(reason: SpanRefusal, message: string): Refused {
  return { ok: false, reason, message };
}
