import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RESOLVER_VERSION } from '../../../src/intent/lexicon/index.ts';
import { PROVISIONAL_FROM, readLexically, WEAK_BELOW } from '../../../src/intent/reading.ts';
import { reading as recorded } from '../../../src/ledger/reading.ts';

const stakesOf = (directive: string): string => readLexically(directive).stakes ?? 'low';
const horizonOf = (directive: string): string => readLexically(directive).horizon ?? 'reply';

describe('the lexical reading', () => {
  it('INT-01 leaves out what reads plainly', () => {
    expect(readLexically('What is the limit?')).toEqual({
      source: 'lexical',
      version: RESOLVER_VERSION,
      act: 'answer',
      domains: [],
      confidence: 1,
    });
  });

  it('INT-01 is weak where the words name no act or nothing to go by', () => {
    for (const unclear of [
      'the other one',
      'hm',
      '',
      'whatever works',
      'findings are in',
      'the thing from before',
    ])
      expect([unclear, readLexically(unclear).confidence < WEAK_BELOW]).toEqual([unclear, true]);
    for (const clear of ['find it', 'hello', 'why?', 'Explain src/main.ts'])
      expect([clear, readLexically(clear).confidence < WEAK_BELOW]).toEqual([clear, false]);
  });

  it('INT-01 takes an empty or wordless directive for talk, unclear', () => {
    for (const wordless of ['', '   ', '?!', '…', '\n\n', '👍'])
      expect(readLexically(wordless)).toMatchObject({ act: 'converse', clarity: 'unclear', domains: [] });
    expect(readLexically('').confidence).toBeLessThan(PROVISIONAL_FROM);
  });

  it('INT-01 is as sure of an act as its share and the weight of its cues: 0.6 and 0.4', () => {
    // One strong cue alone; then a second, later request at half its weight.
    expect(readLexically('rename the folder').confidence).toBe(1);
    const two = readLexically('find the notes and explain the plan');
    expect(two).toMatchObject({ act: 'locate', alternates: ['analyze'], confidence: 0.8 });
    // A fair cue alone: 0.6 + 0.4 × 1/1.5.
    expect(readLexically('show the invoice').confidence).toBe(0.867);
  });

  it('INT-01 takes the act of a light verb from its object, unless that is there already', () => {
    for (const [directive, act] of [
      ['give me a summary', 'analyze'],
      ['give me a list of the ports', 'locate'],
      ['I need a letter', 'author'],
      ['show me the report', 'answer'],
    ] as const)
      expect([directive, readLexically(directive).act]).toEqual([directive, act]);
  });

  it('INT-01 names the other acts that may be meant', () => {
    expect(readLexically('does the library support streams')).toMatchObject({
      act: 'verify',
      alternates: ['answer'],
    });
    expect(readLexically('rename the folder')).not.toHaveProperty('alternates');
  });

  it('INT-01 sees which domains are named', () => {
    for (const [directive, domains] of [
      ['read notes.md', ['filesystem']],
      ['what is in src/app/main.ts?', ['filesystem']],
      ['list the folders', ['filesystem']],
      ['show "a.b" now', ['filesystem']],
      ['what is 3.14 times 2', []],
      ['is 1.2.3 newer', []],
      ['mention a@b.org', []],
      ['see https://a.org/x', ['web']],
      ['how are you', []],
      ['rebase the branch', ['vcs']],
      ['draft a letter', ['documents']],
      ['look at the latency', ['observability']],
      ['do you remember the colour', ['memory']],
      ['execute the plan', ['code-exec']],
    ] as const)
      expect([directive, readLexically(directive).domains]).toEqual([directive, domains]);
  });

  it('INT-01 lists names, figures, quotations and files, as written and in order', () => {
    const { entities } = readLexically(
      'Compare the 29.1 degrees in New Delhi with “the forecast”, src/report.md and the 7 lines of iPhone sales for 2,400 stores',
    );
    expect(entities).toEqual(['29.1', 'New Delhi', 'the forecast', 'src/report.md', 'iPhone', '2,400']);
  });

  it('INT-01 makes no entity of a question word, a first capital or a figure of one digit', () => {
    for (const plain of [
      'What is it',
      'Tomorrow we go',
      'Which of the 3',
      'Why? How? Where?',
      'STOP THE RUN NOW',
      'tell me Why it fails',
      'I think I know',
    ])
      expect([plain, readLexically(plain).entities]).toEqual([plain, undefined]);
    expect(readLexically('Angela Merkel was born when').entities).toEqual(['Angela Merkel']);
    expect(readLexically('OpenAI news').entities).toEqual(['OpenAI']);
  });

  it('INT-01 lists at most twelve entities, each once', () => {
    const many = Array.from({ length: 30 }, (_, index) => `file${index}.txt`).join(' and ');
    expect(readLexically(`compare ${many}`).entities).toHaveLength(12);
    expect(readLexically('is Oslo north of Oslo').entities).toEqual(['Oslo']);
  });
});

