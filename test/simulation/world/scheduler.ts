/**
 * Virtual time. Whatever happens is an entry here: the next is always the earliest, and between two of them every
 * promise that can go on has gone on. So a run has one order of events, and its seed decides it.
 */

/** Whose code an entry runs. The entries of one that died are dropped, those of a paused one wait. */
export interface Owner {
  readonly name: string;
  readonly alive: boolean;
  readonly pausedUntilMs: number;
}

interface Entry {
  atMs: number;
  /** Where it stood first: entries that waited for one pause keep their order. */
  readonly dueMs: number;
  readonly order: number;
  readonly owner: Owner | null;
  act: (() => void) | null;
}

/** Real turns of the event loop, so that the host of the simulation gets its share. */
const STEPS_PER_LOOP = 2_000;

export class Scheduler {
  readonly #heap: Entry[] = [];
  #order = 0;
  #steps = 0;
  #nowMs = 0;

  /** The one true time, in ms since the world began. */
  get nowMs(): number {
    return this.#nowMs;
  }

  get steps(): number {
    return this.#steps;
  }

  /** Returns how to take it back. */
  after(delayMs: number, owner: Owner | null, act: () => void): () => void {
    this.#order += 1;
    const atMs = this.#nowMs + Math.max(0, delayMs);
    const entry: Entry = { atMs, dueMs: atMs, order: this.#order, owner, act };
    this.#push(entry);
    return () => {
      entry.act = null;
    };
  }

  /** Runs until `untilMs`, or until `done` says so. */
  async run(untilMs: number, done: () => boolean = () => false): Promise<void> {
    await drained();
    for (;;) {
      const next = this.#heap[0];
      if (next === undefined || next.atMs > untilMs) break;
      if (done()) return;
      this.#pop();
      if (next.act === null || next.owner?.alive === false) continue;
      const resumesMs = next.owner?.pausedUntilMs ?? 0;
      if (resumesMs > next.atMs) {
        next.atMs = resumesMs;
        this.#push(next);
        continue;
      }
      this.#nowMs = next.atMs;
      const { act } = next;
      next.act = null;
      act();
      this.#steps += 1;
      if (this.#steps % STEPS_PER_LOOP === 0) await new Promise(setImmediate);
      await drained();
    }
    if (!done()) this.#nowMs = Math.max(this.#nowMs, untilMs);
  }

  #push(entry: Entry): void {
    const heap = this.#heap;
    let place = heap.length;
    heap.push(entry);
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || !before(entry, parent)) break;
      heap[place] = parent;
      place = above;
    }
    heap[place] = entry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let place = 0;
    for (;;) {
      let child = 2 * place + 1;
      let least = heap[child];
      if (least === undefined) break;
      const other = heap[child + 1];
      if (other !== undefined && before(other, least)) {
        child += 1;
        least = other;
      }
      if (!before(least, last)) break;
      heap[place] = least;
      place = child;
    }
    heap[place] = last;
  }
}

function before(a: Entry, b: Entry): boolean {
  if (a.atMs !== b.atMs) return a.atMs < b.atMs;
  if (a.dueMs !== b.dueMs) return a.dueMs < b.dueMs;
  return a.order < b.order;
}

/** Node runs a next tick only when no promise is left that can go on. */
function drained(): Promise<void> {
  return new Promise((resolve) => {
    process.nextTick(resolve);
  });
}
