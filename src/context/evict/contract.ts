/**
 * What the policy `evict` is made of: every item of a head, and the spans that left its requests. An item is resident
 * unless a span covers it; a span that no later one swallowed stands in the requests as its residue. Nothing else is
 * kept: what is carried, weighed and counted follows from these two lists, in one walk.
 */
import type { EVICTION_AUTHORS } from '../../ledger/items.ts';

export type EvictionAuthor = (typeof EVICTION_AUTHORS)[number];

/** Numbers of items, both ends included. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

export interface ItemRow {
  /** Its number. Numbers rise along a lineage, with gaps where another head took some, and are never given twice. */
  readonly item: number;
  /** A prompt, or a step of the answer to the prompt before it. */
  readonly role: 'user' | 'assistant';
  readonly kind: 'own' | 'import' | 'inherited';
  /** Number of the turn it belongs to. */
  readonly turn: number;
  readonly label: string;
  /** As it weighs in a request. */
  readonly bytes: number;
}

/** As it was resolved when it was made. Spans are nested or apart, never crossed. */
export interface Eviction extends Span {
  readonly note: string | null;
  readonly author: EvictionAuthor;
}

export interface ItemTable {
  /** By number. Items that a resident span covers may be left out: nothing of a request hangs on them. */
  readonly items: readonly ItemRow[];
  /** In the order in which they were made. */
  readonly evictions: readonly Eviction[];
  /** The item that still grows: the newest of a turn that runs. null at rest. */
  readonly open: number | null;
}

export interface ItemPiece {
  readonly kind: 'item';
  readonly row: ItemRow;
  readonly bytes: number;
}

export interface ResiduePiece {
  readonly kind: 'residue';
  readonly eviction: Eviction;
  /** Of its message, as it weighs in a request. */
  readonly bytes: number;
}

/** What a request carries of the head, oldest first. */
export type Piece = ItemPiece | ResiduePiece;

/** Where the newest request stood. `stale`: the history was edited since, or nothing was measured yet. */
export type Measure =
  | { readonly unit: 'tokens'; readonly used: number; readonly limit: number }
  | { readonly unit: 'bytes'; readonly used: number }
  | { readonly unit: 'stale' };
