/** Customs of a model that manages its context: by a reminder, wrongly, and by looking first. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pressureText } from '../../../src/context/evict/pressure.ts';
import { simModels } from '../../../src/sim/contract.ts';
import { noticeIn } from '../../../src/sim/mind/notices.ts';
import { DEFAULT_SIM_MODELS } from '../../../src/sim/models.ts';
import { answered, ask, exchange, GREP, READ, type Replied, told } from './prompt-parts.ts';
import { CONTEXT, drive, facts, statement, TRANSCRIPT } from './transcript-parts.ts';

const SPAN = { from: 2, to: 41 };
const ASKED = told('In stores.md, what is the zinc price of Tarvo?');
const FOUND = exchange('c1', 'read', { path: 'stores.md' }, 'The zinc price of Tarvo is 4127.\n[item #52]');
const REMINDER = told(pressureText({ used: 150_000, limit: 200_000, unit: 'tokens', would: SPAN }));
const FIGURE_ONLY = told(pressureText({ used: 150_000, limit: 200_000, unit: 'tokens', would: null }));
const TOOLS = [READ, GREP, TRANSCRIPT, CONTEXT];
const TOLD = [told('The lead price of Melrin is 6611.'), answered('Noted.'), ASKED, ...FOUND, REMINDER];
const SURVEY =
  'Context: unknown until the next reply. What it holds, 2 KB of it, oldest first:\n#42 step T3 2 KB';
const edits = (reply: Pick<Replied, 'calls'>) =>
  reply.calls.filter(({ name }) => name === 'context').map(({ args }) => args);

describe('a reminder of pressure', () => {
  it('EVT-04 is read whatever its figures, with the span it proposes', () => {
    const numbers = fc.nat(2 ** 31);
    fc.assert(
      fc.property(
        numbers,
        numbers,
        numbers,
        fc.constantFrom('tokens' as const, 'bytes' as const),
        (used, from, to, unit) => {
          const text = pressureText({ used, limit: 2 ** 31, unit, would: { from, to } });
          expect(noticeIn(text)).toEqual({ kind: 'reminder', span: { from, to } });
          const plain = pressureText({ used, limit: 2 ** 31, unit, would: null });
          expect(noticeIn(plain)).toEqual({ kind: 'reminder', span: null });
        },
      ),
    );
    const worded =
      '[space is short: items #4 and up to #9 are next; {op: "evict", from: 4, to: 9, note: "…"}]';
    expect(noticeIn(worded)).toEqual({ kind: 'reminder', span: { from: 4, to: 9 } });
    expect(noticeIn('[context pressure] items #4–#9 would leave')).toEqual({
      kind: 'reminder',
      span: { from: 4, to: 9 },
    });
  });

  it('EVT-04 moves a model without habits to nothing: it goes on with the work', () => {
    const without = ask(TOLD.slice(0, -1), TOOLS);
    expect(without.text).toContain('4127');
    for (const reminder of [REMINDER, FIGURE_ONLY])
      expect(ask([...TOLD.slice(0, -1), reminder], TOOLS)).toEqual(without);
  });

  it('EVT-04 ends no habit of another kind, as a correction would', () => {
    const habits = { plansOnly: 1 };
    const before = TOLD.slice(0, -1);
    expect(ask(before, TOOLS, { habits }).text).toMatch(/^I will now/u);
    expect(ask([...before, REMINDER], TOOLS, { habits }).text).toMatch(/^I will now/u);
    expect(ask([...before, told('[some-check] Do it.')], TOOLS, { habits }).text).not.toMatch(/^I will now/u);
  });
});

describe('evictsWhenTold', () => {
  const habits = { evictsWhenTold: 1 };

  it('EVT-05 asks for the span of the reminder with one line of words that stand in the request', () => {
    fc.assert(
      fc.property(facts, (all) => {
        const before = all.flatMap((fact) => [told(statement(fact)), answered('Noted.')]);
        const found = exchange('c1', 'read', { path: 'a.md' }, `${all.map(statement).join('\n')}\n[item #7]`);
        const reply = ask([...before, told('What stands in a.md?'), ...found, REMINDER], TOOLS, { habits });
        const [edit] = edits(reply);
        expect(reply.calls).toHaveLength(1);
        expect(edit).toEqual({ op: 'evict', ...SPAN, note: expect.stringMatching(/^[^\n\r]+$/u) });
        const note = String(edit?.note);
        expect(new TextEncoder().encode(note).length).toBeLessThanOrEqual(240);
        const given = all.map(statement).join(' ');
        for (const one of note.split(' ')) expect(given).toContain(one);
      }),
    );
  });

  it('EVT-05 takes its note from the results of the span, in printable signs and whole characters', () => {
    const old = exchange(
      'c0',
      'read',
      { path: 'b.md' },
      `Ĺ\u0007${'ü'.repeat(300)} of lead is 77.\n[item #9]`,
    );
    const [edit] = edits(
      ask([told('What stands in b.md?'), ...old, answered('Lead.'), ...TOLD], TOOLS, { habits }),
    );
    expect(String(edit?.note)).toMatch(/^Ĺ ü+$/u);
    expect(new TextEncoder().encode(String(edit?.note)).length).toBeLessThanOrEqual(240);
  });

  it('EVT-05 asks once for each reminder, and then goes on as it would have', () => {
    const run = drive(TOLD, TOOLS, () => SURVEY, { habits });
    expect(edits(run)).toHaveLength(1);
    expect(run.calls).toHaveLength(1);
    expect(run.answer).toContain('4127');
    const done = exchange('c2', 'context', { op: 'evict', ...SPAN }, SURVEY);
    expect(edits(ask([...TOLD, ...done, REMINDER], TOOLS, { habits }))).toHaveLength(1);
  });

  it('EVT-05 does nothing without a reminder, a span, the tool, or in a later turn', () => {
    expect(edits(ask(TOLD.slice(0, -1), TOOLS, { habits }))).toEqual([]);
    expect(edits(ask([...TOLD.slice(0, -1), FIGURE_ONLY], TOOLS, { habits }))).toEqual([]);
    expect(edits(ask(TOLD, [READ, TRANSCRIPT], { habits }))).toEqual([]);
    expect(edits(ask([...TOLD, answered('4127.'), told('Thanks.')], TOOLS, { habits }))).toEqual([]);
  });

  it('EVT-05 spends none of the steps in which a model looks for its answer', () => {
    const managed = Array.from({ length: 5 }, (_, at) =>
      exchange(`m${at}`, 'context', { op: 'survey' }, SURVEY),
    ).flat();
    const [call] = ask([ASKED, ...managed], TOOLS).calls;
    expect(call?.name).toBe('read');
  });
});

describe('evictsWrongly', () => {
  const habits = { evictsWrongly: 1 };
  const keys = Array.from({ length: 60 }, (_, at) => `key ${at}`);
  const REFUSALS = [
    'There is no field "form" in op evict, so nothing was done.',
    'Item #53 is still open, and an eviction never touches work in hand.',
    'Missing: from. Calls are {"op":"survey"}',
    '#2–#41 left the context earlier, and can be read with transcript.',
    'The note has more than one line. Write it on one line.',
  ];

  it('EVT-05 misspells a member, or names the item that the call stands in: both, over the seeds', () => {
    const made = keys.flatMap((key) => edits(ask(TOLD, TOOLS, { key, habits })));
    expect(made).toHaveLength(keys.length);
    const misspelled = made.filter(
      (args) => args.form === SPAN.from && args.from === undefined && args.to === SPAN.to,
    );
    const open = made.filter((args) => args.from === SPAN.from && args.to === 53);
    expect(misspelled.length).toBeGreaterThan(10);
    expect(open.length).toBeGreaterThan(10);
    expect(misspelled.length + open.length).toBe(keys.length);
  });

  it.each([true, false])('EVT-05 obeys the refusal, flagged as an error or not: %s', (flagged) => {
    for (const [at, key] of keys.entries()) {
      const refusal = REFUSALS[at % REFUSALS.length] ?? '';
      let refused = false;
      const run = drive(
        TOLD,
        TOOLS,
        () => {
          if (refused) return SURVEY;
          refused = true;
          return flagged ? { error: refusal } : refusal;
        },
        { key, habits },
      );
      expect(edits(run)).toHaveLength(2);
      expect(edits(run)[1]).toEqual({ op: 'evict', ...SPAN, note: expect.any(String) });
      expect(run.calls).toHaveLength(2);
      expect(run.answer).toContain('4127');
    }
  });

  it('EVT-05 repairs nothing that was taken as it was', () => {
    const run = drive(TOLD, TOOLS, () => SURVEY, { habits });
    expect(run.calls).toHaveLength(1);
    expect(run.answer).toContain('4127');
  });

  it('EVT-05 asks no third time when what was proposed is refused, too', () => {
    const run = drive(TOLD, TOOLS, () => ({ error: 'Item #53 is still open.' }), {
      habits: { ...habits, evictsWhenTold: 1 },
    });
    expect(run.calls).toHaveLength(2);
    expect(run.answer).toContain('4127');
  });
});

describe('surveys', () => {
  it('EVT-05 asks once a turn what the context holds, and the answer tells nothing of what was asked', () => {
    const habits = { surveys: 1 };
    const label = 'Context: 9 of 10 tokens.\n#4 step T1 1 KB "The zinc price of Tarvo is 1111."';
    const run = drive(
      [ASKED],
      TOOLS,
      (name) => (name === 'context' ? label : 'The zinc price of Tarvo is 4127.'),
      { habits },
    );
    expect(run.calls.map(({ name, args }) => [name, args.op])).toEqual([
      ['context', 'survey'],
      ['read', undefined],
    ]);
    expect(run.answer).toContain('4127');
    expect(run.answer).not.toContain('1111');
    const alone = drive([told('What is the zinc price of Tarvo?')], [CONTEXT], () => label, { habits });
    expect(alone.calls).toHaveLength(1);
    expect(alone.answer).toMatch(/could not find/u);
  });
});

describe('an order to manage the context', () => {
  it('EVT-05 is carried out with the items it names, and looks around where it names none', () => {
    expect(
      edits(ask([told('Call the context tool to evict #3 to #9, noting "gate is 2299".')], [CONTEXT, READ])),
    ).toEqual([{ op: 'evict', from: 3, to: 9, note: 'gate is 2299' }]);
    expect(edits(ask([told('Use the context tool.')], [CONTEXT, READ]))).toEqual([{ op: 'survey' }]);
  });

  it('DOR-01 of the transcript reads the items it names, searches for its words, or lists all', () => {
    const args = (text: string) => ask([told(text)], [TRANSCRIPT, READ]).calls.map((call) => call.args);
    expect(args('Use the transcript tool to read #9 and #3.')).toEqual([{ op: 'read', items: [3, 9] }]);
    expect(args('Use the transcript tool to find Melrin.')).toEqual([
      { op: 'grep', items: 'all', pattern: expect.stringContaining('melrin') },
    ]);
    expect(args('Use the tool transcript.')).toHaveLength(1);
  });
});

describe('the customs of a model', () => {
  it('are taken as shares beside its habits, and are none unless given', () => {
    const [model] = DEFAULT_SIM_MODELS;
    const taken = (habits: unknown) => simModels.safeParse([{ ...model, habits }]).success;
    expect(taken({ evictsWhenTold: 1, evictsWrongly: 0.5, surveys: 0, plansOnly: 1 })).toBe(true);
    expect(taken({ evictsWhenTold: 2 })).toBe(false);
    for (const name of ['evictsWhenTold', 'evictsWrongly', 'surveys']) {
      const shown = Array.from({ length: 300 }, (_, at) =>
        ask(TOLD, TOOLS, { key: `key ${at}`, habits: { [name]: 0.3 } }),
      );
      const share = shown.filter((reply) => edits(reply).length > 0).length;
      expect(share).toBeGreaterThan(60);
      expect(share).toBeLessThan(120);
    }
  });
});
