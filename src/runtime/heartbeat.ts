/** One row a worker process says that it lives. Its calls are taken over when the row grows older than the lease. */
import type { UpkeepStore } from '../db/contract.ts';

export interface HeartbeatOptions {
  readonly upkeep: UpkeepStore;
  readonly worker: {
    readonly id: string;
    readonly host: string;
    readonly pid: number;
    readonly pools: Readonly<Record<string, number>>;
  };
  readonly intervalMs: number;
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
    this.#timer = setInterval(() => void upkeep.beat(worker).catch(onError), intervalMs);
  }

  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    await this.#options.upkeep.retire(this.#options.worker.id).catch(this.#options.onError);
  }
}
