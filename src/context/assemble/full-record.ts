/**
 * A closed turn as messages: what was asked, the calls that were really made with their results as digests, and the
 * answer. Pairs are always whole, and the bytes are the same for as long as the session lives.
 */
import type { ToolResultBlock } from '../../ledger/blocks.ts';
import type { BodyOf } from '../../ledger/kinds.ts';
import { isDiscarded, type StepView, type TurnView, toolCalls, visibleText } from '../../ledger/view.ts';
import { withoutFences } from '../cards/fences.ts';
import { createCards } from '../cards/registry.ts';
import { digestResult } from '../evidence/digest.ts';
import type { ChatMessage } from '../request.ts';
import { escapeMarkers } from './markers.ts';
import { directive, NO_RESULT, said, shownResult, steeredBy } from './open-turn.ts';

/** A fence is known by the payload that was written: what a deployment declares today changes no closed turn. */
const NO_CARDS = createCards([]);

export function renderFull(turn: TurnView): readonly ChatMessage[] {
  const messages: ChatMessage[] = [{ role: 'user', content: directive(turn.input, null) }];
  let shown = 0;
  for (const step of turn.steps) {
    const upTo = steeredBy(turn, step.step);
    messages.push(...said(turn, shown, upTo));
    shown = Math.max(shown, upTo);
    if (!isDiscarded(turn, step)) messages.push(...closedStep(turn, step));
  }
  // What no step took up before the turn ended is still something the user said.
  messages.push(...said(turn, shown, turn.steering.length));
  return turn.statement === null ? messages : [...messages, answerOf(turn.statement.text)];
}

function answerOf(text: string): ChatMessage {
  return { role: 'assistant', content: [{ type: 'text', text: escapeMarkers(text) }] };
}

/** A step that called keeps its calls, not its prose; a step that did not call is what the model answered. */
function closedStep(turn: TurnView, step: StepView): readonly ChatMessage[] {
  const calls = toolCalls(step.content);
  if (calls.length === 0) {
    const text = narrationOf(turn, step);
    return text === '' ? [] : [answerOf(text)];
  }
  // A card that was not shown is no part of what the turn came to.
  const made = calls.map((call, index) => ({ call, result: step.results.get(index) }));
  const stands = made.filter(({ result }) => result?.status !== 'withheld');
  if (stands.length === 0) return [];
  const results = stands.map(({ call, result }): ToolResultBlock => {
    const isError = result === undefined || result.status !== 'ok';
    const content = result === undefined ? NO_RESULT : closedResult(result);
    return { type: 'tool_result', callId: call.id, name: call.name, content, isError };
  });
  return [
    { role: 'assistant', content: stands.map(({ call }) => call) },
    { role: 'user', content: results },
  ];
}

/** The prose of an answer, without the fences that repeat a card the turn made by a call. */
export function narrationOf(turn: TurnView, step: StepView): string {
  const text = visibleText(step.content);
  const made = turn.presentations.filter(({ source }) => source.kind === 'tool-call');
  if (made.length === 0) return text.trim() === '' ? '' : text;
  return withoutFences(NO_CARDS, text, new Set(made.map(({ payloadDigest }) => payloadDigest))).trim();
}

function closedResult(result: BodyOf<'tool-result'>): string {
  if (result.evidence === null) return shownResult(result);
  return result.digest ?? digestOf(result.evidence, result).text;
}

export function digestOf(
  evidence: string,
  { content, status }: Pick<BodyOf<'tool-result'>, 'content' | 'status'>,
) {
  return digestResult({ evidence, content, isError: status !== 'ok' });
}
