/**
 * Where turns of a session's head stand in the space of one embedding model, as far as this process has read it. Only a
 * memory, kept beside what planning keeps of the head. Bounded by bytes; the least recently used session goes first.
 */
import type { SessionRef } from '../db/contract.ts';
import type { TurnVectorStore } from '../db/turn-vectors.ts';

const DEFAULT_LIMIT_BYTES = 128 * 1024 * 1024;
/** Read at a time: a few MB of the largest vectors there are. */
const PAGE_VECTORS = 1_024;
/** What a vector takes beside its bytes. */
const VECTOR_BYTES = 128;
/** Of a turn that was looked at and cannot be placed. */
const NOWHERE = new Int8Array(0);

interface Entry {
  readonly head: string;
  readonly places: Map<number, Int8Array>;
  /** The newest record that was read. */
  seq: number;
  bytes: number;
}

export class VectorIndexes {
  readonly model: string;
  readonly #store: TurnVectorStore;
  readonly #limitBytes: number;
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  constructor(store: TurnVectorStore, model: string, limitBytes = DEFAULT_LIMIT_BYTES) {
    this.#store = store;
    this.model = model;
    this.#limitBytes = limitBytes;
  }

  /** By number of the turn, all that are stored. */
  async get(ref: SessionRef, head: string): Promise<ReadonlyMap<number, Int8Array>> {
    const entry = this.#entryFor(ref.session, head);
    for (let read = PAGE_VECTORS; read === PAGE_VECTORS; ) {
      const after = { head, model: this.model, seq: entry.seq, limit: PAGE_VECTORS };
      const rows = await this.#store.vectorsAfter(ref, after);
      for (const { number, seq, vector } of rows) {
        entry.places.set(number, Int8Array.from(Buffer.from(vector, 'base64')));
        entry.seq = Math.max(entry.seq, seq);
      }
      read = rows.length;
    }
    this.#weigh(ref.session, entry);
    return entry.places;
  }

  /** These turns say nothing that the model takes: this process does not ask again. */
  leaveOut({ session }: SessionRef, head: string, turns: readonly { readonly number: number }[]): void {
    const entry = this.#entryFor(session, head);
    for (const { number } of turns) entry.places.set(number, NOWHERE);
    this.#weigh(session, entry);
  }

  #entryFor(session: string, head: string): Entry {
    const found = this.#entries.get(session);
    return found?.head === head ? found : { head, places: new Map(), seq: 0, bytes: 0 };
  }

  #weigh(session: string, entry: Entry): void {
    this.#bytes -= this.#entries.get(session)?.bytes ?? 0;
    this.#entries.delete(session);
    const [first = NOWHERE] = entry.places.values();
    entry.bytes = entry.places.size * (first.length + VECTOR_BYTES);
    this.#entries.set(session, entry);
    this.#bytes += entry.bytes;
    for (const [oldest, { bytes }] of this.#entries) {
      if (this.#bytes <= this.#limitBytes || oldest === session) return;
      this.#entries.delete(oldest);
      this.#bytes -= bytes;
    }
  }
}
