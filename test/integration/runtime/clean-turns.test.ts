/** 500 turns of a model that does nothing wrong, of every kind a person asks for: no check has anything to say. */
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../../src/tools/define.ts';
import { openTestStack, type TestStack } from '../../support/stack.ts';
import { SOUND, writeNote } from './checks-stack.ts';

const SESSIONS = 25;
const TURNS = 20;
/** Sessions at a time: more would only wait for the two cores. */
const AT_ONCE = 6;
const LIMIT_MS = 240_000;
/** Another seed asks other things of the same kinds. */
const SEED = Number(process.env.TURNWRIGHT_CLEAN_SEED ?? 4);
const LOG_LINES = 120;

interface Subject {
  readonly thing: string;
  readonly trait: string;
  readonly file: string;
  readonly value: number;
}

type Ask = (one: Subject, other: Subject) => string;

const KINDS = {
  'small talk': () => 'Good morning to you.',
  thanks: () => 'Thank you, that will do for now.',
  told: ({ thing, trait, value }) => `The ${trait} of ${thing} is ${value}.`,
  promised: ({ thing }) => `Tomorrow I will look at ${thing} once more.`,
  'of a file': ({ thing, trait, file }) => `In ${file}, what is the ${trait} of ${thing}?`,
  'of two files': (one, other) =>
    `What do ${one.file} and ${other.file} say of ${one.thing} and ${other.thing}?`,
  'of no file that is there': ({ thing, trait }) => `In lost-${thing}.md, what is the ${trait} of ${thing}?`,
  'whole file': ({ file }) => `Summarise ${file} in two sentences.`,
  'a follow-up': ({ trait }) => `And how is its ${trait} written?`,
  'the same again': ({ thing, trait, file }) => `In ${file}, what is the ${trait} of ${thing}?`,
  'as of now': ({ thing, trait }) => `What is the current ${trait} of ${thing}?`,
  'as of now, in other words': ({ thing, trait }) => `Tell me the ${trait} of ${thing} right now.`,
  'here and now': ({ thing }) => `Which file in the current directory speaks of ${thing}?`,
  'names of files': () => 'Which files are in the folder?',
  'of the past': ({ thing, trait }) => `What did you say of the ${trait} of ${thing} before?`,
  'as a card': ({ thing, trait, file }) => `Show the ${trait} of ${thing} in ${file} as a metric card.`,
  'as a card, as of now': ({ thing, trait }) => `Show the latest ${trait} of ${thing} as a metric card.`,
  'as a table': ({ thing, trait, file }) => `Show the ${trait} of ${thing} in ${file} as a table.`,
  'as a checklist': ({ thing, trait }) => `Make a checklist: weigh ${thing}; write the ${trait} down.`,
  'to be verified': ({ thing, trait, file }) => `Check whether ${file} states the ${trait} of ${thing}.`,
  'to be written': ({ thing, trait }) => `Write a short paragraph on the ${trait} of ${thing}.`,
  'to be noted': ({ thing, trait }) => `Update the note on the ${trait} of ${thing}.`,
  'a long text': (one) => `${logOf(one)}\n\nWhich line of this speaks of ${one.thing}?`,
  'a long text alone': (one) => logOf(one),
  'about calls': ({ file }) => `Which lines does ${file} hold about the calls?`,
} as const satisfies Readonly<Record<string, Ask>>;
type Kind = keyof typeof KINDS;
const NAMES = Object.keys(KINDS) as readonly Kind[];

/** null loads tools as they are needed; others have all they name. */
const TOOLSETS: readonly (readonly string[] | null)[] = [
  null,
  ['read', 'grep', 'glob', 'recall', 'look_up', 'write_note', 'emit_metric_card', 'emit_table_card'],
  ['read', 'grep', 'glob', 'recall', 'emit_metric_card', 'emit_checklist_card'],
  ['read', 'glob', 'look_up'],
  ['recall'],
];

const word = fc
  .array(fc.tuple(fc.constantFrom(...'bdfgklmnprtvz'), fc.constantFrom(...'aeiou')), {
    minLength: 3,
    maxLength: 3,
  })
  .map((pairs) => pairs.flat().join(''));
const subject = fc
  .record({
    words: fc.uniqueArray(word, { minLength: 3, maxLength: 3 }),
    value: fc.integer({ min: 1_000, max: 9_999 }),
  })
  .map(({ words: [thing = '', trait = '', file = ''], value }) => ({
    thing,
    trait,
    file: `${file}.md`,
    value,
  }));
