/**
 * The jobs of a queue in memory. Passive: whoever holds it says what is taken and how it ended, when, and what is lost.
 * Jobs are `waiting`, then `active`, then kept as `completed` or `failed` for a while, and gone.
 */
import {
  type Admission,
  type JobPresence,
  type JobRef,
  jobId,
  type Pool,
  type QueueBackend,
} from '../../../src/queues/contract.ts';
import { bullJob } from '../../../src/queues/pools.ts';
import { MemoryBackend } from './queue-backend.ts';

/** As many as BullMQ is told to keep on Redis of each pool and outcome. */
const KEPT_FINISHED = 1_000;

type Outcome = 'completed' | 'failed';

interface Job {
  readonly pool: Pool;
  readonly id: string;
  readonly ref: JobRef;
  readonly priority: number;
  readonly state: 'waiting' | 'active' | Outcome;
  readonly reason?: string | undefined;
}

export function createMemoryQueue(keptFinished = KEPT_FINISHED): MemoryQueue {
  return new MemoryQueue(keptFinished);
}

export class MemoryQueue {
  readonly #keptFinished: number;
  /** In the order in which they came into their state. */
  #jobs = new Map<string, Job>();
  readonly #listeners = new Set<() => void>();

  constructor(keptFinished: number) {
    this.#keptFinished = keptFinished;
  }

  /**
   * Adds what is not there under its id, in whatever state.
   * @throws RangeError for a reference whose id BullMQ could not store.
   */
  add(pool: Pool, admissions: readonly Admission[]): void {
    const jobs = admissions.map((admission) => bullJob(admission, undefined));
    for (const { data, opts } of jobs) this.addRaw(pool, jobId(data), data, opts.priority);
  }

  /** A job of any content, as anybody could add who reaches the queue. */
  addRaw(pool: Pool, id: string, data: unknown, priority = 0): void {
    if (this.#get(pool, id) !== undefined) return;
    this.#put({ pool, id, ref: data as JobRef, priority, state: 'waiting' });
    for (const told of this.#listeners) told();
  }

  presence(pool: Pool, id: string): JobPresence {
    const state = this.#get(pool, id)?.state;
    if (state === undefined) return 'absent';
    if (state === 'waiting') return 'pending';
    return state === 'active' ? 'active' : 'finished';
  }

  /** The most urgent first, and in the order of admission within one priority. */
  waiting(pool: Pool): readonly JobRef[] {
    return this.#waiting(pool).map(({ ref }) => ref);
  }

  /** The id of the most urgent. */
  nextId(pool: Pool): string | null {
    return this.#waiting(pool)[0]?.id ?? null;
  }

  /** Makes a waiting job active, the most urgent unless one is named. null when there is none. */
  take(pool: Pool, id?: string): JobRef | null {
    const job = this.#waiting(pool).find((one) => id === undefined || one.id === id);
    if (job === undefined) return null;
    this.#put({ ...job, state: 'active' });
    return job.ref;
  }

  /** An active job ended. One that was lost meanwhile ends unnoticed. */
  finish(pool: Pool, id: string, outcome: Outcome, reason?: string): void {
    const job = this.#get(pool, id);
    if (job?.state !== 'active') return;
    this.#put({ ...job, state: outcome, reason });
    const finished = [...this.#jobs.values()].filter((one) => one.pool === pool && one.state === outcome);
    for (const oldest of finished.slice(0, -this.#keptFinished)) this.remove(pool, oldest.id);
  }

  failedReason(pool: Pool, id: string): string | undefined {
    return this.#get(pool, id)?.reason;
  }

  /** One job is gone, whatever its state. */
  remove(pool: Pool, id: string): void {
    this.#jobs.delete(keyOf(pool, id));
  }

  /** All are gone, as after FLUSHALL. */
  lose(): void {
    this.#jobs = new Map();
  }

  /** A client whose workers take by themselves what waits, as those of BullMQ do; `away`: of a queue that is not there. */
  backend({ away = false }: { readonly away?: boolean } = {}): QueueBackend {
    return new MemoryBackend(this, away);
  }

  /** Calls `told` when a job was added. */
  onAdded(told: () => void): () => void {
    this.#listeners.add(told);
    return () => this.#listeners.delete(told);
  }

  #get(pool: Pool, id: string): Job | undefined {
    return this.#jobs.get(keyOf(pool, id));
  }

  #put(job: Job): void {
    const key = keyOf(job.pool, job.id);
    this.#jobs.delete(key);
    this.#jobs.set(key, job);
  }

  #waiting(pool: Pool): readonly Job[] {
    return [...this.#jobs.values()]
      .filter((job) => job.pool === pool && job.state === 'waiting')
      .sort((a, b) => a.priority - b.priority);
  }
}

function keyOf(pool: Pool, id: string): string {
  return `${pool}/${id}`;
}
