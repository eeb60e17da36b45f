/** Which earlier directives the tail lists: those of the newest turns that the history itself does not show. */
import type { TurnCard } from '../../ledger/turn-card.ts';
import { firstSentence } from '../first-sentence.ts';
import type { PlanRun } from '../plan/contract.ts';

/** Readings the session keeps in sight. */
const THREAD_TURNS = 12;
/** A directive in the list: what it was about, not what it said. */
const LINE_WORDS = 16;

export interface ThreadLine {
  readonly number: number;
  readonly asked: string;
  /** About something else than what is asked now. */
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

export function threadLines(cards: readonly TurnCard[], domains: readonly string[]): readonly ThreadLine[] {
  return cards.map((card) => ({
    number: card.number,
    asked: firstSentence(card.asked, LINE_WORDS),
    paused:
      card.domains.length > 0 &&
      domains.length > 0 &&
      !card.domains.some((domain) => domains.includes(domain)),
  }));
}
