/** Time as everything below `src/app` is given it, so that a simulation can move it. */
export interface Clock {
  /** Milliseconds since 1970, for what people read. It may step: nothing waits by it or measures with it. */
  nowMs(): number;
  /** Milliseconds since some start, never stepping: durations and freshness. */
  monotonicMs(): number;
  sleep(delayMs: number): Promise<void>;
  /** Calls `act` once in `delayMs`, unless the returned function was called before. */
  after(delayMs: number, act: () => void): () => void;
}
