/**
 * The watchers' side of one turn: one read serves every watcher of this process.
 *
 * States: idle → reading, and reading again when a wake-up came meanwhile. The frames read so far are
 * kept, bounded, so that a later watcher is replayed from memory.
 */
import type { DeltaFrame } from '../bus.ts';

export interface StoredFrame<C> {
  readonly cursor: C;
  readonly frame: DeltaFrame;
}

export type OnFrame = (frame: DeltaFrame) => void;

export class TurnChannel<C> {
  readonly #read: (after: C | undefined) => Promise<readonly StoredFrame<C>[]>;
  readonly #onError: (error: unknown) => void;
  readonly #keep: number;
  readonly #watchers = new Set<OnFrame>();
  #seen: DeltaFrame[] = [];
  #cursor: C | undefined;
  #reading: Promise<void> | undefined;
  #woken = false;

  constructor(
    read: (after: C | undefined) => Promise<readonly StoredFrame<C>[]>,
    keep: number,
    onError: (error: unknown) => void,
  ) {
    this.#read = read;
    this.#keep = keep;
    this.#onError = onError;
  }

  get watched(): boolean {
    return this.#watchers.size > 0;
  }

  /** Replays what this process has seen, then keeps `onFrame` for what comes. */
  add(onFrame: OnFrame): () => void {
    // A function of its own, so that one callback may watch twice.
    const watcher: OnFrame = (frame) => onFrame(frame);
    for (const frame of this.#seen) this.#deliver(watcher, frame);
    this.#watchers.add(watcher);
    return () => {
      this.#watchers.delete(watcher);
    };
  }

  /** Reads on until nothing new is there. Calls during a read join it and make it read once more. */
  wake(): Promise<void> {
    this.#woken = true;
    this.#reading ??= this.#readAll().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  /** The buffer was dropped: later watchers are not replayed what is durable by now. */
  clear(): void {
    this.#seen = [];
  }

  async #readAll(): Promise<void> {
    while (this.#woken && this.watched) {
      this.#woken = false;
      try {
        for (const { cursor, frame } of await this.#read(this.#cursor)) this.#accept(cursor, frame);
      } catch (error) {
        this.#onError(error);
      }
    }
  }

  #accept(cursor: C, frame: DeltaFrame): void {
    this.#cursor = cursor;
    this.#seen.push(frame);
    if (this.#seen.length > this.#keep) this.#seen.shift();
    for (const watcher of [...this.#watchers]) {
      if (this.#watchers.has(watcher)) this.#deliver(watcher, frame);
    }
  }

  /** A watcher that throws harms no other. */
  #deliver(watcher: OnFrame, frame: DeltaFrame): void {
    try {
      watcher(frame);
    } catch (error) {
      this.#onError(error);
    }
  }
}
