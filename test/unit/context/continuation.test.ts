import { describe, expect, it } from 'vitest';
import { continuationOf } from '../../../src/context/assemble/continuation.ts';
import type { ChatMessage } from '../../../src/context/request.ts';
import type { StepView, TurnView } from '../../../src/ledger/view.ts';

const KEPT = { leg: 'main', responseId: 'resp_1', callIds: ['call_a'] };
const said = (role: 'user' | 'assistant', text: string): ChatMessage => ({
  role,
  content: [{ type: 'text', text }],
});
const MESSAGES = [
  said('user', 'ask'),
  said('assistant', 'call'),
  said('user', 'result'),
  said('user', 'steering'),
];

function step(change: Partial<StepView> = {}): StepView {
  const results = new Map();
  const made = { item: 2, step: 1, seq: 5, content: [], kept: KEPT, results, nudge: null };
  return { ...made, finish: 'tool_calls', ...change };
}

function open(
  change: Partial<TurnView> = {},
): Pick<TurnView, 'steps' | 'rejections' | 'reset' | 'evictions'> {
  return { steps: [step()], rejections: [], reset: null, evictions: [], ...change };
}

const continues = (turn = open(), leg = 'main', messages: readonly ChatMessage[] = MESSAGES) =>
  continuationOf(turn, leg, { messages });

describe('a request that continues a reply', () => {
  it('PRO-10 names the reply of the step before, and sends what came after it', () => {
    expect(continues()).toEqual({ responseId: 'resp_1', from: 2, callIds: {} });
  });

  it('PRO-10 names the calls of that reply by the ids the provider gave them', () => {
    const content = [{ type: 'tool_call', id: 't1s1c0', name: 'lookup', args: {} } as const];
    expect(continues(open({ steps: [step({ content })] }))?.callIds).toEqual({ t1s1c0: 'call_a' });
  });

  it('PRO-10 continues the newest reply, whatever was kept before', () => {
    const steps = [step(), step({ step: 2, kept: { leg: 'main', responseId: 'resp_2', callIds: [] } })];
    expect(continues(open({ steps }))?.responseId).toBe('resp_2');
  });

  it.each([
    ['the first step of a turn', open({ steps: [] })],
    ['a reply that the provider did not keep', open({ steps: [step({ kept: null })] })],
    [
      'a reply that another leg gave',
      open({ steps: [step({ kept: { leg: 'other', responseId: 'r', callIds: [] } })] }),
    ],
    [
      'a reply of another leg behind one of this leg',
      open({ steps: [step(), step({ step: 2, kept: null })] }),
    ],
    ['a reply that was sent back', open({ steps: [step({ nudge: { step: 1, check: 'empty-step' } })] })],
    [
      'a turn that was planned anew',
      open({ rejections: [{ leg: 'main', reason: 'over-length', rejectedTokens: 9_000 }] }),
    ],
    [
      'a turn that was reset',
      open({ reset: { behind: 1, throughStep: 1, text: '', quality: 'model', seq: 9 } }),
    ],
  ])('PRO-10 is whole after %s', (_, turn) => {
    expect(continues(turn)).toBeNull();
  });

  it('PRO-10 is whole where it holds no reply at all', () => {
    expect(continues(open(), 'main', [said('user', 'ask')])).toBeNull();
  });
});
