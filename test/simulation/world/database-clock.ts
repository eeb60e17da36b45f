/** The database's own clock. It may be set forth or back, and remembers what it showed when. */
import type { Scheduler } from './scheduler.ts';

export class DatabaseClock {
  readonly #scheduler: Scheduler;
  readonly #epochMs: number;
  readonly #steps: { readonly atMs: number; readonly offMs: number }[] = [{ atMs: 0, offMs: 0 }];

  constructor(scheduler: Scheduler, epochMs: number) {
    this.#scheduler = scheduler;
    this.#epochMs = epochMs;
  }

  nowMs(): number {
    return this.#epochMs + this.#scheduler.nowMs + this.#offMs();
  }

  step(byMs: number): void {
    this.#steps.push({ atMs: this.#scheduler.nowMs, offMs: this.#offMs() + byMs });
  }

  /** The latest it showed in a span of true time. */
  latestMs(fromMs: number, toMs: number): number {
    let latest = Number.NEGATIVE_INFINITY;
    for (const [index, { atMs, offMs }] of this.#steps.entries()) {
      const untilMs = Math.min(toMs, this.#steps[index + 1]?.atMs ?? toMs);
      if (untilMs >= fromMs && atMs <= toMs) latest = Math.max(latest, untilMs + offMs);
    }
    return this.#epochMs + latest;
  }

  /** How far it is behind the latest it ever showed. */
  behindMs(): number {
    return this.latestMs(0, this.#scheduler.nowMs) - this.nowMs();
  }

  #offMs(): number {
    return this.#steps.at(-1)?.offMs ?? 0;
  }
}
