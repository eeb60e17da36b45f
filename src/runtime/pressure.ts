/**
 * Whether a model is to be told that an eviction is near: once for each time its requests come into that range. What was
 * measured, told and evicted stands in the ledger, so the state follows from the records of a turn and from the state the
 * turn began in, which its plan holds.
 */
import { isPressed } from '../context/evict/gauge.ts';
import type { LastMeasure } from '../ledger/items.ts';
import type { TurnView } from '../ledger/view.ts';

type Seen = Pick<TurnView, 'plan' | 'measures' | 'pressures' | 'evictions'>;

/** After all that the turn recorded so far. A history that is weighed in bytes is under the line again once it was cut. */
export function toldBy({ plan, measures, pressures, evictions }: Seen, leg: string): boolean {
  const limit = plan?.limitTokens ?? null;
  const ends = (limit === null ? evictions : measures.filter((one) => isUnder(one, leg, limit))).map(
    ({ seq }) => seq,
  );
  const begins = pressures.map(({ seq }) => seq);
  const lastEnd = Math.max(0, ...ends);
  const lastBegin = Math.max(0, ...begins);
  if (lastEnd === 0 && lastBegin === 0) return plan?.told ?? false;
  return lastBegin > lastEnd;
}

/** As the turn's close records it; null where nothing was measured and nothing told. */
export function lastMeasure(view: Seen, leg: string): LastMeasure | null {
  const newest = view.measures.findLast((measure) => measure.leg === leg) ?? null;
  const told = toldBy(view, leg);
  if (newest === null && !told) return null;
  return { tokens: newest?.tokens ?? null, seq: newest?.seq ?? 0, told };
}

function isUnder(measure: TurnView['measures'][number], leg: string, limit: number): boolean {
  return measure.leg === leg && isPressed({ unit: 'tokens', used: measure.tokens, limit }) === false;
}
