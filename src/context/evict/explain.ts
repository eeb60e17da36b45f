/** What requests carry of a head, in words, for whoever asks why a request looks as it does. Made when asked, never stored. */
import type { ItemTable, Measure, Piece, Span } from './contract.ts';
import { DUE_BYTES, PRESSED_BYTES, reserveTokens } from './gauge.ts';
import { piecesOf, reachOf } from './pieces.ts';

/** Neighbours that are carried alike for one reason. */
export interface ItemRun extends Span {
  readonly fidelity: 'verbatim' | 'residue';
  readonly bytes: number;
  readonly reason: string;
}

/** How full a request may get: `pressureFrom` and `dueFrom` are the least that reaches a line. */
export interface Room {
  readonly unit: 'tokens' | 'bytes';
  /** null where nothing was measured since the history was edited. */
  readonly used: number | null;
  /** The largest prompt; null where nobody knows the window. */
  readonly limit: number | null;
  readonly pressureFrom: number;
  readonly dueFrom: number;
}

/** Oldest first. Together they weigh what the requests carry. */
export function explainItems(table: Pick<ItemTable, 'items' | 'evictions'>): readonly ItemRun[] {
  const runs: ItemRun[] = [];
  for (const run of piecesOf(table).map(runOf)) {
    const last = runs.at(-1);
    if (last?.fidelity === 'verbatim' && run.fidelity === 'verbatim')
      runs[runs.length - 1] = { ...last, to: run.to, bytes: last.bytes + run.bytes };
    else runs.push(run);
  }
  return runs;
}

export function roomOf(measure: Measure, limit: number | null): Room {
  const used = measure.unit === 'stale' ? null : measure.used;
  if (limit === null) return { unit: 'bytes', used, limit, pressureFrom: PRESSED_BYTES, dueFrom: DUE_BYTES };
  const reserve = reserveTokens(limit);
  const from = (reserves: number): number => Math.max(0, limit - reserves * reserve + 1);
  return { unit: 'tokens', used, limit, pressureFrom: from(2), dueFrom: from(1) };
}

function runOf(piece: Piece): ItemRun {
  const { from, to } = reachOf(piece);
  const { bytes } = piece;
  return piece.kind === 'item'
    ? { from, to, fidelity: 'verbatim', bytes, reason: 'carried as it was recorded' }
    : { from, to, fidelity: 'residue', bytes, reason: `evicted by the ${piece.eviction.author}` };
}
