/** A range of lines as a model writes it: both ends included, counted from 1, either end open. */
import { z } from 'zod';

export const lineRange = z.strictObject({
  from: z.int().min(0).optional().describe('First line, counted from 1.'),
  to: z.int().min(0).optional().describe('Last line, included.'),
});

export type LineRange = z.infer<typeof lineRange>;

/** `to` is Infinity when open. A zero, which no line has, leaves its end open. */
export function boundsOf(range: LineRange): { readonly from: number; readonly to: number } {
  return { from: range.from || 1, to: range.to || Number.POSITIVE_INFINITY };
}

/** What is wrong with the bounds, or null. */
export function wrongOrder(bounds: { readonly from: number; readonly to: number }): string | null {
  if (bounds.from <= bounds.to) return null;
  return `The range runs backwards, from ${bounds.from} to ${bounds.to}; put the smaller line first.`;
}
