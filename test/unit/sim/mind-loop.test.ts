import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatMessage, ToolDefinition } from '../../../src/context/request.ts';
import type { Json } from '../../../src/ledger/json.ts';
import { type MindInput, think } from '../../../src/sim/mind/mind.ts';

/** A folder as the tools see it: path to text. */
type Folder = ReadonlyMap<string, string>;

const READ_ONE: ToolDefinition = {
  name: 'open_document',
  description: 'Returns the contents of one file.',
  inputSchema: {
    type: 'object',
    properties: { path: { type: 'string', description: 'Path of the file, relative to the root.' } },
    required: ['path'],
  },
};
const LIST: ToolDefinition = {
  name: 'locate',
  description: 'Lists the paths of files whose names match a glob pattern.',
  inputSchema: {
    type: 'object',
    properties: { pattern: { type: 'string', description: 'Glob pattern for file names.' } },
    required: ['pattern'],
  },
};
const SEARCH: ToolDefinition = {
  name: 'find_text',
  description: 'Searches the contents of files for a regular expression; returns path:line: text.',
  inputSchema: {
    type: 'object',
    properties: { pattern: { type: 'string', description: 'Regular expression to look for in the lines.' } },
    required: ['pattern'],
  },
};
const ALL = [READ_ONE, LIST, SEARCH];

function execute(name: string, args: Json, folder: Folder): string {
  const value = String(Object.values(args as Record<string, Json>)[0]);
  if (name === READ_ONE.name) return folder.get(value) ?? `Error: no file ${value}`;
  if (name === LIST.name) {
    const suffix = value.replace(/^.*\*/, '');
    const found = [...folder.keys()].filter((path) => path.endsWith(suffix));
    return found.length === 0 ? 'No file matches.' : found.join('\n');
  }
  const pattern = new RegExp(value);
  const hits = [...folder].flatMap(([path, text]) =>
    text.split('\n').flatMap((line, at) => (pattern.test(line) ? [`${path}:${at + 1}: ${line}`] : [])),
  );
  return hits.length === 0 ? 'No line matches.' : hits.join('\n');
}

interface Run {
  readonly answer: string;
  readonly steps: number;
  readonly calls: readonly string[];
  readonly messages: readonly ChatMessage[];
}

function input(messages: readonly ChatMessage[], tools: readonly ToolDefinition[]): MindInput {
  return {
    prompt: { system: ['You work on files.'], tools, messages },
    key: String(messages.length),
    seed: 1,
    beyondHorizon: false,
    toolChoice: { kind: 'auto' },
    parallelCalls: true,
    thinksAloud: false,
    habits: {},
  };
}

/** Drives one directive to its answer as a caller would. */
function ask(
  directive: string,
  folder: Folder,
  tools: readonly ToolDefinition[],
  before: readonly ChatMessage[] = [],
): Run {
  const messages: ChatMessage[] = [...before, { role: 'user', content: [{ type: 'text', text: directive }] }];
  const calls: string[] = [];
  for (let steps = 0; ; steps += 1) {
    const reply = think(input(messages, tools));
    if (reply.calls.length === 0 || steps > 6) {
      messages.push({ role: 'assistant', content: [{ type: 'text', text: reply.text }] });
      return { answer: reply.text, steps, calls, messages };
    }
    const made = reply.calls.map((call, index) => {
      calls.push(`${call.name} ${call.argsText}`);
      return { id: `${messages.length}-${index}`, name: call.name, args: JSON.parse(call.argsText) as Json };
    });
    messages.push({
      role: 'assistant',
      content: made.map((call) => ({ type: 'tool_call' as const, ...call })),
    });
    messages.push({
      role: 'user',
      content: made.map((call) => ({
        type: 'tool_result' as const,
        callId: call.id,
        name: call.name,
        content: execute(call.name, call.args, folder),
        isError: false,
      })),
    });
  }
}

/** Made-up words: consonant and vowel pairs, so that none is an English function word. */
const word = fc
  .array(fc.tuple(fc.constantFrom(...'bdfgklmnprstvz'), fc.constantFrom(...'aeiou')), {
    minLength: 3,
    maxLength: 3,
  })
  .map((pairs) => pairs.flat().join(''));
const WORDS_PER_FACT = 4;
const FILLER_WORDS = 12;
const MAX_FACTS = 7;

/** Facts about distinct subjects in distinct files, and filler that uses none of their words. */
const facts = fc
  .record({
    words: fc.uniqueArray(word, {
      minLength: MAX_FACTS * WORDS_PER_FACT + FILLER_WORDS,
      maxLength: MAX_FACTS * WORDS_PER_FACT + FILLER_WORDS,
    }),
    values: fc.uniqueArray(fc.integer({ min: 100_000, max: 999_999 }), {
      minLength: 3,
      maxLength: MAX_FACTS,
    }),
    extensions: fc.array(fc.constantFrom('md', 'txt', 'cfg'), { minLength: MAX_FACTS, maxLength: MAX_FACTS }),
    nested: fc.array(fc.boolean(), { minLength: MAX_FACTS, maxLength: MAX_FACTS }),
    lines: fc.integer({ min: 3, max: 60 }),
  })
  .map(({ words, values, extensions, nested, lines }) =>
    values.map((value, index) => {
      const [file = '', folder = '', subject = '', trait = ''] = words.slice(index * WORDS_PER_FACT);
      const spare = words.slice(MAX_FACTS * WORDS_PER_FACT);
      return {
        file: `${file}.${extensions[index]}`,
        folder: nested[index] ? folder : null,
        subject,
        trait,
        value,
        filler: Array.from({ length: lines }, (_, at) => spare[(at * 5 + index) % spare.length] ?? ''),
      };
    }),
  );

