/** The shared limiter, as far as these worlds need one: a key that was refused is left alone until its pause is over. */
import type { RateAnswer, RateLimitStore, RateRefusal, RateRequest } from '../../../src/db/rate-limits.ts';

export class Pauses implements RateLimitStore {
  readonly #nowMs: () => number;
  readonly #tell: (key: string) => void;
  readonly #untilMs = new Map<string, number>();

  constructor(nowMs: () => number, tell: (key: string) => void) {
    this.#nowMs = nowMs;
    this.#tell = tell;
  }

  async take({ key, inPlaceMs }: RateRequest): Promise<RateAnswer> {
    const waitMs = Math.max(0, (this.#untilMs.get(key) ?? 0) - this.#nowMs());
    if (waitMs > inPlaceMs) return { granted: false, waitMs, cause: 'pause' };
    return { granted: true, waitMs, limited: waitMs > 0 };
  }

  async penalise({ key, pauseMs }: RateRefusal): Promise<void> {
    this.#untilMs.set(key, Math.max(this.#untilMs.get(key) ?? 0, this.#nowMs() + pauseMs));
    this.#tell(key);
  }

  async limited(): Promise<readonly string[]> {
    return [...this.#untilMs].filter(([, untilMs]) => untilMs > this.#nowMs()).map(([key]) => key);
  }

  async settle(): Promise<void> {}
}
