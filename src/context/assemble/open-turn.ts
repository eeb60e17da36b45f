/**
 * The open turn as messages: a growing log the model still works from. A later step's are an earlier step's and new
 * ones, unless a reset put a handoff in the place of the steps before it.
 */
import type { AssistantBlock, InputBlock, ToolResultBlock } from '../../ledger/blocks.ts';
import type { BodyOf } from '../../ledger/kinds.ts';
import { type StepView, type TurnView, toolCalls } from '../../ledger/view.ts';
import type { ChatMessage } from '../request.ts';
import { nudgeText } from '../wording/wording.ts';
import { escapeMarkers } from './markers.ts';

export const NO_RESULT =
  'No result: the turn ended before this call finished. It may or may not have taken effect.';

export function renderOpen(turn: TurnView, tail: string | null): readonly ChatMessage[] {
  const messages: ChatMessage[] = [{ role: 'user', content: directive(turn.input, tail) }];
  let shown = 0;
  const takeUp = (upTo: number): void => {
    messages.push(...said(turn, shown, upTo));
    shown = Math.max(shown, upTo);
  };
  for (const step of turn.steps) {
    takeUp(steeredBy(turn, step.step));
    if (step.step > (turn.reset?.throughStep ?? 0)) messages.push(...renderStep(step));
  }
  takeUp(steeredBy(turn, Number.POSITIVE_INFINITY));
  return messages;
}

/** The directive's message: the tail, where there is one, stands before its first text. */
export function directive(input: readonly InputBlock[], tail: string | null): readonly InputBlock[] {
  const own = input.map((block) =>
    block.type === 'text' ? { ...block, text: escapeMarkers(block.text) } : block,
  );
  if (tail === null) return own;
  const firstText = own.findIndex((block) => block.type === 'text');
  const at = firstText === -1 ? own.length : firstText;
  return [...own.slice(0, at), { type: 'text', text: tail }, ...own.slice(at)];
}

/** What the user said meanwhile, from message `from` up to, not including, `upTo`. */
export function said(turn: TurnView, from: number, upTo: number): readonly ChatMessage[] {
  return turn.steering
    .slice(from, Math.max(from, upTo))
    .map((input) => ({ role: 'user', content: directive(input, null) }));
}

/** How many steering messages the request of a step carried. */
export function steeredBy(turn: TurnView, step: number): number {
  return Math.max(0, ...turn.steered.filter((taken) => taken.step <= step).map((taken) => taken.upTo));
}

/** A step as the turn's next request carries it. */
export function renderStep(step: StepView): readonly ChatMessage[] {
  if (step.nudge !== null)
    return [{ role: 'user', content: [{ type: 'text', text: nudgeText(step.nudge) }] }];
  const content = step.content.flatMap((block): AssistantBlock[] => {
    if (block.type !== 'text') return [block];
    return block.text === '' ? [] : [{ ...block, text: escapeMarkers(block.text) }];
  });
  const messages: ChatMessage[] = content.length > 0 ? [{ role: 'assistant', content }] : [];
  const calls = toolCalls(step.content);
  if (calls.length === 0) return messages;
  const results = calls.map((call, index): ToolResultBlock => {
    const result = step.results.get(index);
    return {
      type: 'tool_result',
      callId: call.id,
      name: call.name,
      content: result === undefined ? NO_RESULT : shownResult(result),
      isError: result === undefined || result.status !== 'ok',
    };
  });
  return [...messages, { role: 'user', content: results }];
}

/** A window was guarded when it was cut, and what a check says of a call is ours. */
export function shownResult({ windowed, status, content }: BodyOf<'tool-result'>): string {
  return windowed || status === 'withheld' ? content : escapeMarkers(content);
}
