/** Where a provider holds the request so far: the step before this one was answered there, and kept. */
import { type TurnView, toolCalls } from '../../ledger/view.ts';
import type { ChatRequest, Continuation } from '../request.ts';

/** null where the request has to be sent whole: another leg answered last, or what it was made of changed since. */
export function continuationOf(
  open: Pick<TurnView, 'steps' | 'rejections' | 'reset' | 'evictions'>,
  leg: string,
  { messages }: Pick<ChatRequest, 'messages'>,
): Continuation | null {
  const last = open.steps.at(-1);
  const kept = last?.kept ?? null;
  if (last === undefined || kept === null || kept.leg !== leg || last.nudge !== null) return null;
  if (open.rejections.length > 0 || open.reset !== null || open.evictions.length > 0) return null;
  const from = messages.findLastIndex(({ role }) => role === 'assistant') + 1;
  if (from === 0) return null;
  const callIds = toolCalls(last.content).map(({ id }, at): [string, string] => [id, kept.callIds[at] ?? id]);
  return { responseId: kept.responseId, from, callIds: Object.fromEntries(callIds) };
}
