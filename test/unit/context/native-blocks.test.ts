/** What a provider's own feature put into a reply: kept in the ledger, given back in the open turn, and nowhere else. */
import { describe, expect, it } from 'vitest';
import { renderFull } from '../../../src/context/assemble/full-record.ts';
import { renderOpen } from '../../../src/context/assemble/open-turn.ts';
import { recordText } from '../../../src/context/assemble/record-text.ts';
import { weighMessages } from '../../../src/context/assemble/weigh.ts';
import type { ChatMessage } from '../../../src/context/request.ts';
import { type AssistantBlock, assistantBlock, type NativeBlock } from '../../../src/ledger/blocks.ts';
import { foldTurn, type StepView, type TurnView, toolCalls, visibleText } from '../../../src/ledger/view.ts';
import { turnDrafts } from '../ledger/sample.ts';

const SEARCH: NativeBlock = {
  type: 'native',
  by: 'anthropic',
  data: { type: 'searched', id: 'srv_1', found: ['x'] },
};

/** A turn of one step that calls and one that answers, a native block around each of their blocks. */
function turn(outcome: 'completed' | null): TurnView {
  const steps = [
    { calls: 1, text: 'looking', empty: false },
    { calls: 0, text: 'there', empty: false },
  ];
  const drafts = turnDrafts(1, { text: 'where is it?', steps, outcome }, 1, true);
  const view = foldTurn(drafts.map((draft, index) => ({ ...draft, seq: index + 1, class: 'protocol' })));
  return { ...view, steps: view.steps.map(withNative) };
}

function withNative(step: StepView): StepView {
  return { ...step, content: [SEARCH, ...step.content.flatMap((block) => [block, SEARCH])] };
}

const without = (content: readonly AssistantBlock[]) => content.filter(({ type }) => type !== 'native');

describe('a native block', () => {
  it('SUR-03 is stored as it came, with a kind and an object', () => {
    expect(assistantBlock.parse(SEARCH)).toEqual(SEARCH);
    for (const wrong of [{ data: [] }, { data: 'text' }, { by: 1 }, { text: 'shown' }]) {
      expect(assistantBlock.safeParse({ ...SEARCH, ...wrong }).success).toBe(false);
    }
  });

  it('SUR-03 stands in the open turn where it was in the reply', () => {
    const view = turn(null);
    const sent = renderOpen(view, null).filter(({ role }) => role === 'assistant');
    expect(sent.map(({ content }) => content)).toEqual(view.steps.map(({ content }) => content));
    expect(
      view.steps.flatMap(({ content }) => content).filter(({ type }) => type === 'native').length,
    ).toBeGreaterThan(3);
  });

  it('SUR-03 is gone from a closed turn, and from the text a recall shows', () => {
    const closed = turn('completed');
    const bare = {
      ...closed,
      steps: closed.steps.map((step) => ({ ...step, content: without(step.content) })),
    };
    expect(renderFull(closed)).toEqual(renderFull(bare));
    expect(JSON.stringify(renderFull(closed))).not.toContain('native');
    expect(recordText(closed)).toBe(recordText(bare));
  });

  it('SUR-03 weighs nothing, is no text and no call', () => {
    const message: ChatMessage = { role: 'assistant', content: [SEARCH] };
    expect(weighMessages([message])).toBe(weighMessages([{ role: 'assistant', content: [] }]));
    expect(visibleText([SEARCH])).toBe('');
    expect(toolCalls([SEARCH])).toEqual([]);
  });
});
