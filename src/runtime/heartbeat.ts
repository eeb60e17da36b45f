/**
 * One row by which a worker process says that it lives; its calls are taken over when the row grows older than
 * the lease. With each beat it also compares the calls it runs with the rows that name it.
 */
import type { UpkeepStore } from '../db/contract.ts';
import type { Clock } from '../ledger/clock.ts';
import type { RunningCalls } from './running-calls.ts';

export interface HeartbeatOptions {
  readonly upkeep: UpkeepStore;
  readonly worker: {
    readonly id: string;
    readonly host: string;
    readonly pid: number;
    readonly pools: Readonly<Record<string, number>>;
  };
  readonly running: RunningCalls;
  readonly intervalMs: number;
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #stopTimer: (() => void) | null = null;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  /** Resolves when the first beat is stored: a worker claims nothing before. */
  async start(): Promise<void> {
    const { upkeep, worker } = this.#options;
    await upkeep.beat(worker);
    this.#schedule();
  }

  /** A beat that finds no answer delays no later one. */
  #schedule(): void {
    const { clock, intervalMs, onError } = this.#options;
    this.#stopTimer = clock.after(intervalMs, () => {
      this.#schedule();
      void this.#beat().catch(onError);
    });
  }

  async #beat(): Promise<void> {
    const { upkeep, worker, running, leaseMs } = this.#options;
    await upkeep.beat(worker);
    const gone = await upkeep.reconcile(worker.id, running.held(leaseMs), leaseMs);
    for (const call of gone) running.abort(call);
  }

  async stop(): Promise<void> {
    this.#stopTimer?.();
    this.#stopTimer = null;
    await this.#options.upkeep.retire(this.#options.worker.id).catch(this.#options.onError);
  }
}
