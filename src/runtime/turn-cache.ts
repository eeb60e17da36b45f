/**
 * Closed turns and packets as they render: they never change, so a process reads and renders each of them once.
 * Bounded by bytes of stored text; the least recently used goes first.
 */
import { renderFull } from '../context/assemble/full-record.ts';
import { packetMessages, resetMessages } from '../context/assemble/packet-piece.ts';
import { type Rendered, rendered } from '../context/assemble/weigh.ts';
import { cardLine, provisionalCard } from '../context/turn-card.ts';
import type { RawRecord, SessionHead, SessionRef, Store } from '../db/contract.ts';
import { type BodyOf, parseBody } from '../ledger/kinds.ts';
import type { TurnCard } from '../ledger/turn-card.ts';
import { foldTurn, RENDERED_KINDS, RESENT_KINDS, type TurnView } from '../ledger/view.ts';
import type { ClosedTurn } from './close.ts';
import { settledItems, type TurnItems } from './head-items.ts';

const DEFAULT_LIMIT_BYTES = 64 * 1024 * 1024;

/** What an item takes beside its text. */
const ITEM_BYTES = 256;

/** A card with the line that stands for its turn. */
export interface Carded {
  readonly card: TurnCard;
  readonly line: string;
}

/** A head between two changes of what was projected before: what is kept of it is not kept beyond. */
export interface HeadAt {
  readonly head: string;
  readonly epoch: number;
}

interface Entry {
  readonly value: Rendered | Carded | TurnItems | string;
  readonly bytes: number;
}

export class TurnCache {
  readonly #store: Store;
  readonly #limitBytes: number;
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  constructor(store: Store, limitBytes = DEFAULT_LIMIT_BYTES) {
    this.#store = store;
    this.#limitBytes = limitBytes;
  }

