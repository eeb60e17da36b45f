/** The calls this process runs right now, so that a cancellation from anywhere reaches the one it means. */
import type { HeldCalls } from '../db/contract.ts';
import type { Clock } from '../ledger/clock.ts';

export interface RunningCall {
  readonly signal: AbortSignal;
  end(): void;
}

export class RunningCalls {
  /** A job may come twice: each run has a controller of its own, and the end of one leaves the other in reach. */
  readonly #controllers = new Map<string, Set<AbortController>>();
  readonly #sinceMs = new Map<string, number>();
  /** A job that was fetched before the process stopped may come after it told its calls to. */
  #stopping = false;

  readonly #clock: Pick<Clock, 'monotonicMs'>;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  begin(actor: string, child: string): RunningCall {
    const key = `${actor}~${child}`;
    const controller = new AbortController();
    const runs = this.#controllers.get(key) ?? new Set();
    this.#controllers.set(key, runs.add(controller));
    if (this.#stopping) controller.abort(new Error('the worker stops'));
    if (runs.size === 1) this.#sinceMs.set(key, this.#clock.monotonicMs());
    return {
      signal: controller.signal,
      end: () => {
        runs.delete(controller);
        if (runs.size > 0 || this.#controllers.get(key) !== runs) return;
        this.#controllers.delete(key);
        this.#sinceMs.delete(key);
      },
    };
  }

  /** `notice` is `<actor>~<child>`, as the database sends it. */
  abort(notice: string): void {
    for (const controller of this.#controllers.get(notice) ?? []) controller.abort(new Error('cancelled'));
  }

  /** Every call, and every one that begins from then on. */
  abortAll(): void {
    this.#stopping = true;
    for (const runs of this.#controllers.values())
      for (const controller of runs) controller.abort(new Error('the worker stops'));
  }

  /** What runs now, and what has run for at least `oldMs`. */
  held(oldMs: number): HeldCalls {
    const before = this.#clock.monotonicMs() - oldMs;
    const held = [...this.#controllers.keys()];
    return { held, old: held.filter((key) => (this.#sinceMs.get(key) ?? before) <= before) };
  }

  get size(): number {
    return this.#controllers.size;
  }
}
