import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { STRAND_WORDS_EN } from '../../../src/intent/lexicon/strands-en.ts';
import { type Strands, strandsForRecord, strandsOf } from '../../../src/intent/strands.ts';
import { ACTS, type Act } from '../../../src/ledger/reading.ts';

/** A bound against hanging; the work itself takes milliseconds. */
const HANGING_MS = 1_000;
const HUGE_BYTES = 5_000_000;

const answered = (): Act => 'answer';
const read = (text: string) => strandsOf(text, STRAND_WORDS_EN, answered);
const texts = (text: string) => read(text).strands.map(({ from, to }) => text.slice(from, to));
const relations = (text: string) => read(text).strands.map(({ relation }) => relation);
const lineages = (text: string) => read(text).strands.map(({ lineage }) => lineage);
const pasted = (text: string) => read(text).pasted.map(({ from, to }) => text.slice(from, to));

describe('the requests of a directive', () => {
  it.each([
    ['sentences', 'Rename the folder. List the ports.', ['Rename the folder.', 'List the ports.']],
    ['lines', 'Rename the folder\nList the ports', ['Rename the folder', 'List the ports']],
    ['semicolons', 'rename the folder; list the ports', ['rename the folder;', 'list the ports']],
    ['list items', '- rename a\n* list b\n• count c', ['- rename a', '* list b', '• count c']],
    [
      'numbered items',
      '1. Fix the header\n2) Write the footer',
      ['1. Fix the header', '2) Write the footer'],
    ],
    ['a sequence marker', 'Run the tests and then deploy', ['Run the tests', 'and then deploy']],
    ['a bare "then"', 'open the door then close the window', ['open the door', 'then close the window']],
    ['"after that"', 'Read a.md, after that list b', ['Read a.md,', 'after that list b']],
    ['"finally"', 'Count the rows, finally plot the sums', ['Count the rows,', 'finally plot the sums']],
    [
      '"also" behind a comma',
      'Count the rows, also plot the sums',
      ['Count the rows,', 'also plot the sums'],
    ],
    ['"in addition"', 'Count the rows. In addition plot c', ['Count the rows.', 'In addition plot c']],
    ['questions', 'What is a port? Where is it set?', ['What is a port?', 'Where is it set?']],
    [
      'verbs it does not know',
      'Frobnicate the log. Defuse the rig.',
      ['Frobnicate the log.', 'Defuse the rig.'],
    ],
  ])('INT-03 are told apart by %s', (_, text, parts) => {
    expect(texts(text)).toEqual(parts);
  });

  it.each([
    'Write a report and a summary.',
    'Find the folder and rename it',
    'If it fails then run the tests again',
    'What happened then?',
    'Please run the next test of the suite',
    'Read the log and if it fails then run the tests again',
    'Since then run everything twice.',
    'You can also run the tests.',
    'What comes next week?',
    'Translate "Run the tests. Then send it home." into French',
    'What does `stop; then go` do?',
    'Use v1.2 of the parser, e.g. the fast one.',
    'The build is broken. It fails at step 3. Fix it.',
    'Fix the build. It has failed since Monday.',
    'Add a few fruits to the list:\n- apples\n- pears',
    'I would like you to look into the parser and to tell me about the reasons,\nwith a line about what was changed',
  ])('INT-03 stay one in "%s"', (text) => {
    expect(texts(text)).toEqual([text]);
  });

  it('INT-03 are asked their act one by one, pasted material left out', () => {
    const asked: string[] = [];
    const actOf = (part: string): Act => ACTS[asked.push(part) % ACTS.length] ?? 'answer';
    const { strands } = strandsOf(
      'Explain this:\n```\nrun()\n```\nin a word. Then count the lines.',
      STRAND_WORDS_EN,
      actOf,
    );
    expect(asked.map((part) => part.replace(/\s+/gu, ' ').trim())).toEqual([
      'Explain this: in a word.',
      'Then count the lines.',
    ]);
    expect(strands.map(({ act }) => act)).toEqual(['answer', 'locate']);
  });

  it('INT-03 are at most 12: the rest is one with the last', () => {
    const text = Array.from({ length: 40 }, (_, n) => `${ACTS[n % 10]} the part ${n}.`).join(' ');
    const { strands } = read(text);
    expect(strands).toHaveLength(12);
    expect(strands.at(-1)?.to).toBe(text.length);
  });
});

describe('how a part stands to the one before', () => {
  it.each([
    ['Run the tests. Then deploy the app.', ['independent', 'sequential']],
    ['Run the tests. Next, deploy the app.', ['independent', 'sequential']],
    ['Run the tests. Finally tell me about the app.', ['independent', 'sequential']],
    ['Summarise the log; send the result to Bob', ['independent', 'dependent']],
    ['Write a letter. Translate it.', ['independent', 'dependent']],
    ['Write a letter. Translate that into French.', ['independent', 'dependent']],
    ['Write a letter. Also, list the ports.', ['independent', 'independent']],
    ['Write a letter. Check that the totals agree.', ['independent', 'independent']],
    ['Write a letter. Show the result of the test.', ['independent', 'independent']],
    ['Write a letter. Find the file and read it.', ['independent', 'independent']],
  ])('INT-03 in "%s" is %j', (text, expected) => {
    expect(relations(text)).toEqual(expected);
  });
});

