/**
 * Bounds the finished jobs BullMQ keeps on Postgres.
 *
 * Its own retention deletes old rows inside every finish: with a few jobs ending at once these deletes
 * deadlock, and the jobs are then failed (seen with 20 in flight). So jobs are kept without a bound
 * there, and every process with a worker sweeps the oldest away now and then, one queue at a time.
 */
import type { PostgresQueueBackend } from 'bullmq';
import type { Report } from './reporter.ts';

/** At a thousand jobs a second some 10,000 rows wait for the sweep: a few MB. */
const SWEEP_MS = 10_000;
/** Rows a statement may delete, so that none runs long. */
const BATCH = 5_000;

const KEPT = { completed: 1_000, failed: 1_000 } as const;
type Finished = keyof typeof KEPT;

export class RetentionSweep {
  readonly #backends: ReadonlySet<PostgresQueueBackend>;
  readonly #report: Report;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;

  constructor(backends: ReadonlySet<PostgresQueueBackend>, report: Report) {
    this.#backends = backends;
    this.#report = report;
  }

  start(): void {
    this.#timer ??= setInterval(() => void this.sweep(), SWEEP_MS).unref();
  }

  /** Sweeps every queue that has a worker here; joins a sweep that runs. */
  sweep(): Promise<void> {
    this.#running ??= this.#sweepAll().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
  }

  async #sweepAll(): Promise<void> {
    try {
      for (const backend of [...this.#backends]) {
        for (const state of ['completed', 'failed'] as const) await bound(backend, state);
      }
    } catch (error) {
      // Two processes may meet on the same rows; the next sweep finds what is left.
      this.#report(error);
    }
  }
}

async function bound(backend: PostgresQueueBackend, state: Finished): Promise<void> {
  const [count = 0] = await backend.getCounts([state]);
  for (let excess = count - KEPT[state]; excess > 0; excess -= BATCH) {
    await backend.cleanJobsByState(state, Date.now(), Math.min(excess, BATCH));
  }
}
