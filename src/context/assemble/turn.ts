/** Renders one turn as messages. The same walk serves the request, the weight the planner uses and the close. */
import type { AssistantBlock, InputBlock, ToolResultBlock } from '../../ledger/blocks.ts';
import { blake3Hex } from '../../ledger/chain.ts';
import { byteLength, canonicalJson } from '../../ledger/json.ts';
import type { BodyOf } from '../../ledger/kinds.ts';
import { type StepView, type TurnView, toolCalls } from '../../ledger/view.ts';
import type { ChatMessage } from '../request.ts';
import { escapeMarkers } from './markers.ts';
import { nudgeText } from './nudges.ts';

/** Bytes a wire spends around each message: roles, ids, separators. */
const MESSAGE_OVERHEAD_BYTES = 16;
/** What an image is counted as, whatever its file size: providers bill by area. */
const IMAGE_BYTES_EQUIVALENT = 6_000;

const NO_RESULT = 'No result: the turn ended before this call finished. It may or may not have taken effect.';

/**
 * The turn's messages, oldest first. An open turn shows its tail and its thinking; a closed one shows
 * neither, and an explicit body stands for every result it never got.
 */
export function renderTurn(turn: TurnView, tail: string | null): readonly ChatMessage[] {
  const messages: ChatMessage[] = [{ role: 'user', content: directive(turn.input, tail) }];
  let shown = 0;
  const takeUp = (upTo: number): void => {
    for (const input of turn.steering.slice(shown, upTo))
      messages.push({ role: 'user', content: directive(input, null) });
    shown = Math.max(shown, upTo);
  };
  for (const step of turn.steps) {
    takeUp(steeredBy(turn, step.step));
    messages.push(...renderStep(step, turn.closed === null));
  }
  // What no step took up before the turn ended is still something the user said.
  takeUp(turn.closed === null ? steeredBy(turn, Number.POSITIVE_INFINITY) : turn.steering.length);
  return messages;
}

/** How many steering messages the request of a step carried. */
function steeredBy(turn: TurnView, step: number): number {
  return Math.max(0, ...turn.steered.filter((taken) => taken.step <= step).map((taken) => taken.upTo));
}

/** Messages with what they weigh and what names their bytes: made once for a turn that will not change. */
export interface Rendered {
  readonly messages: readonly ChatMessage[];
  readonly bytes: number;
  readonly digest: string;
}

export function rendered(messages: readonly ChatMessage[]): Rendered {
  return { messages, bytes: weighMessages(messages), digest: blake3Hex(canonicalJson(messages)) };
}

function directive(input: readonly InputBlock[], tail: string | null): readonly InputBlock[] {
  const own = input.map((block) =>
    block.type === 'text' ? { ...block, text: escapeMarkers(block.text) } : block,
  );
  if (tail === null) return own;
  const firstText = own.findIndex((block) => block.type === 'text');
  const at = firstText === -1 ? own.length : firstText;
  return [...own.slice(0, at), { type: 'text', text: tail }, ...own.slice(at)];
}

function renderStep(step: StepView, open: boolean): readonly ChatMessage[] {
  if (step.nudge !== null)
    return [{ role: 'user', content: [{ type: 'text', text: nudgeText(step.nudge.check) }] }];
  const content = step.content.flatMap((block): AssistantBlock[] => {
    if (block.type === 'thinking') return open ? [block] : [];
    if (block.type === 'text')
      return block.text === '' ? [] : [{ ...block, text: escapeMarkers(block.text) }];
    return [block];
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

/** A window was guarded when it was cut: what it says of itself is ours. */
function shownResult(result: BodyOf<'tool-result'>): string {
  return result.windowed ? result.content : escapeMarkers(result.content);
}

/** UTF-8 bytes the messages put before a model; thinking is left out, as usage ratios leave it out. */
export function weighMessages(messages: readonly ChatMessage[]): number {
  let bytes = 0;
  for (const message of messages) {
    bytes += MESSAGE_OVERHEAD_BYTES;
    for (const block of message.content) bytes += weighBlock(block);
  }
  return bytes;
}

function weighBlock(block: ChatMessage['content'][number]): number {
  switch (block.type) {
    case 'text':
      return byteLength(block.text);
    case 'image':
      return IMAGE_BYTES_EQUIVALENT;
    case 'tool_call':
      return byteLength(block.name) + byteLength(canonicalJson(block.args));
    case 'tool_result':
      return byteLength(block.content);
    case 'thinking':
      return 0;
  }
}
