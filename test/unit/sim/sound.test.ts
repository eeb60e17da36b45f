import { describe, expect, it } from 'vitest';
import { WORDING_EN } from '../../../src/context/wording/en.ts';
import {
  ACTIVATE,
  answered,
  ask,
  exchange,
  FIND_TOOLS,
  GREP,
  LOOK_UP,
  MCP,
  METRIC,
  READ,
  RESEARCH,
  told,
  WRITE,
} from './prompt-parts.ts';

const HISTORY = [
  told('What is the zinc price at Tarvo?'),
  answered('The zinc price at Tarvo is 4127 marks.'),
];
const RECALL = {
  name: 'recall',
  description: 'Returns stored evidence by its id, or what matches a query.',
  inputSchema: { type: 'object', properties: { id: { type: 'string' }, query: { type: 'string' } } },
} as const;
const MORE_TOOLS = [
  '<more_tools>',
  'More tools. Their schemas are not loaded.',
  'convert_units — Converts a length between cubits and fathoms.',
  'emit_metric_card — Shows one figure as a card.',
  'send_letter — Sends a letter.',
  '</more_tools>',
].join('\n');
const SKILLS = [
  '<skills>',
  'Instructions for kinds of work.',
  'ledger-audit — How the books are audited.',
  'brewing — How the beer is brewed.',
  '</skills>',
].join('\n');
const SERVERS = [
  '<servers>',
  'Servers behind the tool mcp.',
  'harbour: berths, tides',
  'granary',
  '</servers>',
].join('\n');

const names = (made: ReturnType<typeof ask>) => made.calls.map((call) => call.name);

describe('a value that is asked for as it stands now', () => {
  const now = told('What is the current zinc price at Tarvo?');
  const found = exchange('1', 'look_up', { query: 'zinc' }, 'The zinc price at Tarvo is 5230 marks.');

  it('CHK-03 is looked up by the tool that looks outside, whatever earlier text says', () => {
    expect(names(ask([...HISTORY, now], [READ, GREP, LOOK_UP]))).toEqual(['look_up']);
    expect(names(ask([...HISTORY, now], [LOOK_UP, METRIC]))).toEqual(['look_up']);
  });

  it('CHK-03 is answered from what was looked up, and never from what was said before', () => {
    const made = ask([...HISTORY, now, ...found], [LOOK_UP]);
    expect(made.calls).toEqual([]);
    expect(made.text).toContain('5230');
    expect(made.text).not.toContain('4127');
  });

  it('CHK-03 is said not to be known where no tool is at hand', () => {
    expect(ask([...HISTORY, now]).text).toBe('I do not have a current value for zinc, price, Tarvo.');
  });

  it('CHK-03 is looked for in files before it is said not to be known', () => {
    expect(names(ask([...HISTORY, now], [GREP, RECALL]))).toEqual(['grep']);
    const nothing = exchange('1', 'grep', { pattern: 'price' }, 'No line matches.');
    const more = exchange('2', 'grep', { pattern: 'Tarvo' }, 'No line matches.');
    const last = exchange('3', 'grep', { pattern: 'zinc' }, 'No line matches.');
    const made = ask([...HISTORY, now, ...nothing, ...more, ...last], [GREP, RECALL]);
    expect(made.text).toMatch(/^I do not have a current value/);
  });

  it('CHK-03 is shown as a card only after it was looked up', () => {
    const show = told('Show the current zinc price at Tarvo as a metric card.');
    expect(names(ask([...HISTORY, show], [LOOK_UP, METRIC]))).toEqual(['look_up']);
    expect(ask([...HISTORY, show], [METRIC]).text).toMatch(/^I do not have a current value/);
    const listed = told('Show the current zinc price at Tarvo as a metric card: zinc, in marks');
    expect(ask([...HISTORY, listed], [METRIC]).calls).toEqual([]);
    const made = ask([...HISTORY, show, ...found], [LOOK_UP, METRIC]);
    expect(made.calls).toEqual([
      { name: 'emit_metric_card', args: { title: 'Zinc price Tarvo', value: 5230, unit: 'marks' } },
    ]);
  });

  it('CHK-03 is answered by a figure alone when the look-up brings no word of the question', () => {
    const made = ask([now, ...exchange('1', 'look_up', { query: 'zinc' }, '{"rate": 73.25}')], [LOOK_UP]);
    expect(made.text).toContain('73.25');
  });

  it.each([
    'What is in the current directory?',
    'Explain how the current parser reads the zinc price at Tarvo.',
    'We live in Tarvo. What was the zinc price?',
    'What are you holding right now?',
    'Which branch holds most of the zinc right now?',
    'What was the zinc price at Tarvo in 2019, and not the latest?',
    'In prices.md, what is the current zinc price at Tarvo?',
    'Update the current zinc price at Tarvo.',
    'And the zinc price at Tarvo again?',
  ])('CHK-03 look-alike: %s', (directive) => {
    expect(ask([...HISTORY, told(directive)]).text).not.toMatch(/do not have a current value/);
  });

  it.each([
    'zinc price at Tarvo right now?',
    'Give me the latest zinc price at Tarvo.',
    'Tell me the live price of zinc at Tarvo.',
    'How is zinc trading at Tarvo at the moment?',
    'Need the current zinc price at Tarvo.',
    'What is zinc worth at Tarvo today?',
  ])('CHK-03 is meant by: %s', (directive) => {
    expect(ask([...HISTORY, told(directive)]).text).toMatch(/do not have a current value/);
  });
});

