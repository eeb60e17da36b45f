/** One BullMQ backend over either transport: producers here, a worker of a pool in `pool-worker.ts`. */
import { Queue } from 'bullmq';
import { TurnwrightError } from '../ledger/errors.ts';
import {
  type Admission,
  type JobPresence,
  type JobRef,
  POOLS,
  type Pool,
  type PoolWorker,
  type WorkOptions,
} from './contract.ts';
import { within } from './deadline.ts';
import { startPoolWorker } from './pool-worker.ts';
import { type BullJob, bullJob, EVENT_STREAM_LENGTH, POOL_QUEUE_NAMES, presenceOf } from './pools.ts';
import type { Report } from './reporter.ts';
import { type BullBackend, type PoolQueue, type Transport, unreachable } from './transport.ts';

/** A queue that takes longer to answer one call is treated as gone; the outbox keeps the rows. */
const ANSWER_MS = 3_000;

export function createBullBackend(transport: Transport, report: Report): BullBackend {
  return new BullQueues(transport, report);
}

/** A backend's producers and workers, opened when first used and closed together. */
class BullQueues implements BullBackend {
  readonly kind: BullBackend['kind'];
  readonly #transport: Transport;
  readonly #report: Report;
  readonly #queues = new Map<Pool, PoolQueue>();
  readonly #workers = new Set<PoolWorker>();
  #closing: Promise<void> | undefined;

  constructor(transport: Transport, report: Report) {
    this.kind = transport.kind;
    this.#transport = transport;
    this.#report = report;
  }

  async admit(pool: Pool, admissions: readonly Admission[]): Promise<void> {
    const jobs = admissions.map((admission) => bullJob(admission, this.#transport.retention));
    if (jobs.length > 0) await this.#ask(() => add(this.#queueOf(pool), jobs));
  }

  async presence(pool: Pool, id: string): Promise<JobPresence> {
    return presenceOf(await this.#ask(() => this.#queueOf(pool).getJobState(id)));
  }

  /** Rejects when the queue is unreachable now; once started, the worker outlives any outage. */
  async work(pool: Pool, options: WorkOptions): Promise<PoolWorker> {
    await this.ping();
    const worker = startPoolWorker(this.#transport, pool, options);
    this.#workers.add(worker);
    return {
      limit: (concurrency) => worker.limit(concurrency),
      close: async (graceMs) => {
        const ended = await worker.close(graceMs);
        this.#workers.delete(worker);
        return ended;
      },
    };
  }

  ping(): Promise<void> {
    return this.#ask(() => this.#transport.ping());
  }

  queues(): ReadonlyMap<Pool, Queue> {
    return new Map(POOLS.map((pool) => [pool, this.#queueOf(pool)]));
  }

  close(): Promise<void> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  #queueOf(pool: Pool): PoolQueue {
    const known = this.#queues.get(pool);
    if (known !== undefined) return known;
    const queue = openQueue(this.#transport, pool, this.#report);
    this.#queues.set(pool, queue);
    // A queue whose first contact failed stays broken for good in BullMQ: the next call opens another.
    queue.waitUntilReady().catch(() => {
      if (this.#queues.get(pool) === queue) this.#queues.delete(pool);
    });
    return queue;
  }

  async #ask<T>(call: () => Promise<T>): Promise<T> {
    try {
      if (this.#closing !== undefined) throw new Error('this queue client was closed');
      return await within(
        this.#reachAnd(call),
        ANSWER_MS,
        () => new Error(`no answer within ${ANSWER_MS} ms`),
      );
    } catch (error) {
      throw error instanceof TurnwrightError ? error : unreachable(this.#transport, error);
    }
  }

  async #reachAnd<T>(call: () => Promise<T>): Promise<T> {
    await this.#transport.reach();
    try {
      return await call();
    } catch (error) {
      if (!this.#transport.retry(error)) throw error;
      await this.#transport.reach();
      return await call();
    }
  }

  async #closeAll(): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => worker.close(0)));
    await this.#transport.close();
    await Promise.all([...this.#queues.values()].map((queue) => queue.close().catch(this.#report)));
  }
}

/** The underlying BullMQ queues, one per pool. */
export function boardQueues(backend: BullBackend): ReadonlyMap<Pool, Queue> {
  return backend.queues();
}

/** One job, the usual case, goes by itself: on Postgres a bulk add creates two temporary tables, some 4 ms. */
async function add(queue: PoolQueue, jobs: readonly BullJob[]): Promise<void> {
  const [only, ...more] = jobs;
  if (only !== undefined && more.length === 0) await queue.add(only.name, only.data, only.opts);
  else await queue.addBulk([...jobs]);
}

function openQueue(transport: Transport, pool: Pool, report: Report): PoolQueue {
  const { connection, factory } = transport.producer();
  const queue: PoolQueue = new Queue<JobRef, void, string>(
    POOL_QUEUE_NAMES[pool],
    {
      connection,
      ...(transport.prefix === undefined ? {} : { prefix: transport.prefix }),
      streams: { events: { maxLen: EVENT_STREAM_LENGTH } },
    },
    factory,
  );
  queue.on('error', report);
  return queue;
}
