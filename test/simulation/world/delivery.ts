/**
 * The queue as processes see it: what they hand over, and which waiting job reaches whom when, late, out of order
 * or twice. A job that was taken stays active until its worker says how it ended, or a stall check finds it.
 */
import {
  type Admission,
  type JobRef,
  jobId,
  POOLS,
  type Pool,
  type PoolWorker,
  type QueueBackend,
  type WorkOptions,
} from '../../../src/queues/contract.ts';
import type { MemoryQueue } from '../memory/queue.ts';
import type { Dice } from './dice.ts';
import type { Faults } from './faults.ts';
import type { Owner, Scheduler } from './scheduler.ts';
import type { Wire } from './wire.ts';
import type { Witness } from './witness.ts';

export interface DeliveryOptions {
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  readonly faults: Pick<Faults, 'happens'>;
  readonly queue: MemoryQueue;
  readonly wire: Wire;
  readonly witness: Witness;
  readonly away: () => boolean;
  readonly note: (who: string, what: string) => void;
}

interface Worker {
  readonly owner: Owner;
  readonly pool: Pool;
  readonly options: WorkOptions;
  readonly running: Set<JobRef>;
  taking: boolean;
}

const SOON_MS = 1.5;
const LATE_MS = 15_000;
const AGAIN_WITHIN_MS = 8_000;
/** BullMQ's stall check finds the job of a dead worker within so long. */
const STALL_MS = 30_000;

export class Delivery {
  readonly #options: DeliveryOptions;
  readonly #workers = new Set<Worker>();
  /** Until when a job is held back. */
  readonly #held = new Map<string, number>();
  /** Every reference that was ever handed over. */
  readonly #known: { readonly pool: Pool; readonly ref: JobRef }[] = [];
  #looking = false;

  constructor(options: DeliveryOptions) {
    this.#options = options;
  }

  /** The queue's client in one process. */
  clientOf(owner: Owner): QueueBackend {
    const { wire, queue } = this.#options;
    const send = <T>(method: string, given: readonly unknown[], effect: () => T) =>
      wire.send(owner, { server: 'queue', method, arguments: given, effect: async () => effect() });
    return {
      kind: 'redis',
      admit: async (pool, admissions) => {
        await send('admit', [pool, admissions], () => this.#add(pool, admissions));
      },
      presence: async (pool, id) =>
        (await send('presence', [pool, id], () => queue.presence(pool, id))) as ReturnType<
          typeof queue.presence
        >,
      ping: async () => {
        await send('ping', [], () => {});
      },
      work: async (pool, options) => {
        await send('ping', [], () => {});
        return this.#work(owner, pool, options);
      },
      close: () => Promise.resolve(),
    };
  }

  /** Something may be ready to be taken. */
  look(): void {
    if (this.#looking) return;
    this.#looking = true;
    const { scheduler, dice } = this.#options;
    scheduler.after(dice.between(0.05, SOON_MS), null, () => {
      this.#looking = false;
      if (this.#takeOne()) this.look();
    });
  }

  /** Its process is dead: what it ran stays active until the stall check, and is heard of no more. */
  forget(owner: Owner): void {
    const { scheduler, dice, queue } = this.#options;
    for (const worker of this.#workers) {
      if (worker.owner !== owner) continue;
      this.#workers.delete(worker);
      for (const ref of worker.running)
        scheduler.after(dice.between(0, STALL_MS), null, () =>
          queue.finish(worker.pool, jobId(ref), 'failed'),
        );
    }
  }

  /** One waiting job is gone, as by eviction. */
  drop(choice: number): void {
    const { queue } = this.#options;
    const waiting = POOLS.flatMap((pool) => queue.waiting(pool).map((ref) => ({ pool, id: jobId(ref) })));
    const job = waiting[Math.floor(choice * waiting.length)];
    if (job !== undefined) queue.remove(job.pool, job.id);
  }

  /** A job that was handed over before comes again: straight to a worker, or added anew as from the board. */
  repeat(choice: number, how: 'delivered' | 'added'): void {
    const { queue } = this.#options;
    const job = this.#known[Math.floor(choice * this.#known.length)];
    if (job === undefined) return;
    if (how === 'delivered') {
      this.#again(job.pool, job.ref, 0);
      return;
    }
    queue.remove(job.pool, jobId(job.ref));
    this.#add(job.pool, [{ ref: job.ref, priority: 0 }]);
  }

  #add(pool: Pool, admissions: readonly Admission[]): void {
    this.#options.queue.add(pool, admissions);
    for (const { ref } of admissions) this.#known.push({ pool, ref });
    this.look();
  }

  #work(owner: Owner, pool: Pool, options: WorkOptions): PoolWorker {
    const worker: Worker = { owner, pool, options, running: new Set(), taking: true };
    this.#workers.add(worker);
    this.look();
    let closing: Promise<{ readonly unfinished: number }> | undefined;
    return {
      limit: () => {
        throw new Error('no process starts a call itself here');
      },
      close: (graceMs) => {
        closing ??= this.#close(worker, graceMs);
        return closing;
      },
    };
  }

  async #close(worker: Worker, graceMs: number): Promise<{ readonly unfinished: number }> {
    const { scheduler } = this.#options;
    worker.taking = false;
    const endsMs = scheduler.nowMs + graceMs;
    const pass = () =>
      new Promise<void>((resolve) => {
        scheduler.after(50, worker.owner, resolve);
      });
    while (worker.running.size > 0 && scheduler.nowMs < endsMs) await pass();
    const unfinished = worker.running.size;
    this.#workers.delete(worker);
    return { unfinished };
  }

