/** The parts of a directive among what was asked before: which thread each goes on with, corrects or replaces. */

import { lexiconFor } from '../../intent/lexicon/index.ts';
import { keywordsOf, type Placed, type Thread, threadId, threadOf } from '../../intent/lineage.ts';
import { ACTS, type Act } from '../../ledger/reading.ts';
import type { TurnCard } from '../../ledger/turn-card.ts';
import { type TurnView, visibleText } from '../../ledger/view.ts';

/** Readings a session keeps in sight. */
export const THREAD_TURNS = 12;

/** In the order of the directive's parts; empty where nothing was asked before. `earlier` are cards, oldest first. */
export function placedStrands(
  open: TurnView,
  earlier: readonly TurnCard[],
  locale: string | null,
): readonly Placed[] {
  const { reading } = open;
  if (reading === null || earlier.length === 0) return [];
  const words = lexiconFor(locale).strands;
  const text = visibleText(open.input);
  const whole = { from: 0, to: text.length, act: reading.act, lineage: 'new' as const };
  const threads = earlier.map(
    (card): Thread => ({
      id: threadId(card.number, 0),
      act: actOf(card.act),
      keywords: keywordsOf(card.asked, words),
    }),
  );
  return (reading.strands ?? [whole]).map(({ from, to, act, lineage }) =>
    threadOf({ act, lineage, keywords: keywordsOf(text.slice(from, to), words) }, threads),
  );
}

/** The turn that the words of the directive themselves say it goes on with; null where they say nothing of it. */
export function namedTurn({ reading }: TurnView, placed: readonly Placed[]): number | null {
  const at = (reading?.strands ?? []).findIndex(({ lineage }) => lineage !== 'new');
  return turnOf(placed[at]?.thread ?? null);
}

/** The turn a thread began with. */
export function turnOf(thread: string | null): number | null {
  const number = /^T(\d+)\./u.exec(thread ?? '')?.[1];
  return number === undefined ? null : Number(number);
}

function actOf(act: string): Act {
  return ACTS.find((known) => known === act) ?? 'answer';
}
