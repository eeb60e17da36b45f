/**
 * A turn as its items are sent under `evict`: each once rendered, and the same bytes in every request that carries it,
 * while its turn runs and after. Only a cut ever changes what stands before the newest.
 */
import type { ToolResultBlock } from '../../ledger/blocks.ts';
import type { ItemEntry } from '../../ledger/items.ts';
import { isDiscarded, type StepView, type TurnView } from '../../ledger/view.ts';
import { escapeMarkers } from '../assemble/markers.ts';
import { directive, renderStep, said, steeredBy } from '../assemble/open-turn.ts';
import { weighMessages } from '../assemble/weigh.ts';
import type { ChatMessage } from '../request.ts';
import { itemLabels } from './label.ts';
import { pressureText } from './pressure.ts';
import { stampText } from './residue.ts';

export interface ItemMessages {
  readonly item: number;
  readonly role: 'user' | 'assistant';
  readonly messages: readonly ChatMessage[];
}

/** Oldest first; none where the turn never began. `tail` is what the turn was asked under. */
export function renderItems(turn: TurnView, tail: string | null): readonly ItemMessages[] {
  if (turn.item === null) return [];
  const takenBy = (place: number): number => {
    const step = turn.steps[place];
    if (step !== undefined) return steeredBy(turn, step.step);
    // What no step took up before the turn ended is still something the user said.
    return turn.closed === null ? steeredBy(turn, Number.POSITIVE_INFINITY) : turn.steering.length;
  };
  const upTo = takenBy(0);
  const prompt = [{ role: 'user', content: directive(turn.input, tail) } as const, ...said(turn, 0, upTo)];
  const items: ItemMessages[] = [{ item: turn.item, role: 'user', messages: prompt }];
  let shown = upTo;
  for (const [place, step] of turn.steps.entries()) {
    const next = Math.max(shown, takenBy(place + 1));
    const messages = [...stepMessages(turn, step), ...said(turn, shown, next), ...remindersOf(turn, step)];
    items.push({ item: step.item, role: 'assistant', messages });
    shown = next;
  }
  return items;
}

/** As the record that closes the turn tells them. */
export function itemEntries(turn: TurnView): ItemEntry[] {
  const labels = itemLabels(turn);
  return renderItems(turn, null).map(({ item, messages }, place) => ({
    item,
    label: labels[place]?.label ?? '',
    bytes: weighMessages(messages),
  }));
}

function stepMessages(turn: TurnView, step: StepView): readonly ChatMessage[] {
  const { statement } = turn;
  const states = statement !== null && statement.step === step.step;
  const own =
    states && isDiscarded(turn, step) ? [] : renderStep(step).map((message) => stamped(message, step));
  return states
    ? [...own, { role: 'assistant', content: [{ type: 'text', text: escapeMarkers(statement.text) }] }]
    : own;
}

/** A result ends with the number of its item: the model can name what it just read. */
function stamped(message: ChatMessage, { item }: StepView): ChatMessage {
  if (message.role === 'assistant') return message;
  const content = message.content.map((block) =>
    block.type === 'tool_result' ? withStamp(block, item) : block,
  );
  return { ...message, content };
}

function withStamp(block: ToolResultBlock, item: number): ToolResultBlock {
  return { ...block, content: `${block.content}\n${stampText(item)}` };
}

function remindersOf(turn: TurnView, { step }: StepView): readonly ChatMessage[] {
  return turn.pressures
    .filter((told) => told.step === step)
    .map((told) => ({ role: 'user', content: [{ type: 'text', text: pressureText(told) }] }));
}
