/** Which earlier directives the tail lists: those of the newest turns that the history itself does not show. */

import type { Placed } from '../../intent/lineage.ts';
import type { TurnCard } from '../../ledger/turn-card.ts';
import { firstSentence } from '../first-sentence.ts';
import { THREAD_TURNS, turnOf } from '../links/strands.ts';
import type { PlanRun } from '../plan/contract.ts';

/** A directive in the list: what it was about, not what it said. */
const LINE_WORDS = 16;

export interface ThreadLine {
  readonly number: number;
  readonly asked: string;
  /** About something else than what is asked now, or replaced by it. */
  readonly paused: boolean;
}

/** Numbers of the newest turns whose directive stands in no piece of the plan, oldest first. */
export function omittedTurns(runs: readonly PlanRun[], newest: number, first: number): readonly number[] {
  const numbers: number[] = [];
  for (let number = Math.max(first, newest - THREAD_TURNS + 1); number <= newest; number++) {
    const run = runs.find(({ from, to }) => from <= number && number <= to);
    if (run === undefined || run.fidelity === 'packet') numbers.push(number);
  }
  return numbers;
}

/** How the parts of what is asked now stand to earlier threads. */
export type PlacedParts = readonly Pick<Placed, 'lineage' | 'thread'>[];

/** What is replaced is marked as well; what is gone on with never is. Nothing is left out for either. */
export function threadLines(
  cards: readonly TurnCard[],
  domains: readonly string[],
  placed: PlacedParts = [],
): readonly ThreadLine[] {
  const turnsBy = (is: (lineage: Placed['lineage']) => boolean) =>
    new Set(placed.flatMap(({ lineage, thread }) => (is(lineage) ? (turnOf(thread) ?? []) : [])));
  const replaced = turnsBy((lineage) => lineage === 'replaces');
  const continued = turnsBy((lineage) => lineage === 'continues' || lineage === 'corrects');
  return cards.map((card) => ({
    number: card.number,
    asked: firstSentence(card.asked, LINE_WORDS),
    paused: replaced.has(card.number) || (!continued.has(card.number) && isElsewhere(card, domains)),
  }));
}

function isElsewhere(card: TurnCard, domains: readonly string[]): boolean {
  if (card.domains.length === 0 || domains.length === 0) return false;
  return !card.domains.some((domain) => domains.includes(domain));
}
