/** Finding turns by words, as `recall` does: over everything the index holds, whatever a plan shows. */
import { queryTerms } from './terms.ts';
import type { TurnIndex } from './turn-index.ts';

export interface FoundTurn {
  readonly number: number;
  /** Above 0; the best match has 1. */
  readonly score: number;
}

/** Best first, newest first among equals, at most `limit`; turns that share no term are left out. */
export function searchTurns(index: TurnIndex, text: string, limit: number): readonly FoundTurn[] {
  const { relevance } = index.score(queryTerms(text));
  const found: FoundTurn[] = [];
  for (const [position, score] of relevance.entries())
    if (score > 0) found.push({ number: index.numberAt(position), score });
  return found.sort((one, other) => other.score - one.score || other.number - one.number).slice(0, limit);
}
