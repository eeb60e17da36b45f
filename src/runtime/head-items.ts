/**
 * A head as the policy `evict` reads it: the items its next request may carry, each as it is sent, the spans that left,
 * and where the newest request stood to the model's window. One reading serves requests, the tool `context` and an
 * operator's edit, so that none of them sees another table.
 */

import { renderTail } from '../context/assemble/tail.ts';
import { type Rendered, rendered } from '../context/assemble/weigh.ts';
import type { EvictionAuthor, ItemRow, ItemTable, Measure, Span } from '../context/evict/contract.ts';
import { itemLabels } from '../context/evict/label.ts';
import { historyBytes, piecesOf } from '../context/evict/pieces.ts';
import { renderItems } from '../context/evict/render.ts';
import type { TurnRange } from '../context/plan/contract.ts';
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
    const ranges = residentTurns(index, evictions, place.before - 1);
    const read = ranges.map((range) => this.#turns.items(ref, place, { ...range, workContract }));
    const closed = (await Promise.all(read)).flat();
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

/**
 * The items of a turn that will not change. One that was open where a fork left it ends before an unanswered call, or
 * with all that was said to it. What a session inherits measured another one, whose records have other numbers.
 */
export function settledItems(turn: TurnView, workContract: string | null, inherited: boolean): TurnItems {
  const items = carriedItems(turn, workContract);
  if (!inherited) return items;
  return { ...items, rows: items.rows.map((row) => ({ ...row, kind: 'inherited' })), measure: null };
}

function carriedItems(turn: TurnView, workContract: string | null): TurnItems {
  if (turn.closed !== null) return turnItems(turn, workContract);
  const owing = turn.steps.findIndex(({ content, results }) => results.size < toolCalls(content).length);
  if (owing !== -1) return turnItems({ ...turn, steps: turn.steps.slice(0, owing) }, workContract);
  const heard = { step: Number.MAX_SAFE_INTEGER, upTo: turn.steering.length };
  return turnItems({ ...turn, steered: [...turn.steered, heard] }, workContract);
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
  if (limit === null) return { unit: 'bytes', used: historyBytes(piecesOf(items.table)) };
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

/**
 * Numbers of the turns up to `newest` with an item in the requests: those that the oldest span covers whole are not read.
 * A turn that was open where a fork left it is none of the index, and stands beside the turns that are.
 */
function residentTurns(
  { turns }: HeadIndex,
  evictions: readonly Span[],
  newest: number,
): readonly TurnRange[] {
  const all = [{ from: 1, to: newest }];
  const span = evictions.reduce<Span | null>(
    (oldest, one) =>
      oldest === null || one.from < oldest.from || (one.from === oldest.from && one.to > oldest.to)
        ? one
        : oldest,
    null,
  );
  if (span === null) return all;
  const begins = turns.positionAfterItem(span.from - 1);
  if (begins >= turns.count) return all;
  const beginsIn = turns.numberAt(begins);
  const lastCovered = turns.numberAt(turns.positionAfterItem(span.to) - 1);
  return [
    { from: 1, to: beginsIn },
    { from: Math.max(beginsIn, lastCovered) + 1, to: newest },
  ];
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
