/**
 * Reads the transcript of a lineage in two phases. What is asked is located first, in short statements; then the records
 * are read turn by turn, one in memory at a time, each compared with its digest before it is parsed. Nothing is locked
 * or held meanwhile, nothing is written, and no failure is remembered: the next attempt reads again.
 */
import type { Clock } from '../../ledger/clock.ts';
import {
  type IndexPage,
  type ReadAnswer,
  type Refused,
  refused,
  refusedUnreadable,
  type SearchAnswer,
  type TranscriptIndex,
} from './answers.ts';
import type { GrepLimits, TurnPlace, TurnText } from './contract.ts';
import { grepTurns } from './grep.ts';
import { indexPage } from './index-page.ts';
import {
  type LinkedDigests,
  type Located,
  type LocatedTurn,
  linkedDigests,
  locate,
  recordsOf,
  type TranscriptPlace,
  type TranscriptStore,
} from './locate.ts';
import type { TranscriptItem } from './parts.ts';
import { narrowedToNothing, neverRecorded, nothingToRead, stillOpen } from './refusals.ts';
import { readItems } from './search-turn.ts';

export interface SearchAsked {
  /** In the syntax of RE2. */
  readonly pattern: string;
  /** null for all of them. */
  readonly items: readonly number[] | null;
}

export class TranscriptReader {
  readonly #store: TranscriptStore;
  readonly #clock: Pick<Clock, 'after'>;

  constructor(store: TranscriptStore, clock: Pick<Clock, 'after'>) {
    this.#store = store;
    this.#clock = clock;
  }

  index(place: TranscriptPlace, page: IndexPage): Promise<TranscriptIndex> {
    return indexPage(this.#store, place, page);
  }

  /** Each item once, in order, as its turn recorded it. The first that cannot be read refuses all. */
  async read(place: TranscriptPlace, asked: readonly number[]): Promise<ReadAnswer> {
    if (asked.length === 0) return refused('invalid_request', nothingToRead());
    const wanted = inOrder(asked);
    const located = await this.#locate(place, wanted);
    if ('kind' in located) return located;
    const items: TranscriptItem[] = [];
    for await (const turn of this.#texts(place, located, new Set(wanted))) {
      const read = readItems(turn);
      const named = wanted.filter((item) => isIn(turn, item));
      const item = named.find((one) => !read.ok || read.items.every((found) => found.item !== one));
      if (!read.ok && item !== undefined) {
        const { seq, problem } = read;
        return refusedUnreadable({ item, session: turn.session, seq, problem });
      }
      if (item !== undefined) return this.#neverRecorded(place, item);
      if (read.ok) items.push(...read.items.filter((found) => named.includes(found.item)));
    }
    return { kind: 'read', items };
  }

  /** The item that still grows is passed by. A search that names items is refused where one of them cannot be read. */
  async grep(
    place: TranscriptPlace,
    { pattern, items }: SearchAsked,
    limits: Omit<GrepLimits, 'clock'>,
  ): Promise<SearchAnswer> {
    if (items?.length === 0) return refused('invalid_request', narrowedToNothing());
    const wanted = items === null ? null : inOrder(items);
    const located = await this.#locate(place, wanted);
    if ('kind' in located) return located;
    const named = wanted === null ? null : new Set(wanted);
    const newest = wanted?.at(-1) ?? located.turns.at(-1)?.items.to ?? 0;
    const { address } = this.#store;
    const source =
      address === undefined ? this.#texts(place, located, named) : this.#places(place, located, named);
    const sought = { pattern, items: named, newest, address };
    const answer = await grepTurns(source, sought, { ...limits, clock: this.#clock });
    switch (answer.kind) {
      case 'found':
        return answer;
      case 'bad_pattern':
        return refused('bad_pattern', answer.message);
      case 'unreadable':
        return refusedUnreadable(answer.unreadable);
    }
  }

  /** Where everything wanted stands, or why something does not. */
  async #locate(place: TranscriptPlace, wanted: readonly number[] | null): Promise<Located | Refused> {
    const beyond = wanted?.find((item) => item < 1 || item >= place.nextItem);
    if (beyond !== undefined) return this.#neverRecorded(place, beyond);
    const located = await locate(this.#store, place, wanted);
    let at = 0;
    for (const item of wanted ?? []) {
      while (item > (located.turns[at]?.items.to ?? item)) at += 1;
      const turn = located.turns[at];
      if (turn !== undefined && isIn(turn, item)) continue;
      if (item === located.open) return refused('item_open', stillOpen(item));
      return this.#neverRecorded(place, item);
    }
    return located;
  }

  async #neverRecorded(place: TranscriptPlace, item: number): Promise<Refused> {
    const { turns, open } = await locate(this.#store, place, null);
    const newest = Math.max(open ?? 0, turns.findLast(({ fault }) => fault === null)?.items.to ?? 0);
    return refused('item_not_found', neverRecorded(item, newest));
  }

  /** The turns by where their records stand, each with the next. */
  async *#places(
    { ref }: TranscriptPlace,
    { turns }: Located,
    named: ReadonlySet<number> | null,
  ): AsyncGenerator<TurnPlace> {
    const asked = named === null ? turns : turns.filter(({ items }) => holdsAny(items, named));
    const linked = await linkedDigests(this.#store, ref, asked);
    const { tenant } = ref;
    for (const [at, { session, turn, number, items, toSeq }] of asked.entries()) {
      const next = asked[at + 1];
      const expected = linked.get(session);
      yield {
        ...{ tenant, session, turn, number, items, toSeq },
        ahead: next === undefined ? null : { ...next, tenant },
        ...(expected === undefined ? {} : { expected }),
      };
    }
  }

  /** The turns with their records; while one is looked at, the next is read. */
  async *#texts(
    { ref }: TranscriptPlace,
    { turns }: Located,
    named: ReadonlySet<number> | null,
  ): AsyncGenerator<TurnText> {
    const asked = named === null ? turns : turns.filter(({ items }) => holdsAny(items, named));
    const linked = await linkedDigests(this.#store, ref, asked);
    let next = this.#ahead(ref.tenant, asked[0], linked);
    for (const place of asked.keys()) {
      const text = await next;
      next = this.#ahead(ref.tenant, asked[place + 1], linked);
      if (text !== null) yield text;
    }
  }

  #ahead(tenant: string, turn: LocatedTurn | undefined, linked: LinkedDigests): Promise<TurnText | null> {
    const reading = turn === undefined ? Promise.resolve(null) : this.#text(tenant, turn, linked);
    // It is awaited when its turn comes; a search that ends before leaves it alone.
    reading.catch(() => undefined);
    return reading;
  }

  async #text(tenant: string, turn: LocatedTurn, linked: LinkedDigests): Promise<TurnText> {
    const { number, items } = turn;
    return { ...(await recordsOf(this.#store, tenant, turn, linked)), number, items };
  }
}

function isIn({ items: { from, to } }: Pick<LocatedTurn, 'items'>, item: number): boolean {
  return from <= item && item <= to;
}

function holdsAny({ from, to }: LocatedTurn['items'], named: ReadonlySet<number>): boolean {
  for (let item = from; item <= to; item++) if (named.has(item)) return true;
  return false;
}

function inOrder(items: readonly number[]): readonly number[] {
  return [...new Set(items)].sort((a, b) => a - b);
}
