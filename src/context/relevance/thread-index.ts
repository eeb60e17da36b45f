/** Threads: chains of turns that go on with each other. A turn that goes on with none opens one. */

const TURN_BYTES = 24;

export class ThreadIndex {
  /** By position: the number of its thread's first turn, and the position it goes on with, or -1. */
  readonly #threads: number[] = [];
  readonly #before: number[] = [];
  /** Position of the last turn, by thread. */
  readonly #ends = new Map<number, number>();

  get approximateBytes(): number {
    return (this.#threads.length + this.#ends.size) * TURN_BYTES;
  }

  /**
   * `continued`: the turn it goes on with, which may be out of sight (position -1).
   * Returns the number of its thread's first turn.
   */
  append(number: number, continued: number | null, continuedPosition: number): number {
    const thread = this.#threads[continuedPosition] ?? continued ?? number;
    this.#ends.set(thread, this.#threads.length);
    this.#threads.push(thread);
    this.#before.push(continuedPosition);
    return thread;
  }

  threadAt(position: number): number {
    return this.#threads[position] ?? 0;
  }

  /** The position that the turn at `position` goes on with; -1 for none, or one out of sight. */
  before(position: number): number {
    return this.#before[position] ?? -1;
  }

  /** Positions of the last turns of the threads that were active last, newest first. */
  latestEnds(limit: number, from: number): readonly number[] {
    const ends: number[] = [];
    for (let position = this.#threads.length - 1; position >= from && ends.length < limit; position--)
      if (this.#ends.get(this.threadAt(position)) === position) ends.push(position);
    return ends;
  }
}
