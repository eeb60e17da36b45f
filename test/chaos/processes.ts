/** Processes of a run, each kept alive by a supervisor: what dies is started again, as an orchestrator would. */
import { setTimeout as delay } from 'node:timers/promises';
import { until } from '../support/await.ts';
import type { TestSettings } from '../support/stack-config.ts';
import { type OwnProcess, type ProcessEnd, spawnOwner } from '../support/worker-process.ts';

type CommonSettings = Omit<TestSettings, 'tools'> & { readonly effectsFile: string };
export type WorkerSettings = CommonSettings & { readonly drainMs: number };
export type ApiSettings = CommonSettings & { readonly port: number };

/** A process ended though nobody ended it. */
export interface Crash extends ProcessEnd {
  readonly name: string;
  readonly atMs: number;
}

export interface SlotOptions {
  readonly name: string;
  readonly script: string;
  readonly settings: WorkerSettings | ApiSettings;
  readonly onComplaint: (text: string) => void;
  readonly onCrash: (crash: Crash) => void;
}

const RESTART_PAUSE_MS = 100;
/** A process that finds its database away does not start: the supervisor tries again. */
const FAILED_START_PAUSE_MS = 500;
/** Loading the source takes seconds, on a busy machine many, and a database may be away for some. */
const READY_MS = 180_000;

export class Slot {
  readonly name: string;
  readonly #options: SlotOptions;
  #process: OwnProcess | null = null;
  #ending = false;
  #closed = false;
  #failedStarts = 0;
  #running: Promise<void> = Promise.resolve();

  constructor(options: SlotOptions) {
    this.name = options.name;
    this.#options = options;
  }

  start(): void {
    this.#running = this.#supervise();
  }

  /** Null while it starts. */
  get live(): OwnProcess | null {
    return this.#ending ? null : this.#process;
  }

  /** Processes that ended before they worked: what they needed was away. */
  get failedStarts(): number {
    return this.#failedStarts;
  }

  ready(): Promise<OwnProcess> {
    return until(`${this.name} works`, () => this.live, READY_MS);
  }

  /** Ends the process; the supervisor starts the next one. The exit code is null where a signal ended it. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null> {
    const process = this.live;
    if (process === null) throw new Error(`${this.name} is not running`);
    this.#ending = true;
    return process.kill(signal);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#ending = true;
    this.#process?.thaw();
    await this.#process?.kill('SIGKILL');
    await this.#running;
  }

  /** Asked anew each time: it changes while others are waited for. */
  #isClosed(): boolean {
    return this.#closed;
  }

  #isEnding(): boolean {
    return this.#ending;
  }

  async #supervise(): Promise<void> {
    const { script, settings, onComplaint, onCrash } = this.#options;
    while (!this.#isClosed()) {
      const started = await spawnOwner(script, settings, onComplaint).catch(() => null);
      if (started === null) {
        this.#failedStarts += 1;
        await delay(FAILED_START_PAUSE_MS);
        continue;
      }
      this.#ending = false;
      this.#process = started;
      if (this.#isClosed()) await started.kill('SIGKILL');
      const end = await started.ended;
      this.#process = null;
      if (!this.#isEnding()) onCrash({ name: this.name, atMs: Date.now(), ...end });
      await delay(RESTART_PAUSE_MS);
    }
  }
}
