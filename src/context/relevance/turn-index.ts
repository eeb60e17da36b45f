/**
 * The closed turns of a head as the planner reads them: what they weigh, the terms of their cards, their
 * links and threads. Only ever appended to. Numbers ascend and may have gaps (a fork goes on from its
 * ancestor's turns); inside, a turn stands at a position counted from 0.
 */
import type { TurnLink } from '../../ledger/turn-card.ts';
import { LinkGraph } from '../links/graph.ts';
import type { IndexedTurn } from '../plan/contract.ts';
import { type Scores, scoreTurns } from './score.ts';
import { BLOCK_TURNS, TermBlock } from './term-block.ts';
import { decodeTerms, isPair, type QueryTerms, type TermVector } from './terms.ts';
import { ThreadIndex } from './thread-index.ts';

/** Number, two weights, a length and an item of a turn. */
const FIGURES_BYTES = 5 * 8;

export class TurnIndex {
  readonly graph = new LinkGraph();
  readonly threads = new ThreadIndex();
  readonly #numbers: number[] = [];
  readonly #fullBytes: number[] = [];
  readonly #cardBytes: number[] = [];
  readonly #lengths: number[] = [];
  /** Of the newest item up to each turn. */
  readonly #lastItems: number[] = [];
  readonly #blocks: TermBlock[] = [];

  get count(): number {
    return this.#numbers.length;
  }

  /** Number of the oldest turn; 0 while there is none. */
  get first(): number {
    return this.#numbers[0] ?? 0;
  }

  /** Number of the newest turn; 0 while there is none. */
  get last(): number {
    return this.#numbers.at(-1) ?? 0;
  }

  /** What it holds in memory, for a cache that is bounded by bytes. */
  get approximateBytes(): number {
    const terms = this.#blocks.reduce((sum, block) => sum + block.approximateBytes, 0);
    return terms + this.count * FIGURES_BYTES + this.graph.approximateBytes + this.threads.approximateBytes;
  }

  /** @throws RangeError for a turn that is not newer than the last, or for terms that are no encoding. */
  append(turn: IndexedTurn): void {
    if (this.count > 0 && turn.number <= this.last)
      throw new RangeError(`turn ${turn.number} cannot follow turn ${this.last}: numbers ascend`);
    const terms = decodeTerms(turn.terms);
    const continued = continuedNumber(turn.links);
    const thread = this.threads.append(
      turn.number,
      continued,
      continued === null ? -1 : this.positionOf(continued),
    );
    this.graph.append({ number: turn.number, thread, links: turn.links });
    this.#numbers.push(turn.number);
    this.#fullBytes.push(turn.fullBytes);
    this.#cardBytes.push(turn.cardBytes);
    this.#lengths.push(wordsIn(terms));
    this.#lastItems.push(turn.items?.to ?? this.#lastItems.at(-1) ?? 0);
    this.#openBlock().append(terms);
  }

  numberAt(position: number): number {
    return this.#numbers[position] ?? 0;
  }

  fullBytesAt(position: number): number {
    return this.#fullBytes[position] ?? 0;
  }

  cardBytesAt(position: number): number {
    return this.#cardBytes[position] ?? 0;
  }

  /** -1 for a number that is not here. */
  positionOf(number: number): number {
    const position = this.positionAfter(number - 1);
    return this.#numbers[position] === number ? position : -1;
  }

  /** The oldest turn with a greater number; `count` when there is none. */
  positionAfter(number: number): number {
    return firstAbove(this.#numbers, number);
  }

  /** The oldest turn with an item of a greater number; `count` when there is none. */
  positionAfterItem(item: number): number {
    return firstAbove(this.#lastItems, item);
  }

  /** Whether the card at a position has a term. */
  holds(position: number, hash: number): boolean {
    const block = this.#blocks[Math.floor(position / BLOCK_TURNS)];
    return block?.holds(position % BLOCK_TURNS, hash) ?? false;
  }

  /** Positions before `from` are left out of it. */
  score(query: QueryTerms, from = 0): Scores {
    return scoreTurns(this.#blocks, this.#lengths, query, from);
  }

  #openBlock(): TermBlock {
    const open = this.#blocks.at(-1);
    if (open !== undefined && open.turns < BLOCK_TURNS) return open;
    const block = new TermBlock();
    this.#blocks.push(block);
    return block;
  }
}

/** Where the first greater number stands in an ascending list. */
function firstAbove(ascending: readonly number[], number: number): number {
  let low = 0;
  let high = ascending.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ascending[middle] ?? 0) <= number) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The number in a `continues` link; null without one. */
export function continuedNumber(links: readonly TurnLink[]): number | null {
  const link = links.find(({ kind }) => kind === 'continues');
  const number = link === undefined ? Number.NaN : Number(link.to.slice(1));
  return Number.isInteger(number) ? number : null;
}

function wordsIn({ hashes, counts }: TermVector): number {
  let words = 0;
  for (const [index, hash] of hashes.entries()) words += isPair(hash) ? 0 : (counts[index] ?? 0);
  return words;
}
