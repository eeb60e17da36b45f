/** What a head shows of itself: its context, and its transcript's index. */
import type { Span } from './acts.ts';
import {
  evictionsOf,
  type Fact,
  isResident,
  isSwallowed,
  itemsOf,
  piecesOf,
  type ResidueBytes,
} from './facts.ts';

export type ContextPiece =
  | { readonly kind: 'item'; readonly item: number }
  | { readonly kind: 'residue'; readonly from: number; readonly to: number; readonly note: string | null };

export interface ItemRow {
  readonly item: number;
  readonly role: 'user' | 'assistant';
  readonly kind: 'own' | 'import' | 'inherited';
  /** `evicted` is whatever requests do not carry, an item that a fork left behind included. */
  readonly held: 'resident' | 'evicted';
}

export interface EvictionRow extends Span {
  readonly note: string | null;
  readonly author: 'model' | 'harness' | 'operator';
  readonly held: 'resident' | 'swallowed';
}

export interface TranscriptIndex {
  /** By number. */
  readonly items: readonly ItemRow[];
  /** In the order in which they were made. */
  readonly evictions: readonly EvictionRow[];
}

export function contextOf(facts: readonly Fact[], residueBytes: ResidueBytes): readonly ContextPiece[] {
  return piecesOf(facts, residueBytes).map((piece) =>
    piece.kind === 'item'
      ? { kind: 'item', item: piece.from }
      : { kind: 'residue', from: piece.from, to: piece.to, note: piece.note },
  );
}

export function indexOf(facts: readonly Fact[]): TranscriptIndex {
  return {
    items: itemsOf(facts).map(({ item, role, kind }) => ({
      item,
      role,
      kind,
      held: isResident(facts, item) ? 'resident' : 'evicted',
    })),
    evictions: evictionsOf(facts).map((eviction) => ({
      from: eviction.from,
      to: eviction.to,
      note: eviction.note,
      author: eviction.author,
      held: isSwallowed(facts, eviction) ? 'swallowed' : 'resident',
    })),
  };
}