  /** The whole turns of a head by number, both ends included, oldest first. */
  range(ref: SessionRef, at: HeadAt, from: number, to: number): Promise<readonly Rendered[]> {
    const { head } = at;
    return this.#range(keyOf(ref.session, at, 'full'), from, to, async (first, last) => {
      const turns = await this.#store.history(ref, head, { from: first, to: last }, RENDERED_KINDS);
      return turns.flatMap(({ number, records }): [number, Rendered, number][] => {
        const view = foldRecords(records);
        // A fork left it open: no plan weighed it.
        if (view.closed === null) return [];
        const piece = rendered(renderFull(view));
        return [[number, piece, piece.bytes]];
      });
    });
  }

  /** Every item of a head's turns by number, both ends included, oldest first, as the policy `evict` sends it. */
  items(
    ref: SessionRef,
    at: HeadAt,
    {
      from,
      to,
      workContract,
    }: { readonly from: number; readonly to: number; readonly workContract: string | null },
  ): Promise<readonly TurnItems[]> {
    const { head } = at;
    return this.#range(keyOf(ref.session, at, 'items'), from, to, async (first, last) => {
      const turns = await this.#store.history(ref, head, { from: first, to: last }, RESENT_KINDS);
      return turns.map(({ session, number, records }): [number, TurnItems, number] => {
        const items = settledItems(foldRecords(records), workContract, session !== ref.session);
        return [number, items, weighItems(items)];
      });
    });
  }

  /** The cards of a head's turns by number, both ends included, oldest first. */
  cards(ref: SessionRef, at: HeadAt, from: number, to: number): Promise<readonly Carded[]> {
    const { head } = at;
    return this.#range(keyOf(ref.session, at, 'card'), from, to, async (first, last) => {
      const rows = await this.#store.closings(ref, head, first, last);
      return Promise.all(
        rows.map(async ({ session, number, turn, body }): Promise<[number, Carded, number]> => {
          const stored = body === null ? undefined : parseBody('turn-closed', JSON.parse(body)).card;
          const card = stored ?? (await this.#provisional({ ...ref, session }, turn));
          return [number, carded(card), weighCard(card)];
        }),
      );
    });
  }

  /** Keeps a turn that this process just closed, of the session as it stood. */
  keep(
    { session, epoch }: Pick<SessionHead, 'session' | 'epoch'>,
    { head, number, piece, card, items }: ClosedTurn,
  ): void {
    const key = (what: Kept) => `${keyOf(session, { head, epoch }, what)}/${number}`;
    this.#put(key('full'), piece, piece.bytes);
    this.#put(key('card'), carded(card), weighCard(card));
    if (items !== null) this.#put(key('items'), items, weighItems(items));
  }

  /** The text of the packet in record `seq`; null when it was erased. */
  packetText(ref: SessionRef, seq: number): Promise<string | null> {
    return this.#text(ref, 'packet', seq);
  }

  /** A stored packet as it stands in a request. */
  async packet(
    ref: SessionRef,
    { from, to, seq }: { readonly from: number; readonly to: number; readonly seq: number },
  ): Promise<Rendered | null> {
    const text = await this.packetText(ref, seq);
    return text === null ? null : rendered(packetMessages({ from, to, text }));
  }

  /** What a reset left in the place of all before it, and the newest turn behind it. */
  async reset(ref: SessionRef, seq: number): Promise<{ readonly piece: Rendered; readonly behind: number }> {
    const text = (await this.#text(ref, 'reset', seq)) ?? '';
    const behind = Number((await this.#text(ref, 'behind', seq)) ?? 0);
    return { piece: rendered(resetMessages(text)), behind };
  }

  async #text(ref: SessionRef, what: 'packet' | 'reset' | 'behind', seq: number): Promise<string | null> {
    const key = `${ref.session}/${what}/${seq}`;
    const known = this.#get(key);
    if (typeof known === 'string') return known;
    const body = await this.#store.recordBody(ref, seq);
    if (body === null) return null;
    const { text, behind } = JSON.parse(body) as BodyOf<'reset'>;
    const value = what === 'behind' ? String(behind) : text;
    this.#put(key, value, value.length);
    return value;
  }

  async #provisional(ref: SessionRef, turn: string): Promise<TurnCard> {
    const view = foldRecords(await this.#store.turnRecords(ref, turn));
    return provisionalCard(view, rendered(renderFull(view)).bytes);
  }

  /** Reads what is not known between the known ends of the range; `read` says what each weighs. */
  async #range<T extends Rendered | Carded | TurnItems>(
    prefix: string,
    from: number,
    to: number,
    read: (from: number, to: number) => Promise<readonly (readonly [number, T, number])[]>,
  ): Promise<readonly T[]> {
    const key = (number: number) => `${prefix}/${number}`;
    let first = from;
    while (first <= to && this.#entries.has(key(first))) first += 1;
    let last = to;
    while (last >= first && this.#entries.has(key(last))) last -= 1;
    const fresh = new Map<number, T>();
    if (first <= last) {
      for (const [number, value, bytes] of await read(first, last)) {
        fresh.set(number, value);
        this.#put(key(number), value, bytes);
      }
    }
    const values: T[] = [];
    for (let number = from; number <= to; number++) {
      const value = fresh.get(number) ?? (this.#get(key(number)) as T | undefined);
      if (value !== undefined) values.push(value);
    }
    return values;
  }

  #get(key: string): Entry['value'] | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  #put(key: string, value: Entry['value'], bytes: number): void {
    if (bytes > this.#limitBytes || this.#entries.has(key)) return;
    this.#entries.set(key, { value, bytes });
    this.#bytes += bytes;
    for (const [oldest, entry] of this.#entries) {
      if (this.#bytes <= this.#limitBytes) return;
      this.#entries.delete(oldest);
      this.#bytes -= entry.bytes;
    }
  }
}

type Kept = 'full' | 'card' | 'items';

function keyOf(session: string, { head, epoch }: HeadAt, what: Kept): string {
  return `${session}/${head}/${epoch}/${what}`;
}

export function foldRecords(records: readonly RawRecord[]): TurnView {
  return foldTurn(records.map((record) => ({ ...record, body: JSON.parse(record.body) as unknown })));
}

function weighItems({ pieces, rows }: TurnItems): number {
  return pieces.reduce((sum, { bytes }) => sum + bytes, ITEM_BYTES * rows.length);
}

function carded(card: TurnCard): Carded {
  return { card, line: cardLine(card) };
}

/** A card holds its line's texts twice, and the arguments and digests the line leaves out. */
function weighCard(card: TurnCard): number {
  return 4 * card.cardBytes;
}
