/** The questions a turn asks of its facts and counters, and the limits they are held against. Pure. */
import type { SummaryOutput, TurnContext, TurnEvent } from './turn-context.ts';
import { isIdleForGood, MAX_FAILING_BATCHES, refusedCard, textVerdict } from './turn-verdict.ts';

/** Empty replies in a row before the turn fails: one redo. */
const MAX_EMPTY_IN_A_ROW = 2;
/** Replans after the provider refused the prompt as too long. */
const MAX_OVER_LENGTH = 1;
/** The same where each of them takes a span out of the history: half of it, and half of that. */
const MAX_CUTS = 4;
/** Handoffs for one turn. */
const MAX_RESETS = 1;
/** Packets built for one turn before it goes on without. */
export const MAX_PACKETS = 2;

interface Asked {
  readonly context: TurnContext;
}
interface AskedOf extends Asked {
  readonly event: TurnEvent;
}

function roundsWithoutModel({ packets, overLength, resets, handoffless }: TurnContext): number {
  return packets + overLength + resets + (handoffless ? 1 : 0);
}

export const TURN_GUARDS = {
  readingIsWeak: ({ context }: Asked) => context.weak && context.escalate,
  isAnswer: ({ context }: Asked) => context.facts?.kind === 'answer',
  isDegradedAnswer: ({ context }: Asked) => context.facts?.kind === 'answer' && context.facts.degraded,
  // An answer given without what was said meanwhile is not the last word.
  isAnswerTooEarly: ({ context }: Asked) =>
    context.facts?.kind === 'answer' && context.steering > context.steered,
  isSentBack: ({ context }: Asked) => textVerdict(context.facts, context).kind === 'redo',
  isRefusedText: ({ context }: Asked) => textVerdict(context.facts, context).kind === 'refused',
  isRefusedCard: ({ context }: Asked) => refusedCard(context.facts, context) !== null,
  isIdleForGood: ({ context }: Asked) => isIdleForGood(context.facts, context),
  // A model may stop in its thinking once it has shown a card: the card is the answer.
  isCardAnswer: ({ context }: Asked) => context.facts?.kind === 'empty' && context.facts.shown,
  isEmpty: ({ context }: Asked) => context.facts?.kind === 'empty',
  isEmptyAgain: ({ context }: Asked) =>
    context.facts?.kind === 'empty' && context.emptyInARow >= MAX_EMPTY_IN_A_ROW - 1,
  callsTools: ({ context }: Asked) => context.facts?.kind === 'calls',
  needsApproval: ({ context }: Asked) =>
    context.facts?.kind === 'calls' && context.facts.approvals.length > 0,
  wantsPacket: ({ context }: Asked) =>
    context.facts?.kind === 'packet-wanted' && context.packets < MAX_PACKETS,
  madeNoPacket: ({ context, event }: AskedOf) =>
    context.facts?.kind === 'packet-wanted' &&
    'output' in event &&
    (event.output as SummaryOutput).to < context.facts.from,
  isOverLength: ({ context: { facts, overLength } }: Asked) => {
    if (facts?.kind !== 'over-length') return false;
    return facts.leaves === undefined ? overLength < MAX_OVER_LENGTH : facts.leaves && overLength < MAX_CUTS;
  },
  // What a lower profile did not help, a reset may.
  wantsReset: ({ context }: Asked) =>
    (context.facts?.kind === 'reset-wanted' ||
      (context.facts?.kind === 'over-length' && context.facts.leaves === undefined)) &&
    context.resets < MAX_RESETS,
  failsForGood: ({ context }: Asked) => context.failingInARow >= MAX_FAILING_BATCHES,
  isOverBudget: ({ context }: Asked) => context.facts?.kind === 'budget-spent',
  isResetMade: ({ context }: Asked) => context.facts?.kind === 'reset-made',
  // Rounds that only made room for the request called no model to an end.
  budgetSpent: ({ context }: Asked) => context.step - roundsWithoutModel(context) >= context.stepBudget,
  batchDone: ({ context }: Asked) => context.pending.length === 0,
  batchAwaitsClient: ({ context }: Asked) => context.pending.length === 0 && context.awaited.length > 0,
  isAwaited: ({ context, event }: AskedOf) =>
    event.type === 'turn.client-result' &&
    event.step === context.step &&
    context.awaited.includes(event.index),
  isLastAwaited: ({ context, event }: AskedOf) =>
    event.type === 'turn.client-result' &&
    event.step === context.step &&
    context.waitingFor === 'client' &&
    context.awaited.length === 1 &&
    context.awaited[0] === event.index,
  batchUndecided: ({ context }: Asked) => context.pending.length === 0 && context.undecided.length > 0,
  waitsForApproval: ({ context }: Asked) => context.waitingFor === 'approval',
  waitsForOutcome: ({ context }: Asked) => context.waitingFor === 'outcome',
  waitsForClient: ({ context }: Asked) => context.waitingFor === 'client',
};
