import { describe, expect, it } from 'vitest';
import { failingBatches, repairSummary, withRepairHint } from '../../../src/checks/tool-repair.ts';
import type { ToolStatus } from '../../../src/ledger/kinds.ts';
import { type StepView, type TurnView, unasked } from '../../../src/ledger/view.ts';

type Made = readonly [name: string, status: ToolStatus, content?: string];

function turnOf(...batches: readonly (readonly Made[])[]): TurnView {
  return { ...unasked(1), steps: batches.map(stepOf) };
}

function stepOf(made: readonly Made[], index: number): StepView {
  const step = index + 1;
  return {
    item: step + 1,
    step,
    seq: step,
    content: made.map(([name], at) => ({ type: 'tool_call', id: `c${at}`, name, args: {} })),
    finish: 'tool_calls',
    kept: null,
    results: new Map(
      made.map(([name, status, content = 'no'], at) => [
        at,
        { step, index: at, callId: `c${at}`, name, status, evidence: null, content, windowed: false },
      ]),
    ),
    nudge: null,
  };
}

const isRepairable = (name: string) => name !== 'recall';
const row = (...batches: readonly (readonly Made[])[]) => failingBatches(turnOf(...batches), isRepairable);
const bad: Made = ['grep', 'invalid_args'];
const good: Made = ['grep', 'ok'];

describe('failing batches', () => {
  it('CHK-08 batches in which everything failed are counted from the end', () => {
    expect(row()).toBe(0);
    expect(row([bad])).toBe(1);
    expect(row([bad, bad], [bad], [['run', 'timeout']])).toBe(3);
    for (const status of ['error', 'invalid_args', 'unknown_tool', 'timeout'] as const)
      expect(row([['run', status]])).toBe(1);
  });

  it('CHK-08 a clean batch ends the row', () => {
    expect(row([bad], [good])).toBe(0);
    expect(row([bad], [good], [bad])).toBe(1);
    expect(row([bad], [['recall', 'ok']], [bad])).toBe(1);
  });

  it('CHK-08 a mixed batch neither counts nor ends the row', () => {
    expect(row([bad], [bad, good], [bad])).toBe(2);
    expect(row([bad], [bad, good])).toBe(1);
  });

  it('CHK-08 withheld cards and failed recalls are no repairable failures and end nothing', () => {
    expect(row([['card', 'withheld']])).toBe(0);
    expect(row([['recall', 'error']])).toBe(0);
    expect(row([bad], [['card', 'withheld']], [['recall', 'error']], [bad])).toBe(2);
    expect(row([bad, ['card', 'withheld']])).toBe(1);
    expect(row([bad, ['grep', 'too_many_calls']])).toBe(1);
  });

  it('CHK-08 a call that a person refused is no failure to repair', () => {
    expect(row([['run', 'denied']])).toBe(0);
    expect(row([bad, ['run', 'denied']])).toBe(0);
  });

  it('CHK-08 calls without a result yet do not count', () => {
    const turn = turnOf([bad], [bad]);
    const [first, second] = turn.steps;
    if (first === undefined || second === undefined) throw new Error('two steps');
    const open = { ...turn, steps: [first, { ...second, results: new Map() }] };
    expect(failingBatches(open, isRepairable)).toBe(1);
  });
});

describe('hints for repair', () => {
  const tool = {
    name: 'grep',
    description: 'Searches.',
    inputSchema: { type: 'object', properties: { pattern: { type: 'string' }, path: { type: 'string' } } },
  };

  it('CHK-08 a failure is followed by one line that says what to do', () => {
    for (const status of ['error', 'invalid_args', 'timeout'] as const) {
      const lines = withRepairHint({ content: 'pattern: found nothing\n', status, tool, again: false }).split(
        '\n',
      );
      expect(lines).toHaveLength(2);
      expect(lines[0]).toBe('pattern: found nothing');
      expect(lines[1]).toContain('grep');
    }
    const unknown = withRepairHint({
      content: 'No tool grp.',
      status: 'unknown_tool',
      tool: null,
      again: true,
    });
    expect(unknown.split('\n')).toHaveLength(2);
  });

  it('CHK-08 a second failure shows the schema again', () => {
    const hint = withRepairHint({ content: 'no', status: 'invalid_args', tool, again: true });
    expect(hint).toContain(JSON.stringify(tool.inputSchema));
    expect(withRepairHint({ content: 'no', status: 'invalid_args', tool, again: false })).not.toContain(
      '"pattern"',
    );
  });

  it('CHK-08 a long schema is shown by the names of its members, and they are bounded too', () => {
    const wide = (count: number) => ({
      ...tool,
      inputSchema: {
        properties: Object.fromEntries(
          Array.from({ length: count }, (_, at) => [`member${at}`, { description: 'x'.repeat(50) }]),
        ),
      },
    });
    const names = withRepairHint({ content: 'no', status: 'error', tool: wide(100), again: true });
    expect(names).toContain('member0, member1');
    expect(names).not.toContain('xxx');
    const most = withRepairHint({ content: 'no', status: 'error', tool: wide(10_000), again: true });
    expect(most.length).toBeLessThan(4_500);
  });

  it('CHK-08 what is no failure is left as it is', () => {
    for (const status of ['ok', 'denied', 'withheld', 'too_many_calls', 'outcome_unknown'] as const)
      expect(withRepairHint({ content: 'text \n', status, tool, again: true })).toBe('text \n');
  });
});

describe('what is said in the end', () => {
  it('CHK-08 the tools of the last failing batch are named once, with its first error', () => {
    const turn = turnOf(
      [['old', 'error', 'older']],
      [good, ['a', 'error', 'first'], ['b', 'timeout', 'x'], ['a', 'error']],
    );
    expect(repairSummary(turn)).toEqual({ tools: ['a', 'b'], error: 'first' });
    expect(repairSummary(turnOf([good]))).toEqual({ tools: [], error: '' });
  });

  it('CHK-08 the error is one line of at most 320 characters, without the hint', () => {
    const content = withRepairHint({
      content: 'line one\n  line two',
      status: 'error',
      tool: null,
      again: false,
    });
    expect(repairSummary(turnOf([['a', 'error', content]])).error).toBe('line one line two');
    const { error } = repairSummary(turnOf([['a', 'error', 'word '.repeat(1_000)]]));
    expect(error).toHaveLength(320);
    expect(error.endsWith('…')).toBe(true);
  });
});
