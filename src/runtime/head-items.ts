/**
 * A head as the policy `evict` reads it: the items its next request may carry, each as it is sent, the spans that left,
 * and where the newest request stood to the model's window. One reading serves requests, the tool `context` and an
 * operator's edit, so that none of them sees another table.
 */

import { renderTail } from '../context/assemble/tail.ts';
import { type Rendered, rendered } from '../context/assemble/weigh.ts';
import type { EvictionAuthor, ItemRow, ItemTable, Measure, Span } from '../context/evict/contract.ts';
import { itemLabels } from '../context/evict/label.ts';
import { renderItems } from '../context/evict/render.ts';
import type { SessionRef, ToPlan } from '../db/contract.ts';
import type { LastMeasure } from '../ledger/items.ts';
import { type TurnView, toolCalls } from '../ledger/view.ts';
import type { HeadIndex, HeadIndexes, HeadPlace } from './head-index.ts';
import type { TurnCache } from './turn-cache.ts';

/** Where the newest prompt stood; `limit` is the largest prompt the model may get, null where nobody knows its window. */
export interface Limits {
  readonly leg: string;
  readonly limit: number | null;
}

/** The items of one turn, with what each is sent as. */
export interface TurnItems {
  readonly number: number;
  readonly rows: readonly ItemRow[];
  readonly pieces: readonly Rendered[];
  readonly measure: LastMeasure | null;
}

export interface HeadItems {
  readonly table: ItemTable;
  readonly pieceOf: (item: number) => Rendered;
  /** Of the newest closed turn that was measured. */
  readonly before: LastMeasure | null;
  /** The record of the newest edit; 0 for none. */
  readonly editedSeq: number;
}

export interface ItemsOf {
  readonly ref: SessionRef;
  readonly place: HeadPlace;
  /** The turn that runs, as far as its records go; null at rest. */
  readonly open: TurnView | null;
  readonly workContract: string | null;
  /** What a claim read past what is known here. */
  readonly toPlan?: ToPlan | null;
}

export class HeadItemsReader {
  readonly #indexes: HeadIndexes;
  readonly #turns: TurnCache;

  constructor(indexes: HeadIndexes, turns: TurnCache) {
    this.#indexes = indexes;
    this.#turns = turns;
  }

  async read({ ref, place, open, workContract, toPlan = null }: ItemsOf): Promise<HeadItems> {
    const held = toPlan === null ? this.#indexes.known(ref.session, place) : null;
    const index = held ?? (await this.#indexes.get(ref, place, toPlan));
    const evictions = spansOf(index, open);
    const from = firstResident(index, evictions);
    const closed = await this.#turns.items(ref, place.head, { from, to: place.before - 1, workContract });
    const own = open === null ? null : turnItems(open, workContract);
    const all = own === null ? closed : [...closed, own];
    return {
      table: {
        items: all.flatMap(({ rows }) => rows),
        evictions,
        open: own === null ? null : (own.rows.at(-1)?.item ?? null),
      },
      pieceOf: piecesBy(all),
      before: closed.findLast(({ measure }) => measure !== null)?.measure ?? null,
      editedSeq: evictions.reduce((newest, { seq }) => Math.max(newest, seq), 0),
    };
  }
}

/** The items of a turn that will not change. One that was open where a fork left it ends before an unanswered call. */
export function settledItems(turn: TurnView, workContract: string | null): TurnItems {
  if (turn.closed !== null) return turnItems(turn, workContract);
  const owing = turn.steps.findIndex(({ content, results }) => results.size < toolCalls(content).length);
  return turnItems(owing === -1 ? turn : { ...turn, steps: turn.steps.slice(0, owing) }, workContract);
}

/** Every item of a turn with what it is sent as. */
export function turnItems(turn: TurnView, workContract: string | null): TurnItems {
  const labels = itemLabels(turn);
  const tail = renderTail(turn, { workContract, thread: [] });
  const items = renderItems(turn, tail);
  const pieces = items.map(({ messages }) => rendered(messages));
  const kind = turn.imported ? 'import' : 'own';
  const rows = items.map(
    ({ item, role }, place): ItemRow => ({
      item,
      role,
      kind,
      turn: turn.number,
      label: labels[place]?.label ?? '',
      bytes: pieces[place]?.bytes ?? 0,
    }),
  );
  return { number: turn.number, rows, pieces, measure: turn.closed?.measure ?? null };
}

/** What the newest prompt of the turn, or of the one before it, says of the room that is left. */
export function measureOf(items: HeadItems, open: TurnView | null, { leg, limit }: Limits): Measure {
  const own = open?.measures.findLast((measure) => measure.leg === leg) ?? null;
  const newest = own ?? items.before;
  if (limit === null)
    return { unit: 'bytes', used: items.table.items.reduce((sum, { bytes }) => sum + bytes, 0) };
  if (newest === null || newest.tokens === null || newest.seq <= items.editedSeq) return { unit: 'stale' };
  return { unit: 'tokens', used: newest.tokens, limit };
}

type MadeSpan = Span & {
  readonly note: string | null;
  readonly author: EvictionAuthor;
  readonly seq: number;
};

/** Those that stood when the turn's newest record was written. */
function spansOf({ evictions }: HeadIndex, open: TurnView | null): readonly MadeSpan[] {
  const before = open === null ? evictions : evictions.filter(({ seq }) => seq <= open.lastSeq);
  const known = new Set(before.map(({ seq }) => seq));
  return [...before, ...(open?.evictions ?? []).filter(({ seq }) => !known.has(seq))];
}

/** The number of the oldest turn with an item in the requests: what a span from the start covers is not read. */
function firstResident({ turns }: HeadIndex, evictions: readonly Span[]): number {
  const first = evictions.reduce<Span | null>(
    (oldest, span) =>
      oldest === null || span.from < oldest.from || (span.from === oldest.from && span.to > oldest.to)
        ? span
        : oldest,
    null,
  );
  if (first === null || turns.positionAfterItem(first.from - 1) > 0) return 1;
  return turns.numberAt(turns.positionAfterItem(first.to)) || turns.last + 1;
}

function piecesBy(turns: readonly TurnItems[]): HeadItems['pieceOf'] {
  const pieces = new Map<number, Rendered>();
  for (const { rows, pieces: own } of turns)
    for (const [place, { item }] of rows.entries()) {
      const piece = own[place];
      if (piece !== undefined) pieces.set(item, piece);
    }
  return (item) => {
    const piece = pieces.get(item);
    if (piece === undefined) throw new Error(`item ${item} was not read`);
    return piece;
  };
}
