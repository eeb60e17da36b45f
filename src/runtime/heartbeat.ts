/**
 * One row by which a worker process says that it lives; its calls are taken over when the row grows older than
 * the lease. With each beat it also compares the calls it runs with the rows that name it.
 */
import type { UpkeepStore } from '../db/contract.ts';
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
  readonly onError: (error: unknown) => void;
}

export class Heartbeat {
  readonly #options: HeartbeatOptions;
  #timer: NodeJS.Timeout | null = null;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  /** Resolves when the first beat is stored: a worker claims nothing before. */
  async start(): Promise<void> {
    const { upkeep, worker, intervalMs, onError } = this.#options;
    await upkeep.beat(worker);
    this.#timer = setInterval(() => void this.#beat().catch(onError), intervalMs);
  }

  async #beat(): Promise<void> {
    const { upkeep, worker, running, leaseMs } = this.#options;
    await upkeep.beat(worker);
    const gone = await upkeep.reconcile(worker.id, running.held(leaseMs), leaseMs);
    for (const call of gone) running.abort(call);
  }

  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    await this.#options.upkeep.retire(this.#options.worker.id).catch(this.#options.onError);
  }
}
