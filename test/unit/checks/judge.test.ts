import { describe, expect, it } from 'vitest';
import { isEmptyStep } from '../../../src/checks/empty-step.ts';
import { judgeReply, MAX_CALLS_PER_STEP } from '../../../src/checks/judge.ts';
import type { AssistantBlock } from '../../../src/ledger/blocks.ts';

const text = (words: string): AssistantBlock => ({ type: 'text', text: words });
const call = (name: string): AssistantBlock => ({ type: 'tool_call', id: name, name, args: {} });
const thinking: AssistantBlock = { type: 'thinking', text: 'I should call grep.' };
const nobody = () => false;

describe('judging a reply', () => {
  it.each([
    ['nothing at all', []],
    ['thinking alone', [thinking]],
    ['white space', [thinking, text(' \n\t')]],
  ])('CHK-01 calls %s empty', (_, content) => {
    expect(judgeReply(content, nobody)).toEqual({ kind: 'empty' });
  });

  it('takes any visible text for the answer', () => {
    expect(judgeReply([thinking, text('no')], nobody)).toEqual({ kind: 'answer' });
    expect(judgeReply([text(''), text('0')], nobody)).toEqual({ kind: 'answer' });
  });

  it('lets calls go before text: a reply with a call is no answer, and no empty step', () => {
    expect(judgeReply([text('Looking.'), call('grep')], nobody)).toEqual({
      kind: 'calls',
      admitted: 1,
      approvals: 0,
    });
    expect(isEmptyStep(1, '')).toBe(false);
  });

  it('admits 32 calls of a step, and asks approval for those among them that need it', () => {
    const many = Array.from({ length: 40 }, (_, index) => call(index % 2 === 0 ? 'deploy' : 'grep'));
    expect(MAX_CALLS_PER_STEP).toBe(32);
    expect(judgeReply(many, (name) => name === 'deploy')).toEqual({
      kind: 'calls',
      admitted: 32,
      approvals: 16,
    });
    const beyond = [...Array.from({ length: 32 }, () => call('grep')), call('deploy')];
    expect(judgeReply(beyond, (name) => name === 'deploy')).toMatchObject({ approvals: 0 });
  });
});
