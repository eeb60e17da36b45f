/**
 * Closed turns a process has read: they never change, so a session that goes on reads each of them once.
 * Bounded by bytes of stored text; the least recently used goes first.
 */
import type { SessionRef, Store } from '../db/contract.ts';
import { foldTurn, type TurnView } from '../ledger/view.ts';

const DEFAULT_LIMIT_BYTES = 64 * 1024 * 1024;

interface Entry {
  readonly value: TurnView | string;
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

  /** The turns of a head by number, both ends included, oldest first. */
  async range(ref: SessionRef, head: string, from: number, to: number): Promise<readonly TurnView[]> {
    const key = (number: number) => `${ref.session}/${head}/${number}`;
    let first = from;
    while (first <= to && this.#entries.has(key(first))) first += 1;
    let last = to;
    while (last >= first && this.#entries.has(key(last))) last -= 1;
    const read = new Map<number, TurnView>();
    if (first <= last) {
      for (const turn of await this.#store.history(ref, head, first, last)) {
        const view = foldTurn(
          turn.records.map((record) => ({ ...record, body: JSON.parse(record.body) as unknown })),
        );
        read.set(turn.number, view);
        if (view.closed !== null)
          this.#put(
            key(turn.number),
            view,
            turn.records.reduce((sum, record) => sum + record.body.length, 0),
          );
      }
    }
    const turns: TurnView[] = [];
    for (let number = from; number <= to; number++) {
      const turn = read.get(number) ?? (this.#get(key(number)) as TurnView | undefined);
      if (turn !== undefined) turns.push(turn);
    }
    return turns;
  }

  /** The text of the packet in record `seq`. */
  async packet(ref: SessionRef, seq: number): Promise<string | null> {
    const key = `${ref.session}/packet/${seq}`;
    const known = this.#get(key);
    if (typeof known === 'string') return known;
    const body = await this.#store.recordBody(ref, seq);
    if (body === null) return null;
    const { text } = JSON.parse(body) as { text: string };
    this.#put(key, text, text.length);
    return text;
  }

  #get(key: string): TurnView | string | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  #put(key: string, value: TurnView | string, bytes: number): void {
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
