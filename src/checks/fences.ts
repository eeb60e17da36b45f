/** What is wrong with the card fences of an answer. */
import { readFences } from '../context/cards/fences.ts';
import { type PresentContext, presentFence } from '../context/cards/present.ts';
import type { Cards } from '../context/cards/registry.ts';
import type { Presentation } from '../ledger/presentation.ts';

/** A card is only tried: nothing made here is kept. */
const TRIAL: PresentContext = { id: '', earlier: [], evidence: [] };
const TRIAL_STEP = 0;

/** The first fence's fault, in words for the model that wrote it; null where every fence makes a card. */
export function malformedFence(cards: Cards, text: string): string | null {
  for (const fence of readFences(text)) {
    const tried = presentFence(cards, fence, TRIAL_STEP, TRIAL);
    if (tried.kind === 'refused') return tried.message;
  }
  return null;
}

/** How many fences hold a payload that a call among `made`, the turn's cards, shows already. */
export function repeatedFences(cards: Cards, text: string, made: readonly Presentation[]): number {
  const byCall = made.filter(({ source }) => source.kind === 'tool-call');
  if (byCall.length === 0) return 0;
  const context = { ...TRIAL, earlier: byCall };
  return readFences(text).filter(
    (fence) => presentFence(cards, fence, TRIAL_STEP, context).kind === 'repeated',
  ).length;
}
