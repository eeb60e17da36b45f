/** Reads a reply and says which fact it is. The order is that of the outcomes table: calls first, then text. */
import type { AssistantBlock } from '../ledger/blocks.ts';
import { toolCalls, visibleText } from '../ledger/view.ts';
import { isEmptyStep } from './empty-step.ts';
import type { StepFacts } from './facts.ts';

/** Calls of one step that run; the rest are answered with a typed `too_many_calls` result. */
export const MAX_CALLS_PER_STEP = 32;

/** What is known of a tool by its name. */
export interface CallTraits {
  readonly needsApproval: (toolName: string) => boolean;
  readonly isInHop: (toolName: string) => boolean;
}

export function judgeReply(
  content: readonly AssistantBlock[],
  { needsApproval, isInHop }: CallTraits,
  degraded: boolean,
): StepFacts {
  const calls = toolCalls(content);
  if (isEmptyStep(calls.length, visibleText(content))) return { kind: 'empty' };
  if (calls.length === 0) return { kind: 'answer', degraded };
  const admitted = calls.slice(0, MAX_CALLS_PER_STEP);
  return {
    kind: 'calls',
    admitted: admitted.length,
    approvals: admitted.filter((call) => needsApproval(call.name)).length,
    inHop: admitted.flatMap((call, index) => (isInHop(call.name) ? [index] : [])),
  };
}
