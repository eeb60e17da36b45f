/**
 * Tells of a standing condition once. States: not told, told. Triggers: the condition begins (tells), goes on (silent),
 * ends (may be told again), is not known (nothing changes).
 */
export interface Latch {
  /** The state after. */
  readonly told: boolean;
  /** Whether to tell now. */
  readonly tell: boolean;
}

export function nextLatch(told: boolean, holds: boolean | 'unknown'): Latch {
  if (holds === 'unknown') return { told, tell: false };
  return { told: holds, tell: holds && !told };
}