describe('how the first part stands to earlier turns', () => {
  it.each([
    ['summarise it', ['continues']],
    ['Continue with the second chapter', ['continues']],
    ['correct that: the year is 2024', ['corrects']],
    ['Instead of that, list the folders', ['replaces']],
    ['stop using semicolons', ['new']],
    ['Explain it:\n- the header\n- the footer', ['new']],
    ['Explain it.\n```\nrun()\n```', ['new']],
    ['Summarise it. Translate it.', ['continues', 'continues']],
    ['List the ports. Translate it.', ['new', 'new']],
  ])('INT-03 in "%s" is %j', (text, expected) => {
    expect(lineages(text)).toEqual(expected);
  });
});

describe('pasted material', () => {
  const log = (lines: number) =>
    Array.from(
      { length: lines },
      (_, n) => `2026-01-02T10:00:0${n % 10}Z ERROR worker ${n}: please retry?`,
    ).join('\n');

  it('INT-03 F41 is set aside: 300 log lines and a question are one request', () => {
    for (const text of [
      `Why did this fail?\n${log(300)}`,
      `Here is the log:\n${log(300)}\nWhy did it fail?`,
    ]) {
      expect(read(text).strands).toHaveLength(1);
      expect(pasted(text).join('').trim()).toBe(log(300));
    }
  });

  it('INT-03 F41 lines that only begin alike are a log, too', () => {
    const lines = Array.from({ length: 300 }, (_, n) => `Build step ${n} finished in ${n} ms`).join('\n');
    const text = `${lines}\nWhy is it slow?`;
    expect(texts(text)).toEqual(['Why is it slow?']);
  });

  it.each([
    ['a fence', '```ts\nplease(run);\n```'],
    ['a fence of tildes', '~~~\nplease run\n~~~'],
    ['rows', 'name,age,city\nbob,12,rome\nann,13,oslo'],
    ['columns', 'name\tage\nbob\t12\nann\t13'],
    ['an object', '{\n  "name": "bob",\n  "ages": [12, 13]\n}'],
    ['quoted mail', '> could you please send\n> the papers by Monday?'],
    ['a mail', 'From: ann@example.org\nSubject: please send the papers\nDate: Monday'],
    ['a stack', 'Traceback (most recent call last)\n  File "a.py", line 3'],
    ['markup', '<ul>\n<li>please run</li>\n</ul>'],
    [
      'long prose',
      'The harbour lies to the east, and the tide comes in by noon; most of the boats are out by then, which is what the master of the port told us when we met him at the pier.',
    ],
    ['a long run without spaces', 'x'.repeat(400)],
  ])('INT-03 is %s', (_, material) => {
    const text = `Explain what follows.\n\n${material}\n\nAnswer in a line.`;
    expect(pasted(text).map((part) => part.trim())).toEqual([material]);
    expect(texts(text)).toEqual(['Explain what follows.', 'Answer in a line.']);
  });

  it('INT-03 is not what people say themselves, however long, while nothing else asks', () => {
    const prose =
      'The harbour lies to the east, and the tide comes in by noon, and most of the boats are out by then. '.repeat(
        3,
      );
    expect(read(prose)).toMatchObject({ strands: [{ from: 0, to: prose.trim().length }], pasted: [] });
    expect(read('[urgent] the build, the docs').pasted).toEqual([]);
  });

  it('INT-03 is at most 8 stretches, those with the least between them joined', () => {
    const fence = '```\nx\n```\n';
    const text =
      `${fence}and\n`.repeat(6) + `Explain why all of this is so slow, please.\n${fence}and\n`.repeat(6);
    const found = read(text);
    expect(found.pasted).toHaveLength(8);
    expect(found.pasted.at(-1)?.to).toBe(text.lastIndexOf('and'));
    expect(texts(text).join(' ')).toContain('Explain why');
  });

  it('INT-03 costs next to nothing: between the two ends of a huge text nothing is read', () => {
    const rows = (row: string) => row.repeat(Math.ceil(HUGE_BYTES / row.length));
    const around = (middle: string) =>
      `Total these:\n${rows('bob,12,rome\n').slice(0, 80_004)}${middle}${rows('bob,12,rome\n').slice(0, 80_004)}Which city is it?`;
    const plain = around(rows('ann,13,oslo\n'));
    const asking = around('Please fix it? Then run the tests.\n'.repeat(20));
    expect(texts(plain)).toEqual(['Total these:', 'Which city is it?']);
    expect(texts(asking)).toEqual(texts(plain));
  });

  it.each([
    ['rows', 'Total these:\n' + 'bob,12,rome\n'],
    ['one endless word', 'x'],
    ['full stops', '.'],
    ['spaces', ' '],
    ['line breaks', '\n'],
    ['questions', 'why? '],
    ['hyphens', 'a-'],
    ['fences', '```\n'],
    ['markers', 'then '],
    ['abbreviations', 'e.g. '],
    ['sentences', 'fix the bug. '],
    ['quotation marks', '"'],
    ['brackets', '["'],
    ['commas', ','],
    ['bars', '|'],
    ['list marks', '- '],
    ['dots and letters', '...a'],
  ])('INT-03 F41 of 5 MB (%s) is read without hanging', (_, unit) => {
    const text = unit.repeat(Math.ceil(HUGE_BYTES / unit.length));
    const startedMs = performance.now();
    const { strands, pasted: stretches } = read(text);
    expect(performance.now() - startedMs).toBeLessThan(HANGING_MS);
    expect(strands.length).toBeLessThanOrEqual(12);
    expect(stretches.length).toBeLessThanOrEqual(8);
  });
});

