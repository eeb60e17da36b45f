/** A head as the list of what happened on it, oldest first; all that is asked of it is worked out of the list anew. */
import type { AskedEdit, Span } from './acts.ts';

export interface ItemFact {
  readonly fact: 'item';
  readonly item: number;
  readonly role: 'user' | 'assistant';
  readonly kind: 'own' | 'import' | 'inherited';
  /** Index of the session that recorded it first. */
  readonly origin: number;
  readonly text: string;
  readonly bytes: number;
  /** Results that it owes, beside those of its edits. */
  readonly calls: number;
  readonly edits: readonly AskedEdit[];
  /** Of a reply: whether its prompt filled the window. */
  readonly filled: boolean;
}

export interface EvictionFact extends Span {
  readonly fact: 'evicted';
  readonly note: string | null;
  readonly author: 'model' | 'harness' | 'operator';
}

export interface ResultsFact {
  readonly fact: 'results';
  readonly item: number;
  readonly bytes: number;
  readonly contents: readonly string[];
}

export interface SteeringFact {
  readonly fact: 'steering';
  readonly text: string;
  readonly bytes: number;
}

/** That an eviction is near, told to the model behind an item. */
export interface ReminderFact {
  readonly fact: 'reminder';
  readonly item: number;
  readonly text: string;
  readonly bytes: number;
}

export type Fact =
  | ItemFact
  | EvictionFact
  | ResultsFact
  | SteeringFact
  | ReminderFact
  /** A request is begun within the turn: it carries all that was said. */
  | { readonly fact: 'asked' }
  /** A fork found the item owing results: its requests go without it. */
  | { readonly fact: 'uncarried'; readonly item: number }
  /** `cut`: by a fork, that found it open. */
  | { readonly fact: 'closed'; readonly cut?: boolean }
  | { readonly fact: 'cleared' };

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

function bytesOf(facts: readonly Fact[], item: number): number {
  const own = facts.filter((fact) => 'item' in fact && fact.item === item);
  return [...own, ...saidIn(facts, item)].reduce((sum, fact) => sum + ('bytes' in fact ? fact.bytes : 0), 0);
}

/**
 * What was said stands behind the newest item there is as a request first carries it; where the turn ends before one
 * does, behind its last.
 */
export function saidIn(facts: readonly Fact[], item: number): readonly SteeringFact[] {
  return facts.filter((fact, at): fact is SteeringFact => {
    if (fact.fact !== 'steering') return false;
    const carried = facts.findIndex((later, place) => place > at && CARRIES.includes(later.fact));
    if (carried === -1) return false;
    return facts.slice(0, carried).findLast((earlier) => earlier.fact === 'item')?.item === item;
  });
}

const CARRIES: readonly Fact['fact'][] = ['asked', 'closed', 'cleared'];

/** Whether something was said that no request carries yet. */
export function isUnheard(facts: readonly Fact[]): boolean {
  const last = facts.findLastIndex(({ fact }) => CARRIES.includes(fact));
  return facts.slice(last + 1).some(({ fact }) => fact === 'steering');
}

/** The newest reply, where it measured the history as it is: an edit since, or a fork, makes what it said stale. */
export function measuringReply(facts: readonly Fact[]): ItemFact | null {
  const edit = facts.findLastIndex(({ fact }) => fact === 'evicted' || fact === 'cleared');
  const since = facts.slice(edit + 1).filter((fact) => fact.fact === 'item');
  return since.findLast(({ kind, role }) => kind === 'own' && role === 'assistant') ?? null;
}

/** Whether the model knows that an eviction is near: it was told here, and no prompt was small since. A fork begins untold. */
export function isTold(facts: readonly Fact[]): boolean {
  const now = sinceCleared(facts);
  const own = now.slice(now.findLastIndex((fact) => fact.fact === 'item' && fact.kind === 'inherited') + 1);
  const small = own.findLastIndex(
    (fact) => fact.fact === 'item' && fact.role === 'assistant' && !fact.filled,
  );
  const items = own.flatMap((fact) => (fact.fact === 'item' ? [fact.item] : []));
  const told = own.findLastIndex((fact) => fact.fact === 'reminder' && items.includes(fact.item));
  return told > small;
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
