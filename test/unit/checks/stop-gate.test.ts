import { describe, expect, it } from 'vitest';
import { checkLexiconFor } from '../../../src/checks/lexicon/index.ts';
import { type GateCall, type GateInput, STOP_REASONS, stopReasons } from '../../../src/checks/stop-gate.ts';
import type { Reading } from '../../../src/ledger/reading.ts';

const call: GateCall = { step: 1, name: 'x', ok: true, card: false, observes: false, changes: false };
const looked = { ...call, name: 'look', observes: true };
const changed = { ...call, name: 'change', changes: true };
const card = { ...call, name: 'emit_metric_card', card: true, observes: true, changes: true };

function reading(act: Reading['act'], domains: Reading['domains'] = []): Reading {
  return { source: 'lexical', version: 1, act, domains, confidence: 1 };
}

function reasons(given: Partial<GateInput>): readonly string[] {
  const base: GateInput = {
    text: 'It is so.',
    reading: reading('answer'),
    calls: [],
    canObserve: true,
    canChange: true,
    unmetConditions: [],
  };
  return stopReasons({ ...base, ...given }, checkLexiconFor(null));
}

describe('the stop gate', () => {
  it('CHK-07 an answer with nothing wrong has no reason, and reasons come in their order', () => {
    expect(reasons({})).toEqual([]);
    expect(reasons({ text: "I'll run the tests now.", unmetConditions: ['green'] })).toEqual([
      'plan_unfinished',
      'condition_unmet',
    ]);
    expect(STOP_REASONS).toHaveLength(6);
  });

  it("CHK-07 the operator's unmet condition is a reason", () => {
    expect(reasons({ unmetConditions: ['tests are green'] })).toEqual(['condition_unmet']);
  });
});

describe('an unfinished plan', () => {
  it.each([
    'I will now run the tests.',
    'Let me check the file:',
    "Next, I'll update the config.",
    'Found it. Now let me open src/a.ts.',
    "The bug is in a.ts.\n\nI'll fix it now.",
    'To find out, I’m going to read the log.',
    "Next, I'll …",
    'First, I need to look at the schema.',
  ])('CHK-07 is: %s', (text) => {
    expect(reasons({ text })).toEqual(['plan_unfinished']);
  });

  it.each([
    'I can also run the tests if you like.',
    'Let me know.',
    'Let me know if you want more.',
    "I'll be happy to check it.",
    'I will run the tests whenever you push.',
    "I'll use tabs from now on.",
    'Should I run the tests?',
    'He said: "I will run the tests."',
    '> I will run the tests.',
    'This means I will run out of memory.',
    'Let me check the file:\n```\ncontent\n```',
    "I'll run the tests.\n\nAll 12 passed.",
    'They will run the tests.',
  ])('CHK-07 is not: %s', (text) => {
    expect(reasons({ text })).toEqual([]);
  });

  it('CHK-07 a text that was asked for may itself speak of plans', () => {
    const text = 'Dear Ann,\nI will send the report.';
    expect(reasons({ text, reading: reading('author') })).toEqual([]);
    expect(reasons({ text: 'I will now write the file.', reading: reading('author') })).toEqual([
      'plan_unfinished',
    ]);
  });
});

describe('verification', () => {
  const verify = reading('verify', ['code-exec']);

  it('CHK-07 is missing where nothing was looked at with success', () => {
    expect(reasons({ reading: verify })).toEqual(['verification_missing']);
    expect(reasons({ reading: verify, calls: [changed, card] })).toEqual(['verification_missing']);
    expect(reasons({ reading: verify, calls: [looked] })).toEqual([]);
  });

  it('CHK-07 is missing after a failed look that is passed over, not after one that is told', () => {
    const calls = [
      { ...looked, ok: false },
      { ...changed, step: 2 },
    ];
    const told = 'The tests could not be run.';
    expect(reasons({ reading: verify, calls })).toEqual(['verification_missing']);
    expect(reasons({ reading: verify, calls, text: told })).toEqual([]);
  });

  it('CHK-07 is asked of acts that verify what can be looked at, with a tool to look', () => {
    expect(reasons({ reading: reading('answer', ['code-exec']) })).toEqual([]);
    expect(reasons({ reading: reading('verify', ['memory', 'documents', 'web']) })).toEqual([]);
    expect(reasons({ reading: verify, canObserve: false })).toEqual([]);
    expect(reasons({ reading: null })).toEqual([]);
    for (const domain of ['filesystem', 'vcs', 'observability', 'live-data'] as const)
      expect(reasons({ reading: reading('verify', ['memory', domain]) })).toEqual(['verification_missing']);
  });

  it('CHK-07 is stale once something changed after the last look', () => {
    expect(reasons({ reading: verify, calls: [looked, changed] })).toEqual(['verification_stale']);
    expect(reasons({ reading: verify, calls: [looked, changed, looked] })).toEqual([]);
    expect(reasons({ reading: verify, calls: [looked, { ...looked, changes: true }] })).toEqual([]);
    expect(reasons({ reading: verify, calls: [looked, { ...changed, ok: false }, looked] })).toEqual([]);
    expect(reasons({ reading: verify, calls: [looked, card] })).toEqual([]);
    expect(reasons({ reading: reading('modify'), calls: [looked, changed] })).toEqual([]);
  });
});

