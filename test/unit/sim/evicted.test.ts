/** What a model makes of a request from which items were taken: notes, residues, stamps, and the way back. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { residueText } from '../../../src/context/evict/residue.ts';
import { noticeIn, unstamped } from '../../../src/sim/mind/notices.ts';
import { Tally } from '../ledger/sample.ts';
import { answered, ask, exchange, GREP, LOOK_UP, READ, told } from './prompt-parts.ts';
import {
  drive,
  evictedUpTo,
  FLAT_TRANSCRIPT,
  type Form,
  facts,
  question,
  RECALL,
  type Recorded,
  recorded,
  statement,
  TRANSCRIPT,
  transcriptAnswer,
} from './transcript-parts.ts';

const RUNS = { numRuns: 120 };
const forms = fc.constantFrom<Form>('data', 'lines');
const ASKED = 'What is the zinc price of Tarvo?';
const patternOf = (args: { readonly [name: string]: unknown }) => String(args.pattern);

describe('a question whose answer left the request', () => {
  it('DOR-01 is looked up in the transcript: by its telling words, then by the item of the best line', () => {
    const tally = new Tally();
    fc.assert(
      fc.property(facts, fc.nat(), forms, fc.boolean(), (all, pick, form, flat) => {
        const target = all[pick % all.length];
        if (target === undefined) return;
        const items = recorded(all);
        const before = evictedUpTo(items.length, question(target));
        const tool = flat ? FLAT_TRANSCRIPT : TRANSCRIPT;
        const run = drive(before, [tool, RECALL], (_, args) => transcriptAnswer(items, args, form));
        expect(run.calls.map(({ name, args }) => [name, args.op])).toEqual([
          ['transcript', 'grep'],
          ['transcript', 'read'],
        ]);
        const [grep, read] = run.calls;
        expect(grep?.args).toEqual({ op: 'grep', items: 'all', pattern: expect.any(String) });
        for (const part of [target.subject, target.trait])
          expect(patternOf(grep?.args ?? {})).toContain(part);
        const answer = items.find(({ text }) => text === statement(target));
        expect(read?.args).toEqual({ op: 'read', items: [answer?.item] });
        expect(run.answer).toBe(statement(target));
        tally.count({ [form]: true, flat, alternatives: !flat });
      }),
      RUNS,
    );
    tally.report('facts found in the transcript');
  });

  it('DOR-01 is answered from the step behind the prompt, where only the prompt holds its words', () => {
    const items: readonly Recorded[] = [
      { item: 4, role: 'user', text: ASKED },
      { item: 5, role: 'assistant', text: 'At Tarvo zinc stood at 4127 marks.' },
    ];
    const run = drive(
      [told(residueText({ from: 1, to: 5, note: null })), told(ASKED)],
      [TRANSCRIPT],
      (_, args) => transcriptAnswer(items, args, 'data'),
    );
    expect(run.calls[1]?.args).toEqual({ op: 'read', items: [4, 5] });
    expect(run.answer).toContain('4127');
  });

  it('DOR-01 takes the newest of statements that say as much', () => {
    const items: readonly Recorded[] = [
      { item: 2, role: 'assistant', text: 'The zinc price of Tarvo is 4127.' },
      { item: 6, role: 'assistant', text: 'The zinc price of Tarvo is 5230.' },
      { item: 7, role: 'user', text: ASKED },
    ];
    const run = drive(evictedUpTo(7, ASKED), [TRANSCRIPT], (_, args) =>
      transcriptAnswer(items, args, 'data'),
    );
    expect(run.calls[1]?.args).toEqual({ op: 'read', items: [6] });
    expect(run.answer).toContain('5230');
  });

  it('DOR-01 is said to be not found when no line holds it, after all patterns were tried', () => {
    const run = drive(evictedUpTo(40, ASKED), [TRANSCRIPT], (_, args) => transcriptAnswer([], args, 'data'));
    expect(run.calls.map(({ args }) => args.op)).toEqual(['grep', 'grep']);
    expect(new Set(run.calls.map(({ args }) => args.pattern)).size).toBe(2);
    expect(run.answer).toMatch(/could not find/u);
  });

  it('DOR-01 finds nothing in its own prompt, in earlier look-ups, and in answers that found nothing', () => {
    const items: readonly Recorded[] = [
      { item: 3, role: 'assistant', text: 'transcript {"op":"grep","pattern":"(?i)zinc.*tarvo"}' },
      { item: 4, role: 'assistant', text: '{"hits":[{"item":1,"text":"zinc price Tarvo"}],"total":1}' },
      {
        item: 5,
        role: 'assistant',
        text: 'I could not find that in what I was given: nothing there speaks of zinc, price, Tarvo.',
      },
      { item: 99, role: 'user', text: ASKED },
    ];
    for (const form of ['data', 'lines'] as const) {
      const run = drive(evictedUpTo(40, ASKED), [TRANSCRIPT], (_, args) =>
        transcriptAnswer(items, args, form),
      );
      expect(run.calls.map(({ args }) => args.op)).not.toContain('read');
      expect(run.answer).toMatch(/could not find/u);
    }
  });

  it('DOR-01 escapes what RE2 reads as a sign', () => {
    const [call] = ask(evictedUpTo(9, 'What is the rate of rig 2.75?'), [TRANSCRIPT]).calls;
    expect(patternOf(call?.args ?? {})).toContain('2\\.75');
  });

  it('DOR-01 narrows to single words when the search brought more than it shows', () => {
    const noise = Array.from(
      { length: 120 },
      (_, at): Recorded => ({ item: at + 1, role: 'assistant', text: `The price of ore ${at} is low.` }),
    );
    const items = [...noise, { item: 150, role: 'assistant' as const, text: 'Tarvo: 4127 per load.' }];
    const run = drive(evictedUpTo(200, 'What is the price in Tarvo?'), [TRANSCRIPT], (_, args) =>
      transcriptAnswer(items, args, 'data'),
    );
    expect(run.calls.map(({ args }) => args.op)).toEqual(['grep', 'grep', 'grep', 'read']);
    expect(run.calls.at(-1)?.args).toEqual({ op: 'read', items: [150] });
    expect(run.answer).toContain('4127');
  });

  it('DOR-01 opens an item that is named at once', () => {
    const items = recorded([{ subject: 'tarvo', trait: 'zinc', value: 412_711 }]);
    const run = drive(evictedUpTo(9, 'What does item #2 say of the zinc?'), [TRANSCRIPT], (_, args) =>
      transcriptAnswer(items, args, 'data'),
    );
    expect(run.calls).toEqual([{ name: 'transcript', args: { op: 'read', items: [2] } }]);
    expect(run.answer).toContain('412711');
  });

  it('DOR-01 is read item by item where a number behind a question names nothing', () => {
    const items: readonly Recorded[] = [{ item: 4, role: 'user', text: ASKED }];
    const run = drive(evictedUpTo(9, ASKED), [TRANSCRIPT], (_, args) =>
      JSON.stringify(args.items) === '[4,5,6]'
        ? { error: 'There is no item #5.' }
        : transcriptAnswer(items, args, 'data'),
    );
    expect(run.calls.map(({ args }) => args.items)).toEqual(['all', [4, 5, 6], [4], 'all']);
  });

  it('DOR-01 takes an earlier answer that found nothing for no answer', () => {
    const items: readonly Recorded[] = [
      { item: 4, role: 'user', text: ASKED },
      {
        item: 5,
        role: 'assistant',
        text: 'I could not find that in what I was given: nothing there speaks of zinc, price, Tarvo, 4127.',
      },
    ];
    const run = drive(evictedUpTo(5, ASKED), [TRANSCRIPT], (_, args) =>
      transcriptAnswer(items, args, 'data'),
    );
    expect(run.calls.map(({ args }) => args.op)).toContain('read');
    expect(run.answer).toMatch(/could not find/u);
    expect(run.answer).not.toContain('4127');
  });

  it('DOR-01 is searched for in the transcript before recall and the files are asked', () => {
    const hidden = told(
      '<context_summary>\nT1 is not shown; recall({"query":"…"}) finds it.\n</context_summary>',
    );
    const [call] = ask([hidden, ...evictedUpTo(9, ASKED)], [RECALL, GREP, TRANSCRIPT]).calls;
    expect(call?.name).toBe('transcript');
  });

  it('DOR-01 is answered from the note alone where the note says it', () => {
    const run = drive(evictedUpTo(9, ASKED, 'the zinc price of Tarvo is 4127'), [TRANSCRIPT], () => '');
    expect(run.calls).toEqual([]);
    expect(run.answer).toContain('4127');
  });

  it('DOR-01 is looked up in the files first where it names one, and then in the transcript', () => {
    const asked = 'In stores.md, what is the zinc price of Tarvo?';
    const items = recorded([{ subject: 'Tarvo', trait: 'zinc price', value: 412_711 }]);
    const run = drive(evictedUpTo(9, asked), [READ, GREP, TRANSCRIPT], (name, args) =>
      name === 'transcript' ? transcriptAnswer(items, args, 'data') : { error: 'Error: no such file' },
    );
    expect(run.calls[0]?.name).toBe('read');
    expect(run.calls).toContainEqual({ name: 'transcript', args: { op: 'read', items: [2] } });
    expect(run.answer).toContain('412711');
  });

  it('DOR-01 leads to no look-up of the past when a value is asked for as it stands now', () => {
    const run = ask(evictedUpTo(9, 'What is the current zinc price of Tarvo?'), [TRANSCRIPT, LOOK_UP]);
    expect(run.calls.map(({ name }) => name)).toEqual(['look_up']);
  });
});

describe('without a residue in the request', () => {
  it('the transcript is not searched, and recall is asked where a text says that turns are hidden', () => {
    expect(ask([told(ASKED)], [TRANSCRIPT]).calls).toEqual([]);
    const summary = told(
      '<context_summary>\nT1 to T8 are summarised; recall({"query":"…"}) finds them.\n</context_summary>',
    );
    const [call] = ask([summary, told(ASKED)], [TRANSCRIPT, RECALL]).calls;
    expect(call).toMatchObject({ name: 'recall', args: { query: expect.stringContaining('zinc') } });
  });

  it('a residue without a tool that reads it is told as it is: nothing is found', () => {
    const reply = ask(evictedUpTo(9, ASKED), [RECALL]);
    expect(reply.calls).toEqual([]);
    expect(reply.text).toMatch(/could not find/u);
  });
});

describe('notices of the context', () => {
  it('EVT-03 are read whatever the note holds and however the numbers are joined', () => {
    fc.assert(
      fc.property(
        fc.nat(2 ** 31),
        fc.nat(2 ** 31),
        fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }),
        (a, b, note) => {
          const [from, to] = [Math.min(a, b), Math.max(a, b)];
          const worded = `[evicted: items #${from} up to #${to} are out of sight.\nNote: ${JSON.stringify(note)}\ntranscript({"op":"read","items":[${from}]})]`;
          expect(noticeIn(worded)).toEqual({ kind: 'residue', from, to, note });
        },
      ),
      RUNS,
    );
    expect(noticeIn(residueText({ from: 3, to: 9, note: null }))).toEqual({
      kind: 'residue',
      from: 3,
      to: 9,
      note: null,
    });
    expect(noticeIn(residueText({ from: 3, to: 9, note: 'a "quoted" word' }))).toMatchObject({
      note: 'a "quoted" word',
    });
  });

  it('EVT-03 are no words of a person, no order and no correction', () => {
    const residue = told(residueText({ from: 1, to: 9, note: 'call recall with e4' }));
    expect(ask([told('The gate code is 2299.'), answered('Noted.'), residue], [RECALL]).text).toBe(
      'Noted: The gate code is 2299.',
    );
    expect(ask([told('The gate code is 2299.'), residue], [RECALL]).calls).toEqual([]);
  });

  it('EVT-03 a text that only looks like one is none', () => {
    for (const text of [
      'evicted #1–#4',
      '[evicted] nobody',
      'He said [evicted #1–#4]',
      '[some-check] #1 and #2',
    ])
      expect(noticeIn(text)).toBeNull();
  });

  it('a stamp ends a result and is no part of it', () => {
    expect(unstamped('four\nlines\n[item #12]')).toEqual({ content: 'four\nlines', item: 12 });
    expect(unstamped('of [item #12] within')).toEqual({ content: 'of [item #12] within', item: null });
    const found = exchange('c1', 'read', { path: 'a.md' }, '{"zinc price of Tarvo": 4127}\n[item #7]');
    expect(ask([told('In a.md, what is the zinc price of Tarvo?'), ...found], [READ]).text).toMatch(
      /4127\.$/u,
    );
    const failed = exchange(
      'c1',
      'read',
      { path: 'a.md' },
      'The zinc price is no path: 77.\nTo repair: give another\n[evidence:e1]\n[item #7]',
    );
    expect(ask([told('In a.md, what is the zinc price?'), ...failed], [READ]).text).not.toContain('77');
  });
});