describe('a correction', () => {
  const asked = told('How much is zinc at Tarvo?');

  it('is no directive and no evidence', () => {
    const nudge = told('[some-check] Zinc at Tarvo costs 9999 marks in that reply.');
    expect(ask([asked, nudge]).text).toMatch(/^I could not find that/);
    const made = ask([...HISTORY, asked, nudge]);
    expect(made.text).toContain('4127');
    expect(made.text).not.toContain('some-check');
  });

  it('CHK-03 that wants a value as it stands now is heeded, whatever the question looked like', () => {
    const nudge = '[freshness-check] Nothing was looked up.';
    const some = told(`${nudge} Call look_up first, then answer from the result.`);
    expect(names(ask([...HISTORY, asked, some], [READ, LOOK_UP]))).toEqual(['look_up']);
    const none = told(`${nudge} No tool here can look it up: say that you have no current value.`);
    expect(ask([...HISTORY, asked, none], [READ]).text).toMatch(/could not find|do not have a current value/);
  });

  it('CHK-06 that names the tool of a form is followed by a call of it', () => {
    const nudge = told(
      '[presentation-check] The form is made by emit_metric_card. Call it with what you found.',
    );
    expect(names(ask([...HISTORY, asked, nudge], [METRIC]))).toEqual(['emit_metric_card']);
  });

  it('as the result of a card call is a failure, with and without a flag, and the card is made anew', () => {
    const show = told('Show the zinc price at Tarvo as a metric card.');
    for (const flagged of [true, false]) {
      const withheld = exchange(
        '1',
        'emit_metric_card',
        { title: 'Fog' },
        '[topic-mismatch] Not shown.',
        flagged,
      );
      expect(ask([...HISTORY, show, ...withheld], [METRIC]).calls[0]?.args).toMatchObject({ value: 4127 });
    }
  });

  it('is not what a file holds that begins like one', () => {
    const file = `[zinc-price] At Tarvo the zinc price is 6001 marks.\n${'Filler of no meaning.\n'.repeat(60)}`;
    const made = ask(
      [
        told('In prices.md, what is the zinc price at Tarvo?'),
        ...exchange('1', 'read', { path: 'prices.md' }, file),
      ],
      [READ],
    );
    expect(made.text).toContain('6001');
  });
});