describe('a missing receipt', () => {
  it.each([
    'I have updated the config.',
    "I've written the report to notes.md.",
    'I have created src/a.ts.',
    "I've now deleted the folder.",
    'I have sent the mail.',
    'Good news: I have deployed it.',
    'I created the file and checked it.',
    'Done: saved the list.',
  ])('CHK-07 is: %s', (text) => {
    for (const act of ['author', 'modify', 'operate'] as const)
      expect(reasons({ text, reading: reading(act) })).toEqual(['receipt_missing']);
  });

  it.each([
    "I've written a haiku for you:\nOld pond",
    'Here is the function I have written.',
    "I've updated the function:\n```js\nlet a;\n```",
    "I've removed the second paragraph as asked.",
    'I have updated the table below.',
    'Hi Bob,\n\nI have sent the invoice.',
    'The letter says "I have sent the mail".',
    '> I have sent the mail.',
    'Once I have deployed it, look again.',
    'I have not updated the config.',
    'Have I updated the config?',
    'You have deleted the folder.',
  ])('CHK-07 is not: %s', (text) => {
    for (const act of ['author', 'modify', 'operate'] as const)
      expect(reasons({ text, reading: reading(act) })).toEqual([]);
  });

  it('CHK-07 a call that changed something is the receipt; a failed one, a look and a card are none', () => {
    const text = 'I have updated the config.';
    const of = (...calls: readonly GateCall[]) => reasons({ text, reading: reading('modify'), calls });
    expect(of(changed)).toEqual([]);
    expect(of({ ...changed, ok: false }, { ...looked, step: 2 })).toEqual(['receipt_missing']);
    expect(of(looked)).toEqual(['receipt_missing']);
    expect(of(card)).toEqual(['receipt_missing']);
  });

  it('CHK-07 is asked of acts that change, with a tool to change', () => {
    const text = 'I have updated the config.';
    expect(reasons({ text })).toEqual([]);
    expect(reasons({ text, reading: reading('modify'), canChange: false })).toEqual([]);
  });
});

describe('an unresolved failure', () => {
  const failed = { ...looked, ok: false };

  it('CHK-07 is where every call of the last step failed and the text is silent about it', () => {
    expect(reasons({ calls: [failed] })).toEqual(['tool_failure_unresolved']);
    expect(reasons({ calls: [looked, { ...failed, step: 2 }] })).toEqual(['tool_failure_unresolved']);
  });

  it('CHK-07 is not where a call of the last step succeeded', () => {
    expect(reasons({ calls: [failed, looked] })).toEqual([]);
    expect(reasons({ calls: [failed, { ...looked, step: 2 }] })).toEqual([]);
    expect(reasons({ calls: [] })).toEqual([]);
  });

  it.each([
    'The file does not exist.',
    'Reading it failed.',
    'I was unable to open it.',
    'Access was denied.',
    'The key is missing.',
    'The request timed out.',
    'There is no such file.',
  ])('CHK-07 is not where the text names it: %s', (text) => {
    expect(reasons({ calls: [failed], text })).toEqual([]);
  });

  it('CHK-07 F36 a failed card is never one, and a card that succeeded resolves none', () => {
    expect(reasons({ calls: [{ ...card, ok: false }] })).toEqual([]);
    expect(reasons({ calls: [looked, { ...card, step: 2, ok: false }] })).toEqual([]);
    expect(reasons({ calls: [failed, { ...card, step: 2 }] })).toEqual(['tool_failure_unresolved']);
  });
});
