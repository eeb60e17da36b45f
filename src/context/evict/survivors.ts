/**
 * A prompt stays while one of its answers stays: no answer is ever read without what it answers. The answers to a prompt
 * are the items after it up to the next prompt, as far as they are resident.
 */
import type { Piece, Span } from './contract.ts';
import { reachOf } from './pieces.ts';

/** Places of pieces, both ends included; none where `first` is behind `last`. */
export interface Run {
  readonly first: number;
  readonly last: number;
}

/** A prompt that a run would take and some of whose answers it would not: where it stands, and which they are. */
export interface Parted {
  readonly at: number;
  readonly left: Span;
}

/** Only the last prompt of a run can be parted from an answer: all answers to those before it stand between. */
export function partedPrompt(pieces: readonly Piece[], run: Run): Parted | null {
  const at = promptAt(pieces, run.last);
  if (at === null || at < run.first) return null;
  const left = itemsIn(pieces, { first: run.last + 1, last: lastAnswerAt(pieces, at) });
  const first = left[0];
  const last = left.at(-1);
  return first === undefined || last === undefined ? null : { at, left: { from: first, to: last } };
}

/** Place of the prompt that what stands at `place` belongs to: itself, or the nearest one before. */
export function promptAt(pieces: readonly Piece[], place: number): number | null {
  for (let at = place; at >= 0; at--) if (isPrompt(pieces[at])) return at;
  return null;
}

/** Place of the newest answer to what stands at `place`, or the place itself where none is behind it. */
export function lastAnswerAt(pieces: readonly Piece[], place: number): number {
  let newest = place;
  for (let at = place + 1; at < pieces.length && !isPrompt(pieces[at]); at++)
    if (pieces[at]?.kind === 'item') newest = at;
  return newest;
}

export function isPrompt(piece: Piece | undefined): boolean {
  return piece?.kind === 'item' && piece.row.role === 'user';
}

/** Numbers of the items of a run; residues have none. */
export function itemsIn(pieces: readonly Piece[], { first, last }: Run): readonly number[] {
  return pieces
    .slice(Math.max(0, first), Math.max(0, last + 1))
    .flatMap((piece) => (piece.kind === 'item' ? [piece.row.item] : []));
}

/** The one span over a run, residues at its ends included; null where the run has no item. */
export function spanOver(pieces: readonly Piece[], run: Run): Span | null {
  const first = pieces[run.first];
  const last = pieces[run.last];
  if (first === undefined || last === undefined || itemsIn(pieces, run).length === 0) return null;
  return { from: reachOf(first).from, to: reachOf(last).to };
}
