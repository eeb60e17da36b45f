/**
 * A worker of one pool.
 *
 * States: taking → closing → closed. `close` stops taking, gives running handlers `graceMs`, then lets
 * go of the rest: their jobs are marked failed for the board, and their side calls are taken over by
 * lease. BullMQ never runs a job a second time here (`maxStalledCount: 0`): takeover is the ledger's.
 */
import { type Job, UnrecoverableError } from 'bullmq';
import { z } from 'zod';
import { type JobRef, jobRef, type Pool, type PoolWorker, type WorkOptions } from './contract.ts';
import { settledWithin } from './deadline.ts';
import { POOL_QUEUE_NAMES } from './pools.ts';
import { createReporter, describe } from './reporter.ts';
import { Running } from './running.ts';
import { BullWorker, type Transport } from './transport.ts';

/** A job whose process died leaves the active list after at most both; recovery does not wait for it. */
const LOCK_MS = 15_000;
const STALL_CHECK_MS = 15_000;
/** BullMQ's default of 15 s would leave every pool idle for that long after an outage. */
const RETRY_MS = 1_000;
/** A lost wake-up costs at most this; both backends block on a signal in between. */
const WAIT_S = 5;
/** What BullMQ may take to write the last outcomes and hang up. */
const CLOSE_MARGIN_MS = 2_000;

export function startPoolWorker(transport: Transport, pool: Pool, options: WorkOptions): PoolWorker {
  const running = new Running();
  const worker = openWorker(transport, pool, options.concurrency, async (job) => {
    const parsed = jobRef.safeParse(job.data);
    if (!parsed.success) throw new UnrecoverableError(malformed(pool, parsed.error));
    await running.track(Promise.resolve(parsed.data).then(options.handle));
  });
  worker.on('error', createReporter(options.onError, () => performance.now()).report);
  worker.on('failed', (job, error) => {
    if (!(error instanceof LetGo)) options.onError(failure(pool, job, error));
  });
  let closing: Promise<{ unfinished: number }> | undefined;
  return {
    limit: (concurrency) => {
      worker.concurrency = concurrency;
    },
    close: (graceMs) => {
      closing ??= closeWorker(transport, worker, running, graceMs);
      return closing;
    },
  };
}

/** The outcome on the board of a job its worker could not wait for. */
class LetGo extends Error {
  constructor() {
    super('the worker stopped before this job ended; its side call is taken over when its lease runs out');
    this.name = 'LetGo';
  }
}

function openWorker(
  transport: Transport,
  pool: Pool,
  concurrency: number,
  run: (job: Job<JobRef, void, string>) => Promise<void>,
): BullWorker {
  const { connection, factory } = transport.consumer();
  return new BullWorker(
    POOL_QUEUE_NAMES[pool],
    run,
    {
      connection,
      ...(transport.prefix === undefined ? {} : { prefix: transport.prefix }),
      concurrency,
      maxStalledCount: 0,
      lockDuration: LOCK_MS,
      stalledInterval: STALL_CHECK_MS,
      runRetryDelay: RETRY_MS,
      drainDelay: WAIT_S,
    },
    factory,
  );
}

async function closeWorker(
  transport: Transport,
  worker: BullWorker,
  running: Running,
  graceMs: number,
): Promise<{ unfinished: number }> {
  transport.retire(worker);
  const graceful = worker.close();
  const ended = await endedWithin(graceful, running, graceMs);
  const unfinished = running.abandon(new LetGo());
  // Over a dead connection BullMQ's graceful close never ends.
  if (!ended && !(await settledWithin(graceful, CLOSE_MARGIN_MS))) {
    await settledWithin(worker.abandon(), CLOSE_MARGIN_MS);
  }
  return { unfinished };
}

/** False when the grace is used up, or when nothing runs any more and BullMQ still does not close. */
async function endedWithin(graceful: Promise<void>, running: Running, graceMs: number): Promise<boolean> {
  const deadlineMs = performance.now() + graceMs;
  for (;;) {
    const leftMs = deadlineMs - performance.now();
    if (leftMs <= 0) return false;
    await settledWithin(Promise.race([graceful, running.idle()]), leftMs);
    if (running.size > 0) continue;
    // A job fetched just before the close may still start here: it gets the rest of the grace.
    if (await settledWithin(graceful, Math.min(CLOSE_MARGIN_MS, Math.max(leftMs, 0)))) return true;
    if (running.size === 0) return false;
  }
}

function malformed(pool: Pool, error: z.ZodError): string {
  return (
    `the job is not a reference of the ${pool} pool: ${z.prettifyError(error).replaceAll('\n', ' ')}; ` +
    'only Turnwright adds jobs to this queue: remove this one'
  );
}

function failure(pool: Pool, job: Job<JobRef, void, string> | undefined, cause: unknown): Error {
  const which = job?.id === undefined ? 'a job' : `job ${job.id}`;
  return new Error(`${which} of the ${pool} pool failed: ${describe(cause)}`, { cause });
}