describe('the stakes of a reading', () => {
  it.each([
    'delete the branch',
    'please drop the table',
    'wipe the disk',
    'overwrite the file',
    'force-push the branch',
    'deploy to production',
    'deploy the new build to production',
    'send it to the client',
    'publish the post',
    'pay the invoice',
    'transfer the funds',
    'revoke the key',
    'terminate the contract',
    'can you delete the branch?',
    'find the old logs and delete them',
    'The disk is full, wipe the cache',
    "don't ask, just delete it",
    "don't wait, send it",
  ])('INT-01 are high in "%s"', (directive) => {
    expect(stakesOf(directive)).toBe('high');
  });

  it.each([
    'should I delete the branch?',
    'what happens if I drop the table',
    'how do I wipe the disk',
    'tell me what happens when I revoke a key',
    'is it safe to overwrite the file?',
    'why did you send it',
    'do not delete the branch',
    "don't drop the table",
    'never publish the draft',
    'Delete the old branch?',
    'do not edit, move or delete the logs',
    'say "first, delete the branch"',
    'tidy up without deleting anything',
    'write a function to copy and delete rows',
    'explain the delete button',
    'find the send button',
    'name the drop-down "delete"',
    'the payment is due',
    'undelete the note',
  ])('INT-01 F42 are low in "%s"', (directive) => {
    expect(stakesOf(directive)).toBe('low');
  });

  it('INT-01 are elevated where work undoes it', () => {
    for (const directive of ['restart the service', 'merge the branch', 'roll back the release'])
      expect([directive, stakesOf(directive)]).toEqual([directive, 'elevated']);
  });

  it('INT-01 need whole words: a longer word raises nothing', () => {
    for (const directive of [
      'read the deleted notes',
      'describe dropship firms',
      'list sendmail options',
      'run payroll.test.ts',
    ])
      expect([directive, stakesOf(directive)]).toEqual([directive, 'low']);
  });
});

describe('the other axes of a reading', () => {
  it('INT-01 stands for what comes again, and for rules', () => {
    for (const directive of [
      'send me the figures every morning',
      'Every Monday, list the open invoices',
      'from now on use tabs',
      'never touch main',
    ])
      expect([directive, horizonOf(directive)]).toEqual([directive, 'standing']);
  });

  it('INT-01 F42 takes no horizon from a part of a word, from a question or from an account', () => {
    for (const directive of [
      'describe the hallways',
      'tell me everything',
      'what is outstanding',
      'how many people commute every day?',
      'why does it always fail',
      'we ship every day',
      'name the dailyness of it',
    ])
      expect([directive, horizonOf(directive)]).toEqual([directive, 'reply']);
  });

  it('INT-01 F42 "stop using semicolons" is a rule, and no reading holds a word of control', () => {
    const stop = readLexically('stop using semicolons');
    expect(['govern', 'modify']).toContain(stop.act);
    for (const directive of ['stop', 'cancel', 'cancel that', 'abort the run', 'stop using semicolons'])
      expect(Object.keys(recorded.parse(readLexically(directive))).join(' ')).not.toMatch(
        /cancel|control|stop/,
      );
  });

  it('INT-01 counts a hyphenated word as the word it makes', () => {
    expect(readLexically('double-check the totals')).toMatchObject({ act: 'verify', evidence: 'verified' });
    for (const other of ['doublecheck the totals', 'double‑check the totals'])
      expect(readLexically(other).act).toBe('verify');
    expect(readLexically('re-run the tests').act).toBe('operate');
    expect(readLexically('the check-in desk').act).not.toBe('verify');
  });

  it('INT-01 asks for sources, or for a check, where the words do', () => {
    expect(readLexically('explain the treaty, cite your sources').evidence).toBe('sourced');
    expect(readLexically('add up the costs and verify the total').evidence).toBe('verified');
    expect(readLexically('explain the treaty')).not.toHaveProperty('evidence');
  });

  it('INT-01 sees the form a thing to be made has, and none in a thing to be explained', () => {
    expect(readLexically('write a function that adds').modality).toBe('code');
    expect(readLexically('draw a diagram of the flow').modality).toBe('visual');
    expect(readLexically('list the users as json').modality).toBe('data');
    expect(readLexically('explain the function')).not.toHaveProperty('modality');
  });

  it('INT-01 sees that nobody will be there', () => {
    for (const alone of [
      'run the import overnight',
      'sort the photos while I am away',
      'fix the tests without asking me',
    ])
      expect([alone, readLexically(alone).attendance]).toEqual([alone, 'unattended']);
    expect(readLexically('run the import')).not.toHaveProperty('attendance');
  });

  it('INT-01 takes quoted words for material: they name no act', () => {
    expect(readLexically('what does "delete everything every day" mean')).toMatchObject({ act: 'answer' });
    expect(stakesOf('translate "delete the branch" into French')).toBe('low');
  });
});

