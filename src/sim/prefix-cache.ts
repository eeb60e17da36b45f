/**
 * The key-value cache of one served model: which prompt prefixes it still holds.
 *
 * States of an entry: absent, live, expired (swept when met). Two ways to fill it: `implicit` stores every
 * segment boundary of a served prompt (OpenAI, Ollama), `explicit` only the marked ones (Anthropic).
 * A hit, and a repeated write, starts the entry's life anew.
 */
import type { SimModel } from './contract.ts';
import { prefixTokens, type Segment } from './prompt.ts';

export const SHORT_LIFE_MS = 5 * 60_000;
export const LONG_LIFE_MS = 60 * 60_000;
/** Least recently used entries beyond this leave; about 4 MB. */
const MAX_ENTRIES = 50_000;
/** https://platform.claude.com/docs/en/build-with-claude/prompt-caching: minimum length, look-back window. */
const MIN_EXPLICIT_TOKENS = 1_024;
const LOOK_BACK_BLOCKS = 20;

export interface Breakpoint {
  /** Index into the prompt's segments. */
  readonly segment: number;
  readonly lifeMs: number;
}

export interface CacheUse {
  readonly readTokens: number;
  readonly writtenShortTokens: number;
  readonly writtenLongTokens: number;
}

interface Entry {
  readonly lifeMs: number;
  expiresAtMs: number;
}

export class PrefixCache {
  readonly #entries = new Map<number, Entry>();
  readonly #model: SimModel;

  constructor(model: SimModel) {
    this.#model = model;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Longest live prefix, in tokens; then every boundary of this prompt is stored. */
  implicit(segments: readonly Segment[], nowMs: number): CacheUse {
    let hit = segments.length - 1;
    while (hit >= 0 && !this.#live(segments[hit], nowMs)) hit -= 1;
    const readTokens = prefixTokens(segments[hit], this.#model);
    for (const segment of segments) this.#store(segment.key, SHORT_LIFE_MS, nowMs);
    return { readTokens, writtenShortTokens: 0, writtenLongTokens: 0 };
  }

  /** Each breakpoint, last first, looks back for a stored one; then the breakpoints are stored. */
  explicit(segments: readonly Segment[], breakpoints: readonly Breakpoint[], nowMs: number): CacheUse {
    const hit = this.#lookBack(segments, breakpoints, nowMs);
    let done = prefixTokens(segments[hit], this.#model);
    const readTokens = done;
    const written = { short: 0, long: 0 };
    for (const breakpoint of breakpoints) {
      const segment = segments[breakpoint.segment];
      const tokens = prefixTokens(segment, this.#model);
      if (segment === undefined || tokens < MIN_EXPLICIT_TOKENS) continue;
      written[breakpoint.lifeMs === LONG_LIFE_MS ? 'long' : 'short'] += Math.max(0, tokens - done);
      done = Math.max(done, tokens);
      this.#store(segment.key, breakpoint.lifeMs, nowMs);
    }
    return { readTokens, writtenShortTokens: written.short, writtenLongTokens: written.long };
  }

  #lookBack(segments: readonly Segment[], breakpoints: readonly Breakpoint[], nowMs: number): number {
    for (const breakpoint of breakpoints.toReversed()) {
      const oldest = Math.max(0, breakpoint.segment - LOOK_BACK_BLOCKS + 1);
      for (let index = breakpoint.segment; index >= oldest; index -= 1) {
        const segment = segments[index];
        if (segment === undefined || !this.#live(segment, nowMs)) continue;
        this.#store(segment.key, this.#entries.get(segment.key)?.lifeMs ?? SHORT_LIFE_MS, nowMs);
        return index;
      }
    }
    return -1;
  }

  #live(segment: Segment | undefined, nowMs: number): boolean {
    if (segment === undefined) return false;
    const entry = this.#entries.get(segment.key);
    if (entry === undefined) return false;
    if (entry.expiresAtMs > nowMs) return true;
    this.#entries.delete(segment.key);
    return false;
  }

  #store(key: number, lifeMs: number, nowMs: number): void {
    this.#entries.delete(key);
    this.#entries.set(key, { lifeMs, expiresAtMs: nowMs + lifeMs });
    if (this.#entries.size <= MAX_ENTRIES) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      break;
    }
  }
}
