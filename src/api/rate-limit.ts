/** A token bucket a key, in this process. Pure: the clock is an argument. */

/** Keys remembered; a full bucket forgotten is a full bucket. */
const MAX_KEYS = 10_000;

interface Bucket {
  tokens: number;
  atMs: number;
}

export class RateLimit {
  readonly #burst: number;
  readonly #perSecond: number;
  readonly #buckets = new Map<string, Bucket>();

  constructor({ burst, perSecond }: { readonly burst: number; readonly perSecond: number }) {
    this.#burst = burst;
    this.#perSecond = perSecond;
  }

  /** null when the request may go on; otherwise the milliseconds after which the next one may. */
  take(key: string, nowMs: number): number | null {
    const bucket = this.#buckets.get(key) ?? { tokens: this.#burst, atMs: nowMs };
    const elapsedMs = Math.max(0, nowMs - bucket.atMs);
    const tokens = Math.min(this.#burst, bucket.tokens + (elapsedMs / 1_000) * this.#perSecond);
    const allowed = tokens >= 1;
    this.#buckets.delete(key);
    this.#buckets.set(key, { tokens: allowed ? tokens - 1 : tokens, atMs: nowMs });
    if (this.#buckets.size > MAX_KEYS) this.#buckets.delete(this.#buckets.keys().next().value ?? '');
    return allowed ? null : Math.ceil(((1 - tokens) / this.#perSecond) * 1_000);
  }
}
