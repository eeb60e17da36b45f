/**
 * Closed turns as they render: they never change, so a process reads and renders each of them once.
 * Bounded by bytes of stored text; the least recently used goes first.
 */

import { packetMessages } from '../context/assemble/assemble.ts';
import { type Rendered, rendered, renderTurn } from '../context/assemble/turn.ts';
import type { SessionRef, Store } from '../db/contract.ts';
import { foldTurn } from '../ledger/view.ts';
import type { ClosedTurn } from './close.ts';

const DEFAULT_LIMIT_BYTES = 64 * 1024 * 1024;

interface Entry {
  readonly value: Rendered | string;
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
  async range(ref: SessionRef, head: string, from: number, to: number): Promise<readonly Rendered[]> {
    const key = (number: number) => `${ref.session}/${head}/${number}`;
    let first = from;
    while (first <= to && this.#entries.has(key(first))) first += 1;
    let last = to;
    while (last >= first && this.#entries.has(key(last))) last -= 1;
    const read = new Map<number, Rendered>();
    if (first <= last) {
      for (const turn of await this.#store.history(ref, head, first, last)) {
        const view = foldTurn(
          turn.records.map((record) => ({ ...record, body: JSON.parse(record.body) as unknown })),
        );
        const piece = rendered(renderTurn(view, null));
        read.set(turn.number, piece);
        if (view.closed !== null) this.#put(key(turn.number), piece, piece.bytes);
      }
    }
    const turns: Rendered[] = [];
    for (let number = from; number <= to; number++) {
      const turn = read.get(number) ?? (this.#get(key(number)) as Rendered | undefined);
      if (turn !== undefined) turns.push(turn);
    }
    return turns;
  }

  /** Keeps a turn that this process just closed. */
  keep(session: string, { head, number, piece }: ClosedTurn): void {
    this.#put(`${session}/${head}/${number}`, piece, piece.bytes);
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

  /** The packet as it stands in a request. */
  async renderedPacket(
    ref: SessionRef,
    packet: { readonly from: number; readonly to: number; readonly seq: number },
  ): Promise<Rendered | null> {
    const text = await this.packet(ref, packet.seq);
    return text === null ? null : rendered(packetMessages({ from: packet.from, to: packet.to, text }));
  }

  #get(key: string): Rendered | string | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  #put(key: string, value: Rendered | string, bytes: number): void {
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