describe('what a sound answer never leaves out or lets in', () => {
  const asked = told('In prices.md, what is the zinc price at Tarvo?');
  const first = (content: string, isError = false) =>
    exchange('1', 'read', { path: 'prices.md' }, content, isError);

  it('CHK-07 the last calls failed', () => {
    const again = exchange('2', 'look_up', { query: 'zinc' }, 'Timed out after 30 s', true);
    const made = ask([...HISTORY, told('How much is zinc at Tarvo?'), ...again], []);
    expect(made.text).toMatch(/4127.*The call of look_up failed: Timed out after 30 s/);
  });

  it('CHK-06 an answer after a look-up names a figure or a host it brought', () => {
    for (const more of ['It rose by 17 percent.', 'https://metals.tarvo.example/zinc']) {
      const result = exchange('1', 'look_up', { query: 'z' }, `Zinc at Tarvo is dear.\n${more}`);
      const made = ask([told('Is zinc dear at Tarvo today?'), ...result], [LOOK_UP]);
      expect(made.text).toMatch(/^Zinc at Tarvo is dear\./);
      expect(made.text).toContain(more);
    }
  });

  it('CHK-06 a quoted call keeps its name only', () => {
    const made = ask(
      [asked, ...first('The zinc price at Tarvo: read({"path":"tarvo/{zinc}.md"}) tells 41.')],
      [READ],
    );
    expect(made.text).toContain('read(…) tells 41');
  });

  it('CHK-06 no block of a quoted text is opened', () => {
    const made = ask(
      [told('What is the zinc price card?'), ...exchange('1', 'grep', {}, '```card zinc price')],
      [],
    );
    expect(made.text).not.toMatch(/^ {0,3}```/m);
  });

  it('CHK-07 a quoted promise is not the end', () => {
    expect(ask([told('Tomorrow I will weigh the zinc at Tarvo.')]).text).toMatch(/That is what it says\.$/);
    expect(ask([told('Zinc is weighed at Tarvo.')]).text).toBe('Noted: Zinc is weighed at Tarvo.');
  });

  it('CHK-05 the same words for another question are marked; for the same question they stand', () => {
    const again = ask([...HISTORY, told('How many marks is the zinc price at Tarvo?')]).text;
    expect(again).toBe('As said before: The zinc price at Tarvo is 4127 marks.');
    expect(ask([...HISTORY, told('what is the zinc price at tarvo')]).text).not.toContain('As said before');
  });

  it('CHK-05 an answer that came back as a repetition is marked, though what it repeats left the request', () => {
    const question = [
      told('What does prices.md say?'),
      ...exchange('1', 'read', { path: 'prices.md' }, 'Zinc: 41.'),
    ];
    const once = ask(question, [READ]).text;
    const back = (turn: number) => told(WORDING_EN.nudges.drift.replace('{turn}', String(turn)));
    expect(ask([...question, back(2)], [READ]).text).toBe(`As said before: ${once}`);
    expect(ask([...question, back(2), back(2)], [READ]).text).toBe(`As said 2 times before: ${once}`);
  });

  it('CHK-07 what is to be verified is looked at, though it was said before', () => {
    expect(names(ask([...HISTORY, told('Verify the zinc price at Tarvo.')], [GREP]))).toEqual(['grep']);
    expect(ask([...HISTORY, told('What is the zinc price at Tarvo?')], [GREP]).calls).toEqual([]);
  });

  it('CHK-04 an address is never cut in the middle', () => {
    const address = `https://metals.tarvo.example/${'z'.repeat(60)}`;
    const line = `Zinc at Tarvo costs 41 marks, ${'as they say in the hills, '.repeat(6)} see ${address}`;
    const made = ask(
      [told('Show the zinc at Tarvo as a research card.'), ...exchange('1', 'look_up', { query: 'z' }, line)],
      [LOOK_UP, RESEARCH],
    );
    expect(names(made)).toEqual(['emit_research_card']);
    const urls = JSON.stringify(made.calls).match(/https?:[^"\s]*/g) ?? [];
    expect(urls.filter((url) => url !== address)).toEqual([]);
  });
});

describe('tools that are listed and not offered', () => {
  it('are found by words of their line, and called once they are offered', () => {
    const directive = told('How many fathoms is a length of 40 cubits?');
    const first = ask([directive], [GREP, FIND_TOOLS], { system: MORE_TOOLS });
    expect(first.calls).toEqual([{ name: 'find_tools', args: { query: 'fathoms length cubits' } }]);
    const convert = {
      name: 'convert_units',
      description: 'Converts a length between cubits and fathoms.',
      inputSchema: { type: 'object', properties: { length: { type: 'string' } }, required: ['length'] },
    } as const;
    const brought = exchange(
      '1',
      'find_tools',
      first.calls[0]?.args ?? {},
      `convert_units: ${convert.description}`,
    );
    const second = ask([directive, ...brought], [GREP, FIND_TOOLS, convert], { system: MORE_TOOLS });
    expect(names(second)).toEqual(['convert_units']);
    const without = ask([directive, ...brought], [FIND_TOOLS], { system: MORE_TOOLS });
    expect(names(without)).not.toContain('find_tools');
  });

  it('are not looked for when an offered tool fits, when no line fits, and without a tool that finds', () => {
    const asked = told('In stores.md, how many sacks are left?');
    expect(names(ask([asked], [READ, FIND_TOOLS], { system: MORE_TOOLS }))).toEqual(['read']);
    expect(
      names(ask([told('Who built the old bridge?')], [GREP, FIND_TOOLS], { system: MORE_TOOLS })),
    ).toEqual(['grep']);
    const convert = told('How many fathoms is a length of 40 cubits?');
    expect(names(ask([convert], [GREP], { system: MORE_TOOLS }))).toEqual(['grep']);
  });

  it('CHK-06 hold the tool of a form that is asked for', () => {
    const show = told('Show the zinc price at Tarvo as a metric card.');
    const made = ask([...HISTORY, show], [FIND_TOOLS], { system: MORE_TOOLS });
    expect(made.calls).toEqual([{ name: 'find_tools', args: { query: 'emit metric card' } }]);
    expect(names(ask([...HISTORY, show], [FIND_TOOLS, METRIC], { system: MORE_TOOLS }))).toEqual([
      'emit_metric_card',
    ]);
  });

  it('are no evidence, neither where they are listed nor where they were found', () => {
    const found = exchange('1', 'find_tools', { query: 'letter' }, 'send_letter: Sends a letter. 1 is new.');
    const made = ask([told('What does the letter send?'), ...found], [FIND_TOOLS], { system: MORE_TOOLS });
    expect(made.text).toMatch(/^I could not find that/);
  });
});

describe('a skill', () => {
  it.each([
    ['Audit the books with the ledger-audit skill.', 'ledger-audit'],
    ['Follow ledger audit for the books.', 'ledger-audit'],
    ['Use the brewing skill.', 'brewing'],
  ])('is loaded when it is asked for by name: %s', (directive, name) => {
    const made = ask([told(directive)], [GREP, ACTIVATE], { system: SKILLS });
    expect(made.calls).toEqual([{ name: 'activate_skill', args: { name } }]);
  });

  it('is not loaded for a word of its subject, nor twice, nor when its text is there', () => {
    const load = (directive: string, system = SKILLS) =>
      names(ask([told(directive)], [ACTIVATE], { system }));
    expect(load('With whom is brewing common?')).toEqual([]);
    expect(load('Use the brewing skill.', `${SKILLS}\n<skill name="brewing">\nBoil.\n</skill>`)).toEqual([]);
    const done = exchange('1', 'activate_skill', { name: 'brewing' }, 'It stands in the system text.');
    expect(ask([told('Use the brewing skill.'), ...done], [ACTIVATE], { system: SKILLS }).calls).toEqual([]);
  });
});

describe('a broker of servers', () => {
  it('is called when it is ordered by name, for the server that is named', () => {
    for (const server of ['harbour', 'granary']) {
      const made = ask([told(`Call mcp to list what ${server} offers.`)], [GREP, MCP], { system: SERVERS });
      expect(made.calls[0]).toMatchObject({ name: 'mcp', args: { action: 'list', server } });
    }
  });

  it('is not called for words of its description', () => {
    const made = ask([told('Which tools has the connected server harbour?')], [GREP, MCP], {
      system: SERVERS,
    });
    expect(names(made)).not.toContain('mcp');
  });
});

describe('a change', () => {
  it('CHK-07 is made by the tool that makes it, and not said to be made', () => {
    const made = ask([told('Write a note into the records on the subject of zinc.')], [READ, WRITE]);
    expect(names(made)).toEqual(['write_note']);
    expect(ask([told('Update the zinc price at Tarvo.')], [READ]).text).not.toMatch(/\bI have\b/);
  });
});