interface Fact {
  readonly file: string;
  readonly folder: string | null;
  readonly subject: string;
  readonly trait: string;
  readonly value: number;
  readonly filler: readonly string[];
}

function pathOf(one: Fact): string {
  return one.folder === null ? one.file : `${one.folder}/${one.file}`;
}

function factLine(one: Fact): string {
  return `The ${one.trait} of ${one.subject} is ${one.value}.`;
}

function folderOf(all: readonly Fact[], planted: boolean): Folder {
  return new Map(
    all.map((one, index) => {
      const filler = one.filler.map((_, at) => `Line on ${one.filler.slice(at, at + 4).join(' ')}.`);
      const lines = [`# ${one.filler[0]}`, ...filler];
      if (planted || index > 0) lines.splice(Math.floor(lines.length / 2), 0, factLine(one));
      return [pathOf(one), lines.join('\n')];
    }),
  );
}

const RUNS = { numRuns: 150 };

describe('the mind on a folder it has never seen', () => {
  it('answers a planted fact when the directive names the file, after reading that file', () => {
    fc.assert(
      fc.property(facts, (all) => {
        const [target] = all;
        if (target === undefined) return;
        const run = ask(
          `In ${pathOf(target)}, what is the ${target.trait} of ${target.subject}?`,
          folderOf(all, true),
          ALL,
        );
        expect(run.answer).toContain(String(target.value));
        expect(run.answer).toContain(target.file);
        expect(run.calls).toEqual([`open_document ${JSON.stringify({ path: pathOf(target) })}`]);
      }),
      RUNS,
    );
  });

  it('answers a planted fact when the directive names no file, by searching', () => {
    fc.assert(
      fc.property(facts, (all) => {
        const [target] = all;
        if (target === undefined) return;
        const run = ask(`What is the ${target.trait} of ${target.subject}?`, folderOf(all, true), ALL);
        expect(run.answer).toContain(String(target.value));
        expect(run.steps).toBeLessThanOrEqual(4);
        expect(new Set(run.calls).size).toBe(run.calls.length);
      }),
      RUNS,
    );
  });

  it('finds the fact with a listing and a reader alone when few files are there', () => {
    fc.assert(
      fc.property(facts, (all) => {
        const few = all.slice(0, 3);
        const [target] = few;
        if (target === undefined) return;
        const run = ask(`What is the ${target.trait} of ${target.subject}?`, folderOf(few, true), [
          READ_ONE,
          LIST,
        ]);
        expect(run.answer).toContain(String(target.value));
      }),
      RUNS,
    );
  });

  it('does not answer a fact that no result brought, and says so or quotes something else', () => {
    fc.assert(
      fc.property(facts, fc.boolean(), (all, named) => {
        const [target] = all;
        if (target === undefined) return;
        const where = named ? `In ${pathOf(target)}, what` : 'What';
        const run = ask(`${where} is the ${target.trait} of ${target.subject}?`, folderOf(all, false), ALL);
        expect(run.answer).not.toContain(String(target.value));
        expect(run.answer).toMatch(/could not find/);
        expect(run.steps).toBeLessThanOrEqual(4);
      }),
      RUNS,
    );
  });

  it('answers a follow-up from text already visible without any call', () => {
    fc.assert(
      fc.property(facts, (all) => {
        const [first, second] = all;
        if (first === undefined || second === undefined) return;
        const folder = new Map([[pathOf(first), `${factLine(first)}\n${factLine(second)}`]]);
        const opening = ask(
          `In ${pathOf(first)}, what is the ${first.trait} of ${first.subject}?`,
          folder,
          ALL,
        );
        const run = ask(
          `And what is the ${second.trait} of ${second.subject}?`,
          folder,
          ALL,
          opening.messages,
        );
        expect(run.calls).toEqual([]);
        expect(run.answer).toContain(String(second.value));
      }),
      RUNS,
    );
  });

  it('reads several named files in one step and answers from each', () => {
    fc.assert(
      fc.property(facts, (all) => {
        const [first, second] = all;
        if (first === undefined || second === undefined) return;
        const run = ask(
          `Compare ${first.subject} in ${pathOf(first)} with ${second.subject} in ${pathOf(second)}.`,
          folderOf(all, true),
          ALL,
        );
        expect(run.steps).toBe(1);
        expect(run.calls).toHaveLength(2);
        expect(run.answer).toContain(String(first.value));
        expect(run.answer).toContain(String(second.value));
      }),
      RUNS,
    );
  });

  it('lists file names by the glob that the directive holds', () => {
    fc.assert(
      fc.property(facts, (all) => {
        const run = ask('List all *.md files.', folderOf(all, true), ALL);
        expect(run.calls).toEqual(['locate {"pattern":"*.md"}']);
        for (const one of all) expect(run.answer.includes(pathOf(one))).toBe(one.file.endsWith('.md'));
      }),
      RUNS,
    );
  });

  it('looks for a file by its name when the given path does not exist', () => {
    fc.assert(
      fc.property(facts, (all) => {
        const [target] = all;
        if (target === undefined) return;
        const moved = new Map([[`moved/${target.file}`, factLine(target)]]);
        const run = ask(`In ${target.file}, what is the ${target.trait} of ${target.subject}?`, moved, ALL);
        expect(run.answer).toContain(String(target.value));
        expect(run.steps).toBe(3);
      }),
      RUNS,
    );
  });

  it('gives the same reply to the same request', () => {
    fc.assert(
      fc.property(facts, (all) => {
        const [target] = all;
        if (target === undefined) return;
        const question = `What is the ${target.trait} of ${target.subject}?`;
        const folder = folderOf(all, true);
        expect(ask(question, folder, ALL)).toEqual(ask(question, folder, ALL));
      }),
      { numRuns: 30 },
    );
  });
});
