/** One BullMQ backend over either transport: producers here, a worker of a pool in `pool-worker.ts`. */
import { Queue } from 'bullmq';
import { TurnwrightError } from '../ledger/errors.ts';
import {
  type Admission,
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
  const queues = new Map<Pool, PoolQueue>();
  const workers = new Set<PoolWorker>();
  let closing: Promise<void> | undefined;

  function queueOf(pool: Pool): PoolQueue {
    const known = queues.get(pool);
    if (known !== undefined) return known;
    const queue = openQueue(transport, pool, report);
    queues.set(pool, queue);
    // A queue whose first contact failed stays broken for good in BullMQ: the next call opens another.
    queue.waitUntilReady().catch(() => {
      if (queues.get(pool) === queue) queues.delete(pool);
    });
    return queue;
  }

  async function reachAnd<T>(call: () => Promise<T>): Promise<T> {
    await transport.reach();
    try {
      return await call();
    } catch (error) {
      if (!transport.retry(error)) throw error;
      await transport.reach();
      return await call();
    }
  }

  async function ask<T>(call: () => Promise<T>): Promise<T> {
    try {
      if (closing !== undefined) throw new Error('this queue client was closed');
      return await within(reachAnd(call), ANSWER_MS, () => new Error(`no answer within ${ANSWER_MS} ms`));
    } catch (error) {
      throw error instanceof TurnwrightError ? error : unreachable(transport, error);
    }
  }

  async function closeAll(): Promise<void> {
    await Promise.all([...workers].map((worker) => worker.close(0)));
    await transport.close();
    await Promise.all([...queues.values()].map((queue) => queue.close().catch(report)));
  }

  return {
    kind: transport.kind,
    queues: () => new Map(POOLS.map((pool) => [pool, queueOf(pool)])),
    async admit(pool: Pool, admissions: readonly Admission[]) {
      const jobs = admissions.map((admission) => bullJob(admission, transport.retention));
      if (jobs.length > 0) await ask(() => add(queueOf(pool), jobs));
    },
    async presence(pool: Pool, id: string) {
      return presenceOf(await ask(() => queueOf(pool).getJobState(id)));
    },
    async work(pool: Pool, options: WorkOptions) {
      await ask(() => transport.ping());
      const worker = startPoolWorker(transport, pool, options);
      workers.add(worker);
      return {
        close: async (graceMs: number) => {
          const ended = await worker.close(graceMs);
          workers.delete(worker);
          return ended;
        },
      };
    },
    ping: () => ask(() => transport.ping()),
    close: () => {
      closing ??= closeAll();
      return closing;
    },
  };
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