  /** True when there may be more to take. */
  #takeOne(): boolean {
    const { dice, faults, queue, away } = this.#options;
    if (away()) return false;
    for (const pool of POOLS) {
      const worker = this.#freeOf(pool);
      if (worker === undefined) continue;
      const waiting = queue.waiting(pool).filter((ref) => this.#isFree(ref));
      const ref = faults.happens('reordered') ? waiting[dice.whole(0, waiting.length - 1)] : waiting[0];
      if (ref === undefined) continue;
      if (!this.#holdBack(ref)) this.#take(worker, ref);
      return true;
    }
    return false;
  }

  #holdBack(ref: JobRef): boolean {
    const { scheduler, dice, faults, witness } = this.#options;
    const id = jobId(ref);
    if (this.#held.has(id) || !faults.happens('lateDelivery')) return false;
    const lateMs = dice.between(SOON_MS, LATE_MS);
    this.#held.set(id, scheduler.nowMs + lateMs);
    scheduler.after(lateMs, null, () => this.look());
    witness.count('jobs delivered late');
    return true;
  }

  #take(worker: Worker, ref: JobRef): void {
    const { dice, faults, queue } = this.#options;
    queue.take(worker.pool, jobId(ref));
    this.#hand(worker, ref, 'gets');
    if (faults.happens('twiceDelivered')) this.#again(worker.pool, ref, dice.between(0, AGAIN_WITHIN_MS));
  }

  #again(pool: Pool, ref: JobRef, delayMs: number): void {
    const { scheduler, witness } = this.#options;
    scheduler.after(delayMs, null, () => {
      const worker = this.#freeOf(pool);
      if (worker === undefined) return;
      witness.count('jobs delivered again');
      this.#hand(worker, ref, 'gets again');
    });
  }

  #hand(worker: Worker, ref: JobRef, verb: string): void {
    const { scheduler, wire, note } = this.#options;
    const { owner, options } = worker;
    const run: JobRef = { ...ref };
    worker.running.add(run);
    note(owner.name, `${verb} ${jobId(ref)}`);
    scheduler.after(wire.latencyMs(), owner, () => {
      options.handle(run).then(
        () => this.#ended(worker, run, null),
        (error: Error) => this.#ended(worker, run, error),
      );
    });
  }

  #ended(worker: Worker, run: JobRef, error: Error | null): void {
    const { scheduler, queue, wire, away } = this.#options;
    const { owner, pool, options } = worker;
    if (error !== null) options.onError(error);
    scheduler.after(wire.latencyMs(), owner, () => {
      worker.running.delete(run);
      if (!away()) queue.finish(pool, jobId(run), error === null ? 'completed' : 'failed');
      this.look();
    });
  }

  #freeOf(pool: Pool): Worker | undefined {
    const { dice, scheduler } = this.#options;
    const free = [...this.#workers].filter(
      (worker) =>
        worker.pool === pool &&
        worker.taking &&
        worker.owner.pausedUntilMs <= scheduler.nowMs &&
        worker.running.size < worker.options.concurrency,
    );
    return free[dice.whole(0, free.length - 1)];
  }

  #isFree(ref: JobRef): boolean {
    return (this.#held.get(jobId(ref)) ?? 0) <= this.#options.scheduler.nowMs;
  }
}
