/** Which span leaves: the one a model named, or the one the harness would take. */
import type { Span, SpanRefusal } from './acts.ts';
import {
  evictionsOf,
  type Fact,
  itemsOf,
  openItem,
  type Piece,
  piecesOf,
  type ResidueBytes,
} from './facts.ts';

export function resolveSpan(
  facts: readonly Fact[],
  { from, to }: Span,
  residueBytes: ResidueBytes,
): Span | SpanRefusal {
  const numbers = itemsOf(facts).map(({ item }) => item);
  if (from > to) return 'backwards';
  if (numbers.length === 0) return 'empty';
  // What another head took inside of a span counts as gone: nobody can tell once the span covers it.
  const isKnown = (end: number) =>
    numbers.includes(end) || evictionsOf(facts).some((span) => span.from <= end && end <= span.to);
  if (!isKnown(from) || !isKnown(to)) return 'never_recorded';
  if (openItem(facts) === to) return 'open';
  const pieces = piecesOf(facts, residueBytes);
  const named = pieces.filter((piece) => piece.from <= to && piece.to >= from);
  if (!named.some(isItem)) return named.length > 1 ? 'only_residues' : 'gone';
  return leaving(facts, named, pieces) ?? 'survivor';
}

/**
 * Half the history stays, and the newest item and its prompt first of all. What overshoots is the cut. null where nothing
 * that may leave would make the history smaller.
 */
export function planSpan(facts: readonly Fact[], residueBytes: ResidueBytes): Span | null {
  const pieces = piecesOf(facts, residueBytes);
  const newest = pieces.findLast(isItem);
  if (newest === undefined) return null;
  const prompt = promptOf(facts, newest.from) ?? newest.from;
  const kept = pieces.filter((piece) => piece === newest || (isItem(piece) && piece.from === prompt));
  const others = pieces.filter((piece) => !kept.includes(piece));
  const keepBytes = Math.floor(weight(pieces) / 2);
  const overshoots = (piece: Piece) =>
    weight(kept) + weight(others.filter((other) => other.from >= piece.from)) > keepBytes;
  const cut = others.findLast(overshoots);
  if (cut === undefined) return null;
  const before = (end: number) => pieces.filter((piece) => piece.from < end);
  const ownSteps = pieces.filter((piece) => piece.from > prompt && piece.from < newest.from);
  const runs =
    cut.from > prompt
      ? [before(prompt), ownSteps.filter((piece) => piece.from <= cut.from), ownSteps]
      : [...olderRuns(facts, pieces, cut, residueBytes), ownSteps];
  const frees = (run: readonly Piece[]) =>
    run.some(isItem) && !run.some((piece) => kept.includes(piece)) && freed(run, residueBytes) > 0;
  const run = runs.find(frees);
  return run === undefined ? null : spanOf(run);
}

/**
 * What stands up to the cut. An older prompt that is cut from some of its answers stays, and of what it parts the heavier
 * side leaves, the older of equal ones. Where that is nothing, the next group leaves with it.
 */
function olderRuns(
  facts: readonly Fact[],
  pieces: readonly Piece[],
  cut: Piece,
  residueBytes: ResidueBytes,
): readonly (readonly Piece[])[] {
  const upTo = (end: Piece) => pieces.filter((piece) => piece.from <= end.from);
  const groupEnd = (piece: Piece) =>
    answersTo(
      facts,
      pieces.find((one) => isItem(one) && one.from === promptOf(facts, piece.from)) ?? piece,
      pieces,
    ).at(-1) ?? piece;
  const run = upTo(answersTo(facts, cut, pieces).at(-1) ?? cut);
  const staying = stayingIn(facts, run, pieces);
  if (staying !== undefined) {
    const sides = [
      run.filter((piece) => piece.from < staying.from),
      run.filter((piece) => piece.from > staying.from),
    ];
    const heavier = sides.toSorted((one, other) => freed(other, residueBytes) - freed(one, residueBytes));
    return [...heavier, upTo(groupEnd(staying))];
  }
  const next = pieces.find((piece) => isItem(piece) && !run.includes(piece) && piece.from > cut.from);
  return next === undefined ? [run] : [run, upTo(groupEnd(next))];
}

/** A prompt stays while an answer to it stays. It parts a run in two; null where neither part has an item. */
function leaving(facts: readonly Fact[], run: readonly Piece[], pieces: readonly Piece[]): Span | null {
  const staying = stayingIn(facts, run, pieces);
  const parts =
    staying === undefined
      ? [run]
      : [run.filter(({ to }) => to < staying.from), run.filter(({ from }) => from > staying.to)];
  const part = parts.find((candidate) => candidate.some(isItem));
  return part === undefined ? null : spanOf(part);
}

function stayingIn(
  facts: readonly Fact[],
  run: readonly Piece[],
  pieces: readonly Piece[],
): Piece | undefined {
  return run.find((piece) => answersTo(facts, piece, pieces).some((answer) => !run.includes(answer)));
}

function spanOf(run: readonly Piece[]): Span {
  return { from: Math.min(...run.map(({ from }) => from)), to: Math.max(...run.map(({ to }) => to)) };
}

/** By how much the history gets smaller. */
function freed(run: readonly Piece[], residueBytes: ResidueBytes): number {
  if (!run.some(isItem)) return 0;
  const { from, to } = spanOf(run);
  return weight(run) - residueBytes(from, to, null);
}

/** The resident answers to a prompt; of anything else, none. */
function answersTo(facts: readonly Fact[], piece: Piece, pieces: readonly Piece[]): readonly Piece[] {
  return pieces.filter(
    (other) =>
      isItem(other) && other.from > piece.from && promptOf(facts, other.from) === piece.from && isItem(piece),
  );
}

/** The prompt that an item answers; of a prompt, itself. */
function promptOf(facts: readonly Fact[], number: number): number | undefined {
  return itemsOf(facts).findLast(({ item, role }) => role === 'user' && item <= number)?.item;
}

function isItem(piece: Piece): boolean {
  return piece.kind === 'item';
}

function weight(pieces: readonly Piece[]): number {
  return pieces.reduce((sum, { bytes }) => sum + bytes, 0);
}
