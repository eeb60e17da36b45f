/** What an item is called where it is only named: in an index, and in the record that closes its turn. */
import type { AssistantBlock, InputBlock } from '../../ledger/blocks.ts';
import { isDiscarded, type StepView, type TurnView, toolCalls } from '../../ledger/view.ts';
import { nudgeText } from '../wording/wording.ts';

/** Room for the gist of a line, small enough that an index of a long session stays readable. */
export const LABEL_CHARS = 50;

const LINE_BREAK = /[\n\r\u2028\u2029]/u;

export interface ItemLabel {
  readonly item: number;
  readonly label: string;
}

/** Of every item of a turn, oldest first; none where the turn never began. */
export function itemLabels(turn: TurnView): readonly ItemLabel[] {
  if (turn.item === null) return [];
  const prompt = { item: turn.item, label: labelOf(turn.input) };
  return [prompt, ...turn.steps.map((step) => ({ item: step.item, label: stepLabel(turn, step) }))];
}

/**
 * The first line that says something of the first text that does; without any, the `description` that the first call
 * was given; else empty. At most `LABEL_CHARS` characters.
 */
export function labelOf(content: readonly (AssistantBlock | InputBlock)[]): string {
  for (const block of content) {
    const label = block.type === 'text' ? firstLine(block.text) : '';
    if (label !== '') return label;
  }
  const [call] = toolCalls(content.filter((block) => block.type === 'tool_call'));
  const description = call === undefined ? undefined : memberOf(call.args, 'description');
  return typeof description === 'string' ? firstLine(description) : '';
}

/** What stands in the place of a discarded reply names its item: the reply itself is shown nowhere. */
function stepLabel(turn: TurnView, step: StepView): string {
  if (step.nudge !== null) return firstLine(nudgeText(step.nudge));
  return isDiscarded(turn, step) ? firstLine(turn.statement?.text ?? '') : labelOf(step.content);
}

function firstLine(text: string): string {
  const from = text.trimStart();
  // Every character is at most two code units, and none that the label holds is cut.
  const head = from.slice(0, 2 * LABEL_CHARS);
  const end = head.search(LINE_BREAK);
  const line = end === -1 ? head : head.slice(0, end);
  return [...line].slice(0, LABEL_CHARS).join('').trimEnd();
}

function memberOf(args: unknown, name: string): unknown {
  return typeof args === 'object' && args !== null && Object.hasOwn(args, name)
    ? (args as Record<string, unknown>)[name]
    : undefined;
}
