/** A head as the list of what happened on it, oldest first; all that is asked of it is worked out of the list anew. */
import type { Span } from './acts.ts';

export interface ItemFact {
  readonly fact: 'item';
  readonly item: number;
  readonly role: 'user' | 'assistant';
  readonly kind: 'own' | 'import' | 'inherited';
  /** Index of the session that recorded it first. */
  readonly origin: number;
  readonly text: string;
  readonly bytes: number;
  /** Results that it owes. */
  readonly calls: number;
}

export interface EvictionFact extends Span {
  readonly fact: 'evicted';
  readonly note: string | null;
  readonly author: 'model' | 'harness';
}

export type Fact =
  | ItemFact
  | EvictionFact
  | { readonly fact: 'results' | 'steering'; readonly item: number; readonly bytes: number }
  /** A fork found the item owing results: its requests go without it. */
  | { readonly fact: 'uncarried'; readonly item: number }
  | { readonly fact: 'closed' | 'cleared' };

/** What a request carries: an item, or the residue that stands for a span. */
export type Piece =
  | { readonly kind: 'item'; readonly from: number; readonly to: number; readonly bytes: number }
  | {
      readonly kind: 'residue';
      readonly from: number;
      readonly to: number;
      readonly bytes: number;
      readonly note: string | null;
    };

/** What a residue weighs in a request, in bytes. */
export type ResidueBytes = (from: number, to: number, note: string | null) => number;

export function sinceCleared(facts: readonly Fact[]): readonly Fact[] {
  return facts.slice(facts.findLastIndex((fact) => fact.fact === 'cleared') + 1);
}

export function itemsOf(facts: readonly Fact[]): readonly ItemFact[] {
  return sinceCleared(facts).filter((fact) => fact.fact === 'item');
}

export function evictionsOf(facts: readonly Fact[]): readonly EvictionFact[] {
  return sinceCleared(facts).filter((fact) => fact.fact === 'evicted');
}

/** Whether a later eviction took the residue. */
export function isSwallowed(facts: readonly Fact[], eviction: EvictionFact): boolean {
  const all = evictionsOf(facts);
  return all.slice(all.indexOf(eviction) + 1).some((later) => covers(later, eviction.from));
}

/** Whether requests carry the item itself. */
export function isResident(facts: readonly Fact[], item: number): boolean {
  if (evictionsOf(facts).some((eviction) => covers(eviction, item))) return false;
  return !facts.some((fact) => fact.fact === 'uncarried' && fact.item === item);
}

/** The one walk: what a request carries, oldest first. */
export function piecesOf(facts: readonly Fact[], residueBytes: ResidueBytes): readonly Piece[] {
  const items = itemsOf(facts)
    .filter(({ item }) => isResident(facts, item))
    .map(({ item }): Piece => ({ kind: 'item', from: item, to: item, bytes: bytesOf(facts, item) }));
  const residues = evictionsOf(facts)
    .filter((eviction) => !isSwallowed(facts, eviction))
    .map(
      ({ from, to, note }): Piece => ({
        kind: 'residue',
        from,
        to,
        note,
        bytes: residueBytes(from, to, note),
      }),
    );
  return [...items, ...residues].toSorted((one, other) => one.from - other.from);
}

/** Steering that waits for results counts once they came: no request said it before. */
function bytesOf(facts: readonly Fact[], item: number): number {
  const owes = owesResults(facts, item);
  return facts
    .filter((fact) => 'item' in fact && fact.item === item)
    .map((fact) => (!('bytes' in fact) || (fact.fact === 'steering' && owes) ? 0 : fact.bytes))
    .reduce((sum, bytes) => sum + bytes, 0);
}

export function owesResults(facts: readonly Fact[], item: number): boolean {
  const called = facts.some((fact) => fact.fact === 'item' && fact.item === item && fact.calls > 0);
  return called && !facts.some((fact) => fact.fact === 'results' && fact.item === item);
}

/** The newest item of a turn that runs; null at rest. */
export function openItem(facts: readonly Fact[]): number | null {
  const closedAt = facts.findLastIndex((fact) => fact.fact === 'closed' || fact.fact === 'cleared');
  return facts.slice(closedAt + 1).findLast((fact) => fact.fact === 'item')?.item ?? null;
}

function covers(span: Span, item: number): boolean {
  return span.from <= item && item <= span.to;
}
