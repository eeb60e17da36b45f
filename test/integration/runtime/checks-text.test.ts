/** Answers that cannot stand: empty, said before, resting on nothing, unfinished. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type ChecksStack,
  lastOf,
  market,
  openChecks,
  SOUND,
  SOURCE,
  slips,
  stubborn,
  times,
  wholeOf,
  writeNote,
} from './checks-stack.ts';

const FILES = { 'stores.md': '# Stores\n\nThe zinc price at Tarvo is 4127 marks.\n' };
const ZINC = 'In stores.md, what is the zinc price at Tarvo?';
const GATE = 'The gate at Melrin opens at 0700. When does the gate at Melrin open?';
const NOW = 'What is the current zinc price at Tarvo?';
const UPDATE = 'Update the note on the zinc price at Tarvo.';
const MISSING = 'In missing.md, what is the zinc price?';
const ANSWER = 'In stores.md: The zinc price at Tarvo is 4127 marks.';

describe('texts that cannot stand', () => {
  let checks: ChecksStack;
  beforeAll(async () => {
    checks = await openChecks([market().tool, writeNote], FILES);
  });
  afterAll(() => checks.close());

  it('CHK-01 F35 a step of thinking alone is asked again, and the redo answers', async () => {
    const seen = await checks.see(slips('thinkingOnly'), ['read'], [ZINC]);
    expect(seen).toMatchObject({ outcome: 'completed', reason: 'answered', answer: ANSWER });
    expect(seen.fired).toEqual([{ step: 1, check: 'empty-step', verdict: 'redo' }]);
    expect(lastOf(seen.requests[1])).toMatch(/^\[empty-step\] .*not valid JSON may have been dropped\.$/u);
  });

  it('CHK-01 F35 two steps of thinking alone fail the turn', async () => {
    const seen = await checks.see(stubborn('thinkingOnly'), ['read'], [ZINC]);
    expect(seen).toMatchObject({ outcome: 'failed', reason: 'empty_step', steps: 2, answer: null });
    expect(seen.fired).toEqual([{ step: 1, check: 'empty-step', verdict: 'redo' }]);
  });

  it('CHK-01 an empty step behind a card ends on the card, and is not asked again', async () => {
    const session = await checks.session(SOUND.name, ['read', 'emit_metric_card']);
    const fromCall = checks.stack.sim.calls().length + 3;
    checks.stack.sim.setFaults([{ match: { fromCall, count: 1 }, fault: { name: 'empty' } }]);
    const seen = await checks.ask(session, 'Show the zinc price in stores.md as a metric card.');
    checks.stack.sim.setFaults([]);
    expect(seen).toMatchObject({ outcome: 'completed', reason: 'card_answered', fired: [], nudges: [] });
    expect(seen.said.at(-1)).toBe('');
    expect(seen.cards).toHaveLength(1);
    await checks.isSound(session);
  });

  it('CHK-05 an earlier answer, word for word, goes back with the turn it is of, and the redo answers', async () => {
    const seen = await checks.see(slips('repeatAnswer'), ['read'], [ZINC, GATE]);
    expect(seen).toMatchObject({ outcome: 'completed', reason: 'answered' });
    expect(seen.fired).toEqual([{ step: 1, check: 'drift', verdict: 'redo' }]);
    expect(seen.nudges).toEqual([{ step: 1, check: 'drift', turn: 1 }]);
    expect(lastOf(seen.requests[1])).toBe(
      '[steering-drift] Your reply repeats the answer of T1 word for word. Answer what is asked in this turn.',
    );
    expect(times(wholeOf(seen.requests[1]), ANSWER)).toBe(times(wholeOf(seen.requests[0]), ANSWER));
    expect(seen.answer).not.toContain('4127');
  });

  it('CHK-05 three in a row end the turn, and the earlier answer is not its answer', async () => {
    const seen = await checks.see(stubborn('repeatAnswer'), ['read'], [ZINC, GATE]);
    expect(seen).toMatchObject({ outcome: 'degraded', reason: 'model_drift', steps: 3 });
    expect(seen.fired.map(({ step, check, verdict }) => [step, check, verdict])).toEqual([
      [1, 'drift', 'redo'],
      [2, 'drift', 'redo'],
      [3, 'drift', 'refused'],
    ]);
    expect(seen.answer).toBe('No answer was produced: an earlier answer was repeated 3 times instead.');
  });

  it.each([
    ['the same is asked again in other signs', 'in STORES.md, what is the zinc price at tarvo'],
    ['the thread goes on', 'And how much is it in all?'],
  ])('CHK-05 F34 the same answer stands where %s', async (_, asked) => {
    const session = await checks.session(stubborn('repeatAnswer'), ['read']);
    const first = await checks.ask(session, ZINC);
    const again = await checks.ask(session, asked);
    expect(again).toMatchObject({ outcome: 'completed', answer: first.answer, fired: [], nudges: [] });
    expect(again.answer).toBe(ANSWER);
    await checks.isSound(session);
  });

  it('CHK-06 an answer that uses nothing of what was looked up goes back once, and the redo uses it', async () => {
    const seen = await checks.see(slips('ungrounded'), ['look_up'], [NOW]);
    expect(seen).toMatchObject({ outcome: 'completed', reason: 'answered', steps: 3 });
    expect(seen.fired).toEqual([{ step: 2, check: 'grounding', verdict: 'redo' }]);
    expect(lastOf(seen.requests[2])).toMatch(/^\[grounding-check\] /u);
    expect(wholeOf(seen.requests[2])).not.toContain(seen.said[1]);
    expect(seen.answer).toContain(SOURCE);
  });

  it('CHK-06 an answer that uses nothing of what was looked up stands when it is given again', async () => {
    const seen = await checks.see(stubborn('ungrounded'), ['look_up'], [NOW]);
    expect(seen).toMatchObject({ outcome: 'completed', reason: 'answered', steps: 3 });
    expect(seen.fired).toEqual([{ step: 2, check: 'grounding', verdict: 'redo' }]);
    expect(seen.answer).toBe(seen.said[1]);
  });

  it('CHK-06 an answer from what was looked up stands, and so does one that found nothing', async () => {
    expect(await checks.see(SOUND.name, ['look_up'], [NOW])).toMatchObject({ steps: 2, fired: [] });
    const lost = await checks.see(
      SOUND.name,
      ['look_up'],
      ['What is the current height of the Ombra glacier?'],
    );
    expect(lost).toMatchObject({ outcome: 'completed', fired: [] });
  });

  it.each([
    ['an announced action', 'plansOnly', ['read'], ZINC, 'plan_unfinished', 1, /4127/u],
    ['a claim that nothing was done for', 'claimsDone', ['write_note'], UPDATE, 'receipt_missing', 1, /./u],
    [
      'a failure passed over',
      'ignoresFailure',
      ['read'],
      MISSING,
      'tool_failure_unresolved',
      2,
      /could not/u,
    ],
  ] as const)('CHK-07 %s goes back with its reason, and the redo finishes', async (...given) => {
    const [, habit, tools, asked, reason, step, answer] = given;
    const seen = await checks.see(slips(habit), tools, [asked]);
    expect(seen).toMatchObject({ outcome: 'completed', reason: 'answered' });
    expect(seen.fired).toEqual([{ step, check: 'stop-gate', verdict: 'redo', reasons: [reason] }]);
    expect(lastOf(seen.requests[step])).toMatch(/^\[stop-check\] The work does not look finished: /u);
    expect(wholeOf(seen.requests[step])).not.toContain(seen.said[step - 1]);
    expect(seen.answer).toMatch(answer);
    if (habit === 'claimsDone')
      expect(seen.results.map(({ name, status }) => [name, status])).toEqual([['write_note', 'ok']]);
  });

  it.each([
    ['an announced action', 'plansOnly', ['read'], ZINC, 'I will now read the file.'],
    [
      'a claim that nothing was done for',
      'claimsDone',
      ['write_note'],
      UPDATE,
      'I have updated the file as you asked.',
    ],
    [
      'a failure passed over',
      'ignoresFailure',
      ['read'],
      MISSING,
      'The read call went through, and all of it is in place now.',
    ],
  ] as const)('CHK-07 %s goes back twice, then the answer stands', async (_, habit, tools, asked, answer) => {
    const seen = await checks.see(stubborn(habit), tools, [asked]);
    expect(seen).toMatchObject({ outcome: 'completed', reason: 'answered', answer });
    expect(seen.fired.map(({ check, verdict }) => [check, verdict])).toEqual([
      ['stop-gate', 'redo'],
      ['stop-gate', 'redo'],
    ]);
  });

  it.each([
    ['an action that was taken', ['read'], ZINC],
    ['a change that was made', ['write_note'], UPDATE],
    ['a failure that is named', ['read'], MISSING],
    ['an answer that offers more', ['read'], 'In stores.md, what will you do next with zinc?'],
    ['a deed that was asked about', ['read', 'write_note'], 'Who has updated the zinc price in stores.md?'],
  ])('CHK-07 %s is not sent back', async (_, tools, asked) => {
    const seen = await checks.see(SOUND.name, tools, [asked]);
    expect(seen).toMatchObject({ outcome: 'completed', reason: 'answered', fired: [], nudges: [] });
  });
});
