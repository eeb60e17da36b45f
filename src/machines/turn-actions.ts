/** What several states of a turn do alike. */
import type { Finding } from '../checks/facts.ts';
import type { BodyOf, Decision, Outcome, Verdict, WaitingFor } from '../ledger/kinds.ts';
import type { RecordParams, StateParams, TurnContext } from './turn-context.ts';
import { refusedCard, textVerdict } from './turn-verdict.ts';

export interface Given {
  readonly context: TurnContext;
}

export function decided(
  guard: 'waitsForApproval' | 'waitsForOutcome',
  question: WaitingFor,
  decision: Decision,
) {
  const params = { kind: 'turn-decided', body: { for: question, decision } } as const;
  return { guard, target: 'tooling', actions: { type: 'record', params } } as const;
}

export function closing(outcome: Outcome) {
  return {
    type: 'close',
    params: ({ context }: Given) => ({
      outcome,
      reason: context.reason,
      steps: context.step,
    }),
  } as const;
}

/** The finding that sends a text back, or that the turn ends on; a card's, where a card is at fault. */
export function decisive(context: TurnContext): Finding {
  const verdict = textVerdict(context.facts, context);
  if (verdict.kind !== 'stands') return verdict.finding;
  return refusedCard(context.facts, context) ?? { check: 'tool-repair' };
}

export const because = (reason: string) => ({ type: 'because', params: { reason } }) as const;

/** The system says in its own words what the turn came to. */
export const stated = {
  type: 'state',
  params: ({ context }: Given): StateParams => ({ step: context.step, check: decisive(context).check }),
} as const;

export function fired(verdict: Verdict) {
  return {
    type: 'record',
    params: ({ context }: Given): RecordParams => firedOf(context.step, decisive(context), verdict),
  } as const;
}

export function firedOf(step: number, { check, reasons }: Finding, verdict: Verdict): RecordParams {
  const why = reasons === undefined ? {} : { reasons: [...reasons] };
  return { kind: 'check-fired', body: { step, check, verdict, ...why } };
}

/** As a batch begins: each card that is kept from being made, or that nothing but cards shown before were asked for. */
export function firedByCalls({ facts, step }: TurnContext): readonly RecordParams[] {
  if (facts?.kind !== 'calls') return [];
  const withheld = facts.withheld.map((one) => firedOf(step, one, 'withheld'));
  const repeats = facts.idle && withheld.length === 0;
  return repeats ? [firedOf(step, { check: 'repeated-card' }, 'noted')] : withheld;
}

export const nudged = {
  type: 'record',
  params: ({ context }: Given): RecordParams => ({
    kind: 'nudge',
    body: nudgeOf(context.step, decisive(context)),
  }),
} as const;

function nudgeOf(step: number, { check, tools, turn, reasons }: Finding): BodyOf<'nudge'> {
  return {
    step,
    check,
    ...(tools === undefined ? {} : { tools: [...tools] }),
    ...(turn === undefined ? {} : { turn }),
    ...(reasons === undefined ? {} : { reasons: [...reasons] }),
  };
}
