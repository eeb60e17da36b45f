/** The terms of up to 256 turns, end to end in one array each, so that a scan reads memory in order. */
import type { TermVector } from './terms.ts';

export const BLOCK_TURNS = 256;
const FIRST_CAPACITY = 4_096;

export class TermBlock {
  /** Unsigned, but kept as signed: small integers all, which a scan reads without boxing any. */
  hashes = new Int32Array(FIRST_CAPACITY);
  counts = new Uint8Array(FIRST_CAPACITY);
  /** Where each turn's terms start, and where the last one's end. */
  readonly offsets = new Uint32Array(BLOCK_TURNS + 1);
  #turns = 0;

  get turns(): number {
    return this.#turns;
  }

  get approximateBytes(): number {
    return this.hashes.byteLength + this.counts.byteLength + this.offsets.byteLength;
  }

  /** Grows by doubling; a full block gives back what it has no use for. */
  append(terms: TermVector): void {
    const start = this.offsets[this.#turns] ?? 0;
    const end = start + terms.hashes.length;
    if (end > this.hashes.length) this.#resize(Math.max(end, this.hashes.length * 2));
    this.hashes.set(terms.hashes, start);
    this.counts.set(terms.counts, start);
    this.#turns += 1;
    this.offsets[this.#turns] = end;
    if (this.#turns === BLOCK_TURNS) this.#resize(end);
  }

  /** Whether a turn of the block has a term; its hashes are ascending. */
  holds(turn: number, hash: number): boolean {
    let low = this.offsets[turn] ?? 0;
    let high = this.offsets[turn + 1] ?? 0;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const found = (this.hashes[middle] ?? 0) >>> 0;
      if (found === hash) return true;
      if (found < hash) low = middle + 1;
      else high = middle;
    }
    return false;
  }

  #resize(capacity: number): void {
    const kept = Math.min(capacity, this.hashes.length);
    const hashes = new Int32Array(capacity);
    hashes.set(this.hashes.subarray(0, kept));
    const counts = new Uint8Array(capacity);
    counts.set(this.counts.subarray(0, kept));
    this.hashes = hashes;
    this.counts = counts;
  }
}
