export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** `share` from 0 to 1, between the two nearest values where it falls between them. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * share;
  const below = sorted[Math.floor(at)] ?? Number.NaN;
  const above = sorted[Math.ceil(at)] ?? Number.NaN;
  return below + (above - below) * (at - Math.floor(at));
}

/** What several rounds gave: the middle, and how far they lay apart. */
export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

export function spread(values: readonly number[]): Spread {
  return { median: median(values), least: Math.min(...values), most: Math.max(...values) };
}

/** Milliseconds that the work takes. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}
