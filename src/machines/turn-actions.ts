/** What several states of a turn do alike. */
import type { Decision, Outcome, WaitingFor } from '../ledger/kinds.ts';
import type { TurnContext } from './turn-context.ts';

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
    params: ({ context }: { context: TurnContext }) => ({
      outcome,
      reason: context.reason,
      steps: context.step,
    }),
  } as const;
}