describe('the reading of long texts', () => {
  const logLine = '2026-01-05T10:00:00Z ERROR deploy to production failed: delete every file right now\n';

  it('INT-01 F41 reads the request before and after pasted material, not the material', () => {
    const pasted = logLine.repeat(300);
    for (const directive of [`explain what went wrong\n\n${pasted}`, `${pasted}\nexplain what went wrong`]) {
      const reading = readLexically(directive);
      expect(reading.act).toBe('analyze');
      expect(reading.domains).not.toContain('live-data');
      expect(reading).not.toHaveProperty('stakes');
      expect(reading).not.toHaveProperty('entities');
    }
  });

  it('INT-01 F41 reads 5 MB of any shape without hanging', () => {
    const began = performance.now();
    const shapes = [
      'a,b,"c",1.5\n',
      'x',
      '"',
      "' ",
      '. ',
      '-',
      ' - ',
      '1,',
      "a'b",
      '`a',
      '?',
      'a/',
      '“',
      'as a ',
      'and delete ',
      'right now ',
      '(',
      'A ',
      '…',
      'ا',
    ];
    for (const shape of shapes) {
      const text = `summarise this\n${shape.repeat(5_000_000 / shape.length)}`;
      expect(recorded.safeParse(readLexically(text)).success).toBe(true);
    }
    expect(performance.now() - began).toBeLessThan(15_000);
  });

  it('INT-01 gives any text one valid reading, the same each time', () => {
    const counts = { cued: 0, plain: 0, wordless: 0 };
    const words = fc.constantFrom(
      ...'please delete the current file "x y" find why every morning, run? not and to 2019 a.ts Oslo live no. I you'.split(
        ' ',
      ),
    );
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 300 }),
      fc.array(words, { maxLength: 30 }).map((list) => list.join(' ')),
    );
    fc.assert(
      fc.property(text, (directive) => {
        const reading = readLexically(directive);
        expect(recorded.parse(reading)).toEqual(reading);
        expect(reading.confidence).toBeGreaterThanOrEqual(0);
        expect(reading.confidence).toBeLessThanOrEqual(1);
        expect(readLexically(directive)).toEqual(reading);
        const wordless = !/[\p{L}\p{N}]/u.test(directive);
        counts[wordless ? 'wordless' : reading.confidence >= WEAK_BELOW ? 'cued' : 'plain'] += 1;
      }),
      { numRuns: 600 },
    );
    console.log('texts generated', counts);
    for (const count of Object.values(counts)) expect(count).toBeGreaterThan(6);
  });

  it('INT-01 reads a directive alike whatever its case, apostrophes and outer white space', () => {
    for (const directive of [
      "don't delete the branch",
      'what is the current price of tin',
      'Double-check the totals',
    ])
      for (const other of [directive.toUpperCase(), `\n  ${directive}  `, directive.replaceAll("'", '’')]) {
        const { act, domains, stakes } = readLexically(directive);
        const again = readLexically(other);
        expect([other, again.act, again.domains, again.stakes]).toEqual([other, act, domains, stakes]);
      }
  });
});
