/**
 * How much of each prompt an earlier one had at its start, too: what a sender kept byte-stable, whatever any cache made
 * of it. A cache forgets, has a minimum and looks back only so far; this does none of that.
 *
 * Held by series: the prompts of one session at one model over one wire. The series used longest ago leave when all
 * hold more than they may.
 */
import type { Segment } from './prompt.ts';

/** Boundaries in all series together; about 16 MB. */
const MAX_BOUNDARIES = 200_000;

export class SharedPrefixes {
  readonly #series = new Map<string, Set<number>>();
  readonly #maxBoundaries: number;
  #boundaries = 0;

  constructor(maxBoundaries = MAX_BOUNDARIES) {
    this.#maxBoundaries = maxBoundaries;
  }

  get size(): number {
    return this.#boundaries;
  }

  /** Bytes of text, in whole blocks from the start, that a prompt added to the series before begins with, too. */
  sharedBytes(series: string, segments: readonly Segment[]): number {
    return segments[this.#sharedUpTo(series, segments)]?.endBytes ?? 0;
  }

  add(series: string, segments: readonly Segment[]): void {
    const from = this.#sharedUpTo(series, segments) + 1;
    const held = this.#series.get(series) ?? new Set<number>();
    this.#boundaries -= held.size;
    for (const segment of segments.slice(from)) held.add(segment.key);
    this.#boundaries += held.size;
    this.#series.delete(series);
    this.#series.set(series, held);
    this.#drop(series);
  }

  /** Index of the last segment that is shared; -1 when none is. */
  #sharedUpTo(series: string, segments: readonly Segment[]): number {
    const held = this.#series.get(series);
    return held === undefined ? -1 : segments.findLastIndex((segment) => held.has(segment.key));
  }

  #drop(kept: string): void {
    for (const [series, held] of this.#series) {
      if (this.#boundaries <= this.#maxBoundaries || series === kept) return;
      this.#series.delete(series);
      this.#boundaries -= held.size;
    }
  }
}
