/** The one walk over a head: what a request carries of it. What is rendered, weighed, counted and planned follows from here. */
import type { Eviction, ItemTable, Piece, Span } from './contract.ts';
import { residueBytes } from './residue.ts';

/** Items that no span covers and, where a span begins, its residue; oldest first. A swallowed span is not seen. */
export function piecesOf({ items, evictions }: Pick<ItemTable, 'items' | 'evictions'>): readonly Piece[] {
  const pieces: Piece[] = [];
  const spans = outermost(evictions);
  let next = 0;
  let covered = Number.NEGATIVE_INFINITY;
  const standResidues = (before: number): void => {
    for (let span = spans[next]; span !== undefined && span.from <= before; span = spans[++next]) {
      pieces.push({ kind: 'residue', eviction: span, bytes: residueBytes(span) });
      covered = span.to;
    }
  };
  for (const row of items) {
    standResidues(row.item);
    if (row.item > covered) pieces.push({ kind: 'item', row, bytes: row.bytes });
  }
  standResidues(Number.POSITIVE_INFINITY);
  return pieces;
}

/** As they weigh in a request. */
export function historyBytes(pieces: readonly Piece[]): number {
  return pieces.reduce((bytes, piece) => bytes + piece.bytes, 0);
}

/** The numbers that a piece stands for. */
export function reachOf(piece: Piece): Span {
  return piece.kind === 'item' ? { from: piece.row.item, to: piece.row.item } : piece.eviction;
}

/** Spans that no other one holds, by their place. Of two that are equal the later one stands. */
function outermost(evictions: readonly Eviction[]): readonly Eviction[] {
  const ordered = evictions
    .map((eviction, made) => ({ eviction, made }))
    .sort((a, b) => a.eviction.from - b.eviction.from || b.eviction.to - a.eviction.to || b.made - a.made);
  let reach = Number.NEGATIVE_INFINITY;
  return ordered.flatMap(({ eviction }) => {
    if (eviction.to <= reach) return [];
    reach = eviction.to;
    return [eviction];
  });
}
