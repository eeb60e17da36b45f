/** How near a request is to its model's window: when an eviction is due, and when a model is told that one is near. */
import type { Measure } from './contract.ts';

/** Share of a window that is kept free, in percent. */
const RESERVE_PERCENT = 15;
/** What a reply and a batch of results take, however small that share is. */
const RESERVE_FLOOR_TOKENS = 16_384;
/** A window must stay usable: the floor never takes more than this part of it. */
const FLOOR_PART = 4;
/** Where no window is known, the history is weighed instead. */
export const DUE_BYTES = 512_000;
/** Three quarters of it. */
export const PRESSED_BYTES = 384_000;

/** Tokens of a window of `limit` tokens that are kept free. */
export function reserveTokens(limit: number): number {
  const floor = Math.min(RESERVE_FLOOR_TOKENS, Math.floor(limit / FLOOR_PART));
  return Math.max(Math.floor((limit * RESERVE_PERCENT) / 100), floor);
}

/** A measure from before an edit says nothing, and no other figure stands in for it: one eviction cannot bring the next. */
export function isDue(measure: Measure): boolean {
  switch (measure.unit) {
    case 'tokens':
      return measure.used + reserveTokens(measure.limit) > measure.limit;
    case 'bytes':
      return measure.used >= DUE_BYTES;
    case 'stale':
      return false;
  }
}

/** One reserve before an eviction is due. */
export function isPressed(measure: Measure): boolean | 'unknown' {
  switch (measure.unit) {
    case 'tokens':
      return measure.used + 2 * reserveTokens(measure.limit) > measure.limit;
    case 'bytes':
      return measure.used >= PRESSED_BYTES;
    case 'stale':
      return 'unknown';
  }
}