const session = fc.record({
  subjects: fc.uniqueArray(subject, { minLength: 4, maxLength: 4, selector: ({ thing }) => thing }),
  turns: fc.array(
    fc.record({ kind: fc.constantFrom(...NAMES), one: fc.nat({ max: 3 }), other: fc.nat({ max: 3 }) }),
    { minLength: TURNS, maxLength: TURNS },
  ),
  tools: fc.constantFrom(...TOOLSETS),
});

function lineOf({ thing, trait, value }: Subject): string {
  return `The ${trait} of ${thing} is ${value}.`;
}

function logOf(one: Subject): string {
  return Array.from({ length: LOG_LINES }, (_, at) => {
    const said = at === LOG_LINES / 2 ? lineOf(one) : `the pump at gate ${at} ran for ${at * 7} minutes`;
    return `2026-01-02T03:${String(at % 60).padStart(2, '0')}:00Z INFO ${said}`;
  }).join('\n');
}

function fileOf(one: Subject): string {
  return [
    `# ${one.thing}`,
    '',
    lineOf(one),
    'It is written in four figures, and was weighed twice.',
    `read({"path":"${one.file}"}) is one of the calls.`,
    '',
  ].join('\n');
}

describe('turns in which nothing goes wrong', () => {
  const sessions = fc.sample(session, { numRuns: SESSIONS, seed: SEED });
  const subjects = sessions.flatMap((one) => one.subjects);
  let stack: TestStack;

  beforeAll(async () => {
    const lookUp = defineTool({
      name: 'look_up',
      description: 'Searches the web and returns what it says now.',
      input: z.strictObject({ query: z.string() }),
      serves: ['web', 'live-data'],
      effect: 'read',
      run: async ({ query }) => {
        const found = subjects.find(({ thing }) => query.includes(thing));
        if (found === undefined) return 'Nothing was found.';
        return `The ${found.trait} of ${found.thing} is ${found.value + 1}.\nhttps://${found.thing}.example/${found.trait}`;
      },
    });
    stack = await openTestStack({
      backend: 'postgres',
      models: [SOUND],
      tools: [lookUp, writeNote],
      files: Object.fromEntries(subjects.map((one) => [one.file, fileOf(one)])),
    });
    await stack.worker();
  });
  afterAll(() => stack.close());

  it('CHK-01 to CHK-08: no check fires over 500 of them', { timeout: LIMIT_MS }, async () => {
    const counts = new Map<Kind, number>(NAMES.map((name) => [name, 0]));
    const found: string[] = [];
    let steps = 0;
    const run = async (at: number): Promise<void> => {
      const given = sessions[at];
      if (given === undefined) return;
      const ref = await stack.session({ model: SOUND.name, tools: given.tools });
      let asked = '';
      for (const { kind, one, other } of given.turns) {
        const [first, second] = [given.subjects[one], given.subjects[other]];
        if (first === undefined || second === undefined) throw new Error('a subject is missing');
        const ask: Ask = KINDS[kind];
        asked = kind === 'the same again' && asked !== '' ? asked : ask(first, second);
        const end = await stack.ask(ref, asked);
        counts.set(kind, (counts.get(kind) ?? 0) + 1);
        steps += end.steps;
        const records = await stack.records(ref, end.turn);
        const faults = records.flatMap(({ kind: of, data }) => {
          if (of === 'check-fired' || of === 'nudge' || of === 'statement')
            return [`${of} ${String(data.check)}`];
          return of === 'tool-result' && data.status === 'withheld' ? ['withheld'] : [];
        });
        if (faults.length > 0 || end.outcome !== 'completed')
          found.push(
            `${kind} [${String(given.tools)}] ${asked.slice(-120)} → ${end.outcome} ${end.answer}: ${faults.join(', ')}`,
          );
      }
    };
    const waiting = sessions.map((_, at) => at);
    const drain = async (): Promise<void> => {
      for (let at = waiting.shift(); at !== undefined; at = waiting.shift()) await run(at);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, drain));
    const turns = [...counts.values()].reduce((sum, count) => sum + count, 0);
    console.log(
      `clean turns: ${turns} turns, ${steps} steps, ${stack.sim.calls().length} calls; ${[...counts].map(([name, count]) => `${name} ${count}`).join(', ')}`,
    );
    expect(found).toEqual([]);
    expect(turns).toBe(SESSIONS * TURNS);
    for (const [name, count] of counts) expect(count, name).toBeGreaterThan(turns / 100);
  });
});
