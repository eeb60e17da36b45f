/** A client of the memory queue that delivers by itself: what the contract of a queue backend asks beyond the jobs. */
import { TurnwrightError } from '../../../src/ledger/errors.ts';
import {
  type Admission,
  type JobPresence,
  type JobRef,
  jobRef,
  type Pool,
  type PoolWorker,
  type QueueBackend,
  type WorkOptions,
} from '../../../src/queues/contract.ts';
import { settledWithin } from '../../../src/queues/deadline.ts';
import { Running } from '../../../src/queues/running.ts';
import type { MemoryQueue } from './queue.ts';

export class MemoryBackend implements QueueBackend {
  readonly kind = 'redis';
  readonly #queue: MemoryQueue;
  readonly #workers = new Set<MemoryWorker>();
  #away: boolean;

  constructor(queue: MemoryQueue, away: boolean) {
    this.#queue = queue;
    this.#away = away;
  }

  async admit(pool: Pool, admissions: readonly Admission[]): Promise<void> {
    await this.ping();
    this.#queue.add(pool, admissions);
  }

  async presence(pool: Pool, id: string): Promise<JobPresence> {
    await this.ping();
    return this.#queue.presence(pool, id);
  }

  async work(pool: Pool, options: WorkOptions): Promise<PoolWorker> {
    await this.ping();
    const worker = new MemoryWorker(this.#queue, pool, options);
    this.#workers.add(worker);
    return worker;
  }

  async ping(): Promise<void> {
    if (this.#away) throw new TurnwrightError('queue_unreachable', 'the job queue in memory does not answer');
  }

  async close(): Promise<void> {
    this.#away = true;
    await Promise.all([...this.#workers].map((worker) => worker.close(0)));
  }
}

/** The outcome of a job its worker could not wait for. */
class LetGo extends Error {
  constructor() {
    super('the worker stopped before this job ended');
  }
}

/** States: taking → closing → closed. */
class MemoryWorker implements PoolWorker {
  readonly #queue: MemoryQueue;
  readonly #pool: Pool;
  readonly #options: WorkOptions;
  readonly #running = new Running();
  /** Each resolves when the outcome of its job is noted. */
  readonly #runs = new Set<Promise<void>>();
  readonly #unsubscribe: () => void;
  #concurrency: number;
  #closing: Promise<{ readonly unfinished: number }> | undefined;

  constructor(queue: MemoryQueue, pool: Pool, options: WorkOptions) {
    this.#queue = queue;
    this.#pool = pool;
    this.#options = options;
    this.#concurrency = options.concurrency;
    this.#unsubscribe = queue.onAdded(() => this.#takeMore());
    this.#takeMore();
  }

  limit(concurrency: number): void {
    this.#concurrency = concurrency;
    this.#takeMore();
  }

  close(graceMs: number): Promise<{ readonly unfinished: number }> {
    this.#closing ??= this.#close(graceMs);
    return this.#closing;
  }

  #takeMore(): void {
    while (this.#closing === undefined && this.#running.size < this.#concurrency) {
      const id = this.#queue.nextId(this.#pool);
      if (id === null) return;
      const run: Promise<void> = this.#run(id).then(() => {
        this.#runs.delete(run);
        this.#takeMore();
      });
      this.#runs.add(run);
    }
  }

  /** Takes a job, and notes how it ended. */
  async #run(id: string): Promise<void> {
    const data = this.#queue.take(this.#pool, id);
    try {
      await this.#running.track(this.#handle(data));
      this.#queue.finish(this.#pool, id, 'completed');
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      this.#queue.finish(this.#pool, id, 'failed', reason);
      if (cause instanceof LetGo) return;
      this.#options.onError(new Error(`job ${id} of the ${this.#pool} pool failed: ${reason}`, { cause }));
    }
  }

  async #handle(data: JobRef | null): Promise<void> {
    const parsed = jobRef.safeParse(data);
    if (parsed.success) return this.#options.handle(parsed.data);
    const wrong = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
    throw new Error(`the job is not a reference of the ${this.#pool} pool: ${wrong}; remove this one`);
  }

  async #close(graceMs: number): Promise<{ readonly unfinished: number }> {
    this.#unsubscribe();
    await settledWithin(this.#running.idle(), graceMs);
    const unfinished = this.#running.abandon(new LetGo());
    await Promise.all(this.#runs);
    return { unfinished };
  }
}
