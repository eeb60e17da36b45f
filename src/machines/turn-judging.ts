/** What follows from the facts of a reply, in the order in which it is asked. */

import { because, decisive, fired, firedOf, type Given, nudged, stated } from './turn-actions.ts';
import type { RecordParams } from './turn-context.ts';
import { answersOf, budgetReason } from './turn-context.ts';
import { refusalOf } from './turn-verdict.ts';

const refused = [
  fired('refused'),
  stated,
  { type: 'because', params: ({ context }: Given) => ({ reason: refusalOf(decisive(context).check) }) },
] as const;

const recorded = (made: (step: number) => RecordParams) =>
  ({ type: 'record', params: ({ context }: Given) => made(context.step) }) as const;

/** Calls that need no job are answered. */
export const answered = { type: 'answer', params: ({ context }: Given) => answersOf(context) } as const;

export const JUDGING = [
  { guard: 'isAnswerTooEarly', target: 'boundary', actions: 'filled' },
  { guard: 'isRefusedText', target: 'degraded', actions: refused },
  { guard: 'isSentBack', target: 'boundary', actions: [fired('redo'), nudged, 'sentBack'] },
  { guard: 'isDegradedAnswer', target: 'degraded', actions: because('degraded_summary') },
  { guard: 'isAnswer', target: 'completed', actions: because('answered') },
  { guard: 'isCardAnswer', target: 'completed', actions: because('card_answered') },
  { guard: 'isEmptyAgain', target: 'failed', actions: because('empty_step') },
  {
    guard: 'isEmpty',
    target: 'boundary',
    actions: [
      'emptied',
      recorded((step) => firedOf(step, { check: 'empty-step' }, 'redo')),
      recorded((step) => ({ kind: 'nudge', body: { step, check: 'empty-step' } })),
    ],
  },
  { guard: 'isRefusedCard', target: 'degraded', actions: refused },
  {
    guard: 'isIdleForGood',
    target: 'completed',
    actions: [
      recorded((step) => firedOf(step, { check: 'repeated-card' }, 'noted')),
      answered,
      because('card_repeated'),
    ],
  },
  { guard: 'needsApproval', target: 'waiting', actions: ['filled', 'askForApproval'] },
  { guard: 'callsTools', target: 'tooling', actions: 'filled' },
  { guard: 'wantsPacket', target: 'compacting' },
  { guard: 'isOverLength', target: 'recovering' },
  { guard: 'wantsReset', target: 'compacting' },
  { guard: 'isResetMade', target: 'stepping' },
  {
    guard: 'isOverBudget',
    target: 'degraded',
    actions: { type: 'because', params: ({ context }: Given) => ({ reason: budgetReason(context) }) },
  },
  { target: 'failed', actions: because('no_usable_horizon') },
] as const;
