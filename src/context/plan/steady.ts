/**
 * Keeps the history still from turn to turn, so that a provider's prefix cache reaches over it: the newest turns are
 * whole from a boundary on that moves in steps, and what only its age speaks for is not whole before it. Without this
 * one turn more each time means one whole turn less at the other end, and everything behind that is sent anew.
 */
import type { Plannable, WholeTurns } from './fill.ts';

/** The boundary stands at multiples of this, counted from the first planned turn; of less, where few turns fit. */
const LARGEST_STEP = 8;

export function steadied(
  turns: Plannable,
  whole: WholeTurns,
  isPromoted: (position: number) => boolean,
): WholeTurns {
  const { from, count } = turns;
  let start = count;
  while (start > from && whole.isWhole[start - 1] === 1) start -= 1;
  if (start === from) return whole;
  const step = stepFor(count - start);
  const boundary = from + Math.ceil((start - from) / step) * step;
  const isWhole = whole.isWhole.slice();
  let { tokens } = whole;
  for (let position = from; position < boundary; position++) {
    if (isWhole[position] === 0 || isPromoted(position)) continue;
    isWhole[position] = 0;
    tokens -= turns.full(position);
  }
  const givingWay = whole.givingWay.filter((position) => isWhole[position] === 1);
  const merelyNew = whole.givingWay.slice(0, whole.merelyNew).filter((position) => isWhole[position] === 1);
  return { isWhole, tokens, givingWay, merelyNew: merelyNew.length };
}

/** A power of two that leaves at least half of the whole turns as they are. */
function stepFor(wholeTurns: number): number {
  let step = 1;
  while (step < LARGEST_STEP && step * 4 <= wholeTurns) step *= 2;
  return step;
}
