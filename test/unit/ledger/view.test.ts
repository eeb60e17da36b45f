import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AssistantBlock } from '../../../src/ledger/blocks.ts';
import { finalAnswer, foldTurn, type RecordView, type TurnView } from '../../../src/ledger/view.ts';
import { Tally, type TurnChoice, turnChoice, turnDrafts, turnIdOf } from './sample.ts';

function views(choice: TurnChoice, answerAll = true): readonly RecordView[] {
  return turnDrafts(4, choice, 1, answerAll).map((draft, index) => ({
    seq: 10 + index,
    kind: draft.kind,
    class: 'protocol',
    turnId: draft.turnId,
    body: draft.body,
  }));
}

function turnWith(content: readonly AssistantBlock[]): TurnView {
  const accepted = views({ text: 'hi', steps: [], outcome: null });
  const body = { step: 1, finish: 'stop', content };
  const said = { seq: 20, kind: 'assistant-message', class: 'protocol', turnId: turnIdOf(4), body };
  return foldTurn([...accepted, said]);
}

/** Results by step and call, in one order for comparison. */
function resultsOf(turn: TurnView): readonly string[] {
  return turn.steps.flatMap(({ step, results }) =>
    [...results].map(([index, { callId }]) => `${step}/${index}/${callId}`),
  );
}

describe('the fold from records to a turn', () => {
  it('is stable under prefixes: what came later never changes what was said before', () => {
    const tally = new Tally();
    fc.assert(
      fc.property(turnChoice, fc.nat(), fc.boolean(), (choice, place, answerAll) => {
        const records = views(choice, answerAll);
        const cut = 1 + (place % records.length);
        const before = foldTurn(records.slice(0, cut));
        const after = foldTurn(records);
        expect(after.input).toEqual(before.input);
        expect(after.number).toBe(before.number);
        expect(
          after.steps.slice(0, before.steps.length).map((step) => [step.step, step.seq, step.content]),
        ).toEqual(before.steps.map((step) => [step.step, step.seq, step.content]));
        expect(resultsOf(after).slice(0, resultsOf(before).length)).toEqual(resultsOf(before));
        expect(before.lastSeq).toBe(records[cut - 1]?.seq);
        if (before.closed !== null) expect(after.closed).toEqual(before.closed);
        tally.count({
          cut: cut < records.length,
          nudged: after.steps.some((step) => step.nudge !== null),
          'with results': resultsOf(after).length > 0,
          unanswered: !answerAll && after.steps.some((step) => step.content.length > step.results.size + 2),
        });
      }),
      { numRuns: 300 },
    );
    tally.report('prefixes of a fold');
  });

  it('is the same whenever it is made', () => {
    fc.assert(
      fc.property(turnChoice, (choice) => {
        expect(foldTurn(views(choice))).toEqual(foldTurn(views(choice)));
      }),
    );
  });

  it('TRN-01 a control message opens neither a turn nor a step: it stands in its step', () => {
    const empty = { calls: 0, text: '', empty: true };
    const turn = foldTurn(
      views({ text: 'hi', steps: [empty, { calls: 0, text: 'yes', empty: false }], outcome: 'completed' }),
    );
    expect(turn.steps.map(({ step, nudge }) => [step, nudge?.check ?? null])).toEqual([
      [1, 'empty-step'],
      [2, null],
    ]);
    const [accepted, ...rest] = views({ text: 'hi', steps: [empty], outcome: null });
    expect(accepted?.kind).toBe('turn-accepted');
    expect(() => foldTurn(rest.filter((record) => record.kind === 'nudge'))).toThrow(/before the turn/u);
  });

  it('TRN-01 a turn is open until it is closed, and is accepted once', () => {
    const choice = { text: 'hi', steps: [{ calls: 1, text: 'x', empty: false }] };
    expect(foldTurn(views({ ...choice, outcome: null })).closed).toBeNull();
    expect(foldTurn(views({ ...choice, outcome: 'degraded' })).closed?.outcome).toBe('degraded');
    const records = views({ ...choice, outcome: null });
    const again = records.flatMap((record) =>
      record.kind === 'turn-accepted' ? [record, record] : [record],
    );
    expect(() => foldTurn(again)).toThrow(/second time/u);
  });

  it('keeps the newest plan and every refusal of the prompt', () => {
    const [accepted] = views({ text: 'hi', steps: [], outcome: null });
    const plan = (rejections: number) => ({ rejections, runs: [] });
    const record = (seq: number, kind: string, body: unknown): RecordView => ({
      seq,
      kind,
      class: 'protocol',
      turnId: turnIdOf(4),
      body,
    });
    const feedback = { leg: 'sim', reason: 'over-length', rejectedTokens: 9 };
    const turn = foldTurn([
      accepted as RecordView,
      record(11, 'context-plan', plan(0)),
      record(12, 'capacity-feedback', feedback),
      record(13, 'context-plan', plan(1)),
    ]);
    expect(turn.plan?.rejections).toBe(1);
    expect(turn.rejections).toEqual([feedback]);
  });

  it('refuses an unknown protocol kind by name and skips unknown display and forensic ones', () => {
    const records = views({ text: 'hi', steps: [], outcome: null });
    const strange = (recordClass: string): RecordView => ({
      seq: 99,
      kind: 'dream',
      class: recordClass,
      turnId: turnIdOf(4),
      body: null,
    });
    expect(() => foldTurn([...records, strange('protocol')])).toThrow(/Record 99 .*"dream"/u);
    for (const recordClass of ['display', 'forensic'])
      expect(foldTurn([...records, strange(recordClass)])).toEqual(foldTurn(records));
  });

  it('refuses a result or a nudge for a step the turn does not have', () => {
    const records = views({
      text: 'hi',
      steps: [{ calls: 1, text: 'x', empty: false }],
      outcome: null,
    }).filter((record) => record.kind !== 'assistant-message');
    expect(() => foldTurn(records)).toThrow(/step 1/u);
    expect(() => foldTurn([])).toThrow(/no records/u);
  });
});

describe('the answer of a turn', () => {
  it('is the text of its last step', () => {
    const content = [
      { type: 'thinking', text: 'so' },
      { type: 'text', text: 'It is ' },
      { type: 'text', text: 'here.' },
    ] as const;
    expect(finalAnswer(turnWith(content))).toBe('It is here.');
  });

  it('is missing while the last step calls tools, was sent back, was empty or never came', () => {
    const call = { type: 'tool_call', id: 'c', name: 'grep', args: {} } as const;
    expect(finalAnswer(turnWith([{ type: 'text', text: 'Looking.' }, call]))).toBeNull();
    expect(finalAnswer(turnWith([{ type: 'thinking', text: 'hm' }]))).toBeNull();
    expect(finalAnswer(turnWith([{ type: 'text', text: ' \n' }]))).toBeNull();
    expect(finalAnswer(foldTurn(views({ text: 'hi', steps: [], outcome: 'cancelled' })))).toBeNull();
    const sentBack = { calls: 0, text: '', empty: true };
    expect(finalAnswer(foldTurn(views({ text: 'hi', steps: [sentBack], outcome: null })))).toBeNull();
  });
});
