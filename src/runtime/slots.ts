/**
 * The slots of the pools a process serves, shared by the jobs that the queue brings and the calls that the process
 * starts itself. For every call that it starts, the queue's worker takes one job less at once; one slot stays the queue's.
 */
import type { Pool } from '../queues/contract.ts';

interface Slots {
  readonly size: number;
  readonly limit: (concurrency: number) => void;
  jobs: number;
  started: number;
}

export class PoolSlots {
  readonly #pools = new Map<Pool, Slots>();
  readonly #started = new Set<Promise<void>>();
  #open = true;

  /** `limit` tells the queue's worker of the pool how many jobs it may run at once. */
  serve(pool: Pool, size: number, limit: (concurrency: number) => void): void {
    this.#pools.set(pool, { size, limit, jobs: 0, started: 0 });
  }

  /** Runs a job of the queue, which has its slot. */
  async run(pool: Pool, work: () => Promise<void>): Promise<void> {
    const slots = this.#pools.get(pool);
    if (slots === undefined) return work();
    slots.jobs += 1;
    try {
      await work();
    } finally {
      slots.jobs -= 1;
    }
  }

  /** Starts `work`, which must not reject; false when its pool is not served here, has no slot for it, or closes. */
  start(pool: Pool, work: () => Promise<void>): boolean {
    const slots = this.#pools.get(pool);
    if (slots === undefined || !this.#open) return false;
    if (slots.jobs + slots.started >= slots.size || slots.started >= slots.size - 1) return false;
    this.#take(slots, 1);
    const started = work().finally(() => {
      this.#take(slots, -1);
      this.#started.delete(started);
    });
    this.#started.add(started);
    return true;
  }

  /** Starts nothing more; resolves when what was started has ended. */
  async close(): Promise<void> {
    this.#open = false;
    await Promise.all(this.#started);
  }

  #take(slots: Slots, by: 1 | -1): void {
    slots.started += by;
    slots.limit(slots.size - slots.started);
  }
}
