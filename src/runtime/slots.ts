/**
 * The slots of the pools a process serves, shared by what the queue brings and what the process starts itself. A job
 * waits for its slot in order; a call is started here only where a slot is free and no job waits for one.
 */
import type { Pool } from '../queues/contract.ts';

interface Slot {
  free: number;
  readonly waiting: (() => void)[];
}

export class Slots {
  readonly #slots: ReadonlyMap<Pool, Slot>;
  readonly #started = new Set<Promise<void>>();
  #open = true;

  constructor(sizes: ReadonlyMap<Pool, number>) {
    this.#slots = new Map([...sizes].map(([pool, free]) => [pool, { free, waiting: [] }]));
  }

  /** Runs a job of the queue once it has a slot. */
  async run(pool: Pool, work: () => Promise<void>): Promise<void> {
    const slot = this.#slots.get(pool);
    if (slot === undefined) return work();
    if (slot.free > 0) slot.free -= 1;
    else await new Promise<void>((resolve) => slot.waiting.push(resolve));
    await this.#within(slot, work);
  }

  /** Starts `work`, which must not reject; false when its pool is not served here, is full, or closed. */
  start(pool: Pool, work: () => Promise<void>): boolean {
    const slot = this.#slots.get(pool);
    if (slot === undefined || slot.free <= 0 || !this.#open) return false;
    slot.free -= 1;
    const started = this.#within(slot, work).finally(() => this.#started.delete(started));
    this.#started.add(started);
    return true;
  }

  /** Starts nothing more; resolves when what was started has ended. */
  async close(): Promise<void> {
    this.#open = false;
    await Promise.all(this.#started);
  }

  /** A slot that is free goes to the job that waits longest. */
  async #within(slot: Slot, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } finally {
      const next = slot.waiting.shift();
      if (next === undefined) slot.free += 1;
      else next();
    }
  }
}
