/** Which span leaves: the one a model named, or the one the harness would take. */
import type { Span, SpanRefusal } from './acts.ts';
import { type Fact, itemsOf, openItem, type Piece, piecesOf, type ResidueBytes } from './facts.ts';

export function resolveSpan(
  facts: readonly Fact[],
  { from, to }: Span,
  residueBytes: ResidueBytes,
): Span | SpanRefusal {
  const numbers = itemsOf(facts).map(({ item }) => item);
  if (from > to) return 'backwards';
  if (numbers.length === 0) return 'empty';
  if (!numbers.includes(from) || !numbers.includes(to)) return 'never_recorded';
  if (openItem(facts) === to) return 'open';
  const pieces = piecesOf(facts, residueBytes);
  const named = pieces.filter((piece) => piece.from <= to && piece.to >= from);
  if (!named.some(isItem)) return named.length > 1 ? 'only_residues' : 'gone';
  return leaving(facts, named, pieces) ?? 'survivor';
}

/** Half the history stays, the newest item and its prompt first of all. null where nothing would leave. */
export function planSpan(facts: readonly Fact[], residueBytes: ResidueBytes): Span | null {
  const pieces = piecesOf(facts, residueBytes);
  const newest = pieces.findLast(isItem);
  if (newest === undefined) return null;
  const prompt = promptOf(facts, newest.from);
  const kept = pieces.filter((piece) => piece.from >= newest.from || piece.from === prompt);
  const candidates = pieces.filter((piece) => !kept.includes(piece));
  const keepBytes = Math.floor(weight(pieces) / 2);
  const overshoots = (piece: Piece) =>
    weight(kept) + weight(candidates.filter((other) => other.from >= piece.from)) > keepBytes;
  const first = candidates.findLast(overshoots);
  if (first === undefined) return null;
  const cutAt = answersTo(facts, first, pieces).at(-1)?.to ?? first.to;
  return leaving(
    facts,
    pieces.filter((piece) => piece.to <= cutAt),
    pieces,
  );
}

/**
 * A prompt stays while an answer to it stays. It parts the run in two, and what leaves is one span: the older part, or
 * the newer where the older has no item. null where neither has one.
 */
function leaving(facts: readonly Fact[], run: readonly Piece[], pieces: readonly Piece[]): Span | null {
  const staying = run.find((piece) =>
    answersTo(facts, piece, pieces).some((answer) => !run.includes(answer)),
  );
  const parts =
    staying === undefined
      ? [run]
      : [run.filter(({ to }) => to < staying.from), run.filter(({ from }) => from > staying.to)];
  const part = parts.find((candidate) => candidate.some(isItem));
  if (part === undefined) return null;
  return { from: Math.min(...part.map(({ from }) => from)), to: Math.max(...part.map(({ to }) => to)) };
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
