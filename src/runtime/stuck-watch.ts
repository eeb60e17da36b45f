/**
 * Tells the log of turns that became stuck, each turn and cause once. It looks when a sweep asks it to, and no
 * oftener than its interval. What it told it remembers, within a bound: the oldest is forgotten first.
 */
import type { StuckRow } from '../db/queries/list-stuck.ts';
import type { Clock } from '../ledger/clock.ts';
import { explainStuck } from './stuck-reasons.ts';

export interface StuckWatchOptions {
  /** Stuck turns of every tenant, the longest stuck first. */
  readonly list: () => Promise<readonly StuckRow[]>;
  readonly warn: (fields: Readonly<Record<string, unknown>>, message: string) => void;
  readonly onError: (error: unknown) => void;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly intervalMs: number;
  /** Turns remembered at most; 2,000 unless given. */
  readonly remembered?: number;
}

const REMEMBERED = 2_000;

export class StuckWatch {
  readonly #options: StuckWatchOptions;
  readonly #told = new Set<string>();
  #nextMs = Number.NEGATIVE_INFINITY;

  constructor(options: StuckWatchOptions) {
    this.#options = options;
  }

  /** Returns how many it told of. Never rejects: a sweep must not fail for want of a warning. */
  async look(): Promise<number> {
    const { list, onError, clock, intervalMs } = this.#options;
    const nowMs = clock.monotonicMs();
    if (nowMs < this.#nextMs) return 0;
    this.#nextMs = nowMs + intervalMs;
    try {
      const rows = await list();
      return rows.filter((row) => this.#tell(row)).length;
    } catch (error) {
      onError(error);
      return 0;
    }
  }

  #tell(row: StuckRow): boolean {
    const key = `${row.turn} ${row.cause}`;
    const isNew = !this.#told.delete(key);
    this.#told.add(key);
    if (this.#told.size > (this.#options.remembered ?? REMEMBERED))
      this.#told.delete(this.#told.values().next().value ?? '');
    if (!isNew) return false;
    const { tenant, session, turn, number, cause, child, pool, sinceSeconds } = row;
    const fields = { tenant, session, turn, number, cause, child, pool, stuckSeconds: sinceSeconds };
    this.#options.warn({ ...fields, ...explainStuck(row) }, 'a turn is stuck');
    return true;
  }
}
