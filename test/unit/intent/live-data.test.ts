import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lexiconFor } from '../../../src/intent/lexicon/index.ts';
import { readsLiveData } from '../../../src/intent/live-data.ts';
import { readLexically } from '../../../src/intent/reading.ts';
import { ACTS } from '../../../src/ledger/reading.ts';

const LEXICON = lexiconFor(null);
const isLive = (text: string): boolean => readsLiveData(text, 'answer', LEXICON);

/** Said of the clause, behind it. */
const NOW = [
  'right now',
  'currently',
  'as of now',
  'as of today',
  'today',
  'tonight',
  'this morning',
  'this week',
  'at the moment',
];
const OUTSIDE = [
  'price of copper',
  'water level in Cologne',
  'exchange rate',
  'share of solar power',
  'top story',
];
const LOCAL = [
  'directory',
  'folder',
  'file',
  'branch',
  'commit',
  'workspace',
  'repository',
  'code',
  'page',
  'session',
  'plan',
  'config',
  'configuration',
  'build',
  'test',
  'server',
  'mode',
  'tasks',
  'inbox',
  'memory',
  'function',
  'class',
  'parser',
  'schema',
  'module',
];
const OTHER_TIMES = [
  'yesterday',
  'in 2019',
  'last year',
  'at the time',
  'back then',
  'tomorrow',
  'two years ago',
];

describe('the live-data signal', () => {
  it.each(['the current price of copper', 'the live score', 'what is the current top news in AI'])(
    'INT-01 CHK-03 hears it in "%s"',
    (directive) => {
      expect(readLexically(directive).domains).toContain('live-data');
    },
  );

  it.each([
    'the current directory',
    'refactor the current parser',
    'we live in the city',
    'what are you holding right now',
    'what is on the current branch',
    'what did you report in the latest summary',
  ])('INT-01 F30 does not hear it in "%s"', (directive) => {
    expect(readLexically(directive).domains).not.toContain('live-data');
  });

  it('INT-01 hears every way of saying now of something outside, unless another time is named', () => {
    const counts = { now: 0, otherTime: 0 };
    fc.assert(
      fc.property(
        fc.constantFrom(...OUTSIDE),
        fc.constantFrom(...NOW),
        fc.option(fc.constantFrom(...OTHER_TIMES)),
        (thing, now, otherTime) => {
          const said = [`what is the ${thing} ${now}`, `Tell me what the ${thing} is ${now}.`];
          for (const text of said) {
            if (otherTime === null) expect([text, isLive(text)]).toEqual([text, true]);
            else {
              const other = `${text.replace(/\.$/, '')} ${otherTime}`;
              expect([other, isLive(other)]).toEqual([other, false]);
            }
          }
          counts[otherTime === null ? 'now' : 'otherTime'] += 1;
        },
      ),
      { numRuns: 300 },
    );
    console.log('clauses generated', counts);
    for (const count of Object.values(counts)) expect(count).toBeGreaterThan(3);
  });

  it('INT-01 F30 hears none of what is at hand, wherever the noun stands', () => {
    for (const noun of LOCAL)
      for (const text of [
        `what is the current ${noun}`,
        `show me the latest ${noun}`,
        `what is in the ${noun} right now`,
        `which ${noun} is in use today`,
        `what is the status of the ${noun} today`,
        `how is the latest big ${noun} named`,
        `list the current members of the ${noun}`,
      ])
        expect([text, isLive(text)]).toEqual([text, false]);
  });

  it('INT-01 F30 hears none of what is the asker’s or the model’s own', () => {
    for (const text of [
      'what do you know right now',
      'what is your current aim',
      'which of our goals is the latest',
      'what is my current aim',
      'what have you done today',
      'what did I say this morning',
    ])
      expect([text, isLive(text)]).toEqual([text, false]);
    expect(isLive('can you tell me the current price of tin')).toBe(true);
    expect(isLive('what is the air quality in my town right now')).toBe(true);
  });

  it('INT-01 hears "live" as an adjective only', () => {
    for (const text of [
      'show me the live price',
      'live scores',
      'what is the live status of the ferry',
      'any live feed of the launch',
    ])
      expect([text, isLive(text)]).toEqual([text, true]);
    for (const text of [
      'we live in the city',
      'where do most people live',
      'which birds live longest',
      'I live next to the harbour',
      'how do cats live indoors',
      'how does one live well',
      'when does the site go live',
      'what is on the live page',
      'what does "live score" mean',
      'who sang "the current price of love"',
    ])
      expect([text, isLive(text)]).toEqual([text, false]);
  });

  it('INT-01 hears "current" before a noun only', () => {
    expect(isLive('how strong is the current in the channel')).toBe(false);
    expect(isLive('what is an electric current')).toBe(false);
    expect(isLive('how strong is the current wind')).toBe(true);
  });

  it('INT-01 takes versions of something outside for live, those of something at hand not', () => {
    expect(isLive('what is the latest version of Postgres')).toBe(true);
    expect(isLive('what is the latest Postgres version')).toBe(true);
    expect(isLive('what is the latest Visual Studio Code release')).toBe(true);
    expect(isLive('what is the current version of the schema')).toBe(false);
    expect(isLive('what is the current version')).toBe(false);
  });

  it('INT-01 gives each clause its own time', () => {
    expect(isLive('compare the price of tin today with the one last year')).toBe(true);
    expect(isLive('In 2019, what was the latest version of Postgres?')).toBe(false);
    expect(isLive('We met yesterday. What is the current price of tin?')).toBe(true);
    expect(isLive('what was the current price of tin, back then')).toBe(false);
  });

  it('INT-01 needs whole words: no signal is a part of a longer one', () => {
    for (const text of [
      'who plays the concurrent part',
      'what is a livery',
      'where is Todayville',
      'who knows the nowhere man',
    ])
      expect([text, isLive(text)]).toEqual([text, false]);
  });

  it('INT-01 changes the domains alone, never the evidence standard', () => {
    const reading = readLexically('what is the current price of copper');
    expect(reading.domains).toContain('live-data');
    expect(reading).not.toHaveProperty('evidence');
    expect(reading).not.toHaveProperty('stakes');
  });

  it('INT-01 counts for acts that seek a fact', () => {
    for (const act of ACTS)
      expect([act, readsLiveData('the price of copper right now', act, LEXICON)]).toEqual([
        act,
        ['answer', 'locate', 'analyze'].includes(act),
      ]);
  });
});
