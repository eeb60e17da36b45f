import { describe, expect, it } from 'vitest';
import { isEmptyStep } from '../../../src/checks/empty-step.ts';
import { judgeReply, MAX_CALLS_PER_STEP } from '../../../src/checks/judge.ts';
import type { AssistantBlock } from '../../../src/ledger/blocks.ts';

const text = (words: string): AssistantBlock => ({ type: 'text', text: words });
const call = (name: string): AssistantBlock => ({ type: 'tool_call', id: name, name, args: {} });
const thinking: AssistantBlock = { type: 'thinking', text: 'I should call grep.' };
const NOBODY = { needsApproval: () => false, isInHop: () => false };
const deploys = { ...NOBODY, needsApproval: (name: string) => name === 'deploy' };

describe('judging a reply', () => {
  it.each([
    ['nothing at all', []],
    ['thinking alone', [thinking]],
    ['white space', [thinking, text(' \n\t')]],
  ])('CHK-01 calls %s empty', (_, content) => {
    expect(judgeReply(content, NOBODY, false)).toEqual({ kind: 'empty' });
  });

  it('takes any visible text for the answer', () => {
    expect(judgeReply([thinking, text('no')], NOBODY, false)).toEqual({ kind: 'answer', degraded: false });
    expect(judgeReply([text(''), text('0')], NOBODY, false)).toEqual({ kind: 'answer', degraded: false });
  });

  it('lets calls go before text: a reply with a call is no answer, and no empty step', () => {
    expect(judgeReply([text('Looking.'), call('grep')], NOBODY, false)).toEqual({
      kind: 'calls',
      admitted: 1,
      approvals: 0,
      inHop: [],
    });
    expect(isEmptyStep(1, '')).toBe(false);
  });

  it('admits 32 calls of a step, and asks approval for those among them that need it', () => {
    const many = Array.from({ length: 40 }, (_, index) => call(index % 2 === 0 ? 'deploy' : 'grep'));
    expect(MAX_CALLS_PER_STEP).toBe(32);
    expect(judgeReply(many, deploys, false)).toEqual({
      kind: 'calls',
      admitted: 32,
      approvals: 16,
      inHop: [],
    });
    const beyond = [...Array.from({ length: 32 }, () => call('grep')), call('deploy')];
    expect(judgeReply(beyond, deploys, false)).toMatchObject({ approvals: 0 });
  });

  it('EVI-04 names by their places the admitted calls that need no job', () => {
    const traits = { ...NOBODY, isInHop: (name: string) => name === 'card' };
    const some = [call('card'), text('so'), call('grep'), call('card')];
    expect(judgeReply(some, traits, false)).toMatchObject({ admitted: 3, inHop: [0, 2] });
    const beyond = [...Array.from({ length: 32 }, () => call('grep')), call('card')];
    expect(judgeReply(beyond, traits, false)).toMatchObject({ admitted: 32, inHop: [] });
  });

  it('PLN-02 says of an answer whether it rests on a packet that should have been summarised', () => {
    expect(judgeReply([text('yes')], NOBODY, true)).toEqual({ kind: 'answer', degraded: true });
    expect(judgeReply([], NOBODY, true)).toEqual({ kind: 'empty' });
  });
});