describe('what is recorded', () => {
  it('INT-03 a single plain strand is left out, and so is material that is not there', () => {
    expect(strandsForRecord(read('List the ports.'))).toEqual({});
    expect(strandsForRecord(read(''))).toEqual({});
    expect(strandsForRecord(read('summarise it')).strands).toHaveLength(1);
    expect(strandsForRecord(read('List a. Count b.')).strands).toHaveLength(2);
    expect(strandsForRecord(read('Explain:\n```\nx\n```')).pasted).toHaveLength(1);
  });
});

const sentence = fc.constantFrom(
  'Fix the parser.',
  'Then run the tests.',
  'Send it to Bob.',
  'The build is broken.',
  'Why is it slow?',
  'Also, list the ports;',
  'No, I meant the other file.',
  'Forget that, and go home.',
  'hm',
  'continue',
  '😀 ok',
  'e.g. this',
  '- write docs',
  '2. ship it',
  '日本語です。次',
);
const material = fc.constantFrom(
  '```\nplease fix\n```',
  'a,b,c\n1,2,3',
  '> quoted\n> mail',
  '2026-01-02 10:00:00 INFO up\n2026-01-02 10:00:01 INFO down',
  `{"a": "${'x'.repeat(200)}"}`,
);
const glue = fc.constantFrom(' ', '\n', '\n\n', '  \n');
const directive = fc
  .array(
    fc.tuple(
      fc.oneof(
        { weight: 4, arbitrary: sentence },
        { weight: 2, arbitrary: material },
        { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 30 }) },
      ),
      glue,
    ),
    { maxLength: 60, size: 'max' },
  )
  .map((pieces) => pieces.flat().join(''));

describe('any directive', () => {
  it('INT-03 is covered by its strands and its pasted stretches, in order, apart and bounded', () => {
    const classes = {
      'no strand': 0,
      'one strand': 0,
      'several strands': 0,
      'twelve strands': 0,
      pasted: 0,
      'nothing pasted': 0,
      sequential: 0,
      dependent: 0,
      'not new': 0,
    };
    let runs = 0;
    fc.assert(
      fc.property(directive, (text) => {
        const found = read(text);
        count(found, classes);
        runs += 1;
        const { strands, pasted: stretches } = found;
        expect(strands.length).toBeLessThanOrEqual(12);
        expect(stretches.length).toBeLessThanOrEqual(8);
        for (const list of [strands, stretches])
          for (const [index, { from, to }] of list.entries()) {
            expect(from).toBeGreaterThanOrEqual(list[index - 1]?.to ?? 0);
            expect(to).toBeGreaterThan(from);
            expect(to).toBeLessThanOrEqual(text.length);
          }
        const covering = [...strands, ...stretches].toSorted((left, right) => left.from - right.from);
        let end = 0;
        for (const { from, to } of covering) {
          expect(text.slice(end, from).trim()).toBe('');
          end = Math.max(end, to);
        }
        expect(text.slice(end).trim()).toBe('');
        expect(strands[0]?.relation ?? 'independent').toBe('independent');
        expect(read(text)).toEqual(found);
      }),
      { numRuns: 600 },
    );
    console.log(`directives: ${JSON.stringify(classes)} of ${runs}`);
    for (const [name, seen] of Object.entries(classes))
      expect([name, seen >= runs / 100]).toEqual([name, true]);
  });
});

function count({ strands, pasted: stretches }: Strands, classes: Record<string, number>): void {
  const add = (name: string, holds: boolean) => {
    if (holds) classes[name] = (classes[name] ?? 0) + 1;
  };
  add('no strand', strands.length === 0);
  add('one strand', strands.length === 1);
  add('several strands', strands.length > 1);
  add('twelve strands', strands.length === 12);
  add('pasted', stretches.length > 0);
  add('nothing pasted', stretches.length === 0);
  add(
    'sequential',
    strands.some(({ relation }) => relation === 'sequential'),
  );
  add(
    'dependent',
    strands.some(({ relation }) => relation === 'dependent'),
  );
  add(
    'not new',
    strands.some(({ lineage }) => lineage !== 'new'),
  );
}
