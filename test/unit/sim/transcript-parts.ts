/** A transcript of made-up facts, the request that is left of it, and the tools that look after both. */
import fc from 'fast-check';
import { residueText } from '../../../src/context/evict/residue.ts';
import type { ChatMessage, ToolDefinition } from '../../../src/context/request.ts';
import type { Json, JsonObject } from '../../../src/ledger/json.ts';
import { answered, ask, exchange, type Overrides, type Replied, told } from './prompt-parts.ts';

const integer = { type: 'integer' } as const;
const items = { type: 'array', items: integer } as const;

function op(name: string, properties: JsonObject): JsonObject {
  return {
    type: 'object',
    properties: { op: { type: 'string', const: name }, ...properties },
    required: ['op', ...Object.keys(properties).filter((one) => one !== 'note')],
    additionalProperties: false,
  };
}

/** Its schema lists alternatives; `FLAT_TRANSCRIPT` lists members, as a wire may demand it. */
export const TRANSCRIPT: ToolDefinition = {
  name: 'transcript',
  description:
    'Reads the transcript of this conversation: lists its items, returns them, or searches their text.',
  inputSchema: {
    type: 'object',
    anyOf: [
      op('index', {}),
      op('read', { items }),
      op('grep', { pattern: { type: 'string' }, items: { anyOf: [{ const: 'all' }, items] } }),
    ],
  },
};
export const FLAT_TRANSCRIPT: ToolDefinition = {
  ...TRANSCRIPT,
  inputSchema: {
    type: 'object',
    properties: {
      op: { type: 'string', enum: ['index', 'read', 'grep'] },
      items: { anyOf: [{ const: 'all' }, items] },
      pattern: { type: 'string', description: 'RE2 pattern, matched against each line.' },
    },
    required: ['op'],
  },
};
export const CONTEXT: ToolDefinition = {
  name: 'context',
  description: 'Shows what the requests carry, or takes a span of items out of them.',
  inputSchema: {
    type: 'object',
    anyOf: [op('survey', {}), op('evict', { from: integer, to: integer, note: { type: 'string' } })],
  },
};
export const RECALL: ToolDefinition = {
  name: 'recall',
  description: 'Returns a stored result by its evidence id, a turn by its number, or what matches a query.',
  inputSchema: {
    type: 'object',
    properties: { id: { type: 'string' }, turn: integer, query: { type: 'string' } },
  },
};

/** Consonant and vowel pairs, so that none is an English word. */
const word = fc
  .array(fc.tuple(fc.constantFrom(...'bdfgklmnprstvz'), fc.constantFrom(...'aeiou')), {
    minLength: 3,
    maxLength: 3,
  })
  .map((pairs) => pairs.flat().join(''));

export interface Fact {
  readonly subject: string;
  readonly trait: string;
  readonly value: number;
}

/** About distinct subjects, of few traits: a trait alone finds too much. */
export const facts: fc.Arbitrary<readonly Fact[]> = fc
  .record({
    subjects: fc.uniqueArray(word, { minLength: 10, maxLength: 10 }),
    values: fc.uniqueArray(fc.integer({ min: 100_000, max: 999_999 }), { minLength: 3, maxLength: 8 }),
  })
  .map(({ subjects, values }) =>
    values.map((value, at) => ({
      subject: subjects[at + 2] ?? '',
      trait: subjects[at % 2] ?? '',
      value,
    })),
  );

export const question = ({ trait, subject }: Fact): string => `What is the ${trait} of ${subject}?`;
export const statement = ({ trait, subject, value }: Fact): string =>
  `The ${trait} of ${subject} is ${value}.`;

export interface Recorded {
  readonly item: number;
  readonly role: 'user' | 'assistant';
  readonly text: string;
}

/** A question and its answer for each fact, numbered from 1. */
export function recorded(all: readonly Fact[]): readonly Recorded[] {
  return all.flatMap((fact, at): readonly Recorded[] => [
    { item: 2 * at + 1, role: 'user', text: question(fact) },
    { item: 2 * at + 2, role: 'assistant', text: statement(fact) },
  ]);
}

export type Form = 'data' | 'lines';

/** What the tool answers over so many items. Patterns are run as they are, save the flag that only RE2 knows. */
export function transcriptAnswer(all: readonly Recorded[], args: JsonObject, form: Form): string {
  if (args.op === 'read') {
    const wanted = all.filter(({ item }) => (args.items as readonly number[]).includes(item));
    if (form === 'lines')
      return wanted.map(({ item, role, text }) => `#${item}\n${role}: ${text}`).join('\n\n');
    return JSON.stringify(
      wanted.map(({ item, role, text }) => ({
        item,
        turn: 1,
        role,
        messages: [{ role, parts: [{ type: 'text', text }] }],
      })),
    );
  }
  const pattern = new RegExp(String(args.pattern).replace(/^\(\?i\)/u, ''), 'iu');
  const hits = all.filter(({ text }) => pattern.test(text)).slice(0, 100);
  if (form === 'lines')
    return hits.length === 0
      ? 'No line matches.'
      : hits.map(({ item, text }) => `#${item} ${text}`).join('\n');
  const found = hits.map(({ item, text }) => ({ item, turn: 1, message: 1, line: 1, text }));
  return JSON.stringify({ hits: found, total: found.length });
}

export interface Run {
  readonly answer: string;
  readonly calls: Replied['calls'];
}

/** Drives the last directive to its answer; `answer` is what each call returns. */
export function drive(
  before: readonly ChatMessage[],
  tools: readonly ToolDefinition[],
  answer: (name: string, args: JsonObject) => string | { readonly error: string },
  overrides: Overrides = {},
): Run {
  const messages = [...before];
  const calls: Replied['calls'][number][] = [];
  for (let step = 0; step < 9; step += 1) {
    const reply = ask(messages, tools, { key: String(step), ...overrides });
    const [call] = reply.calls;
    if (call === undefined) return { answer: reply.text, calls };
    calls.push(call);
    const given = answer(call.name, call.args);
    const [content, failed] = typeof given === 'string' ? [given, false] : [given.error, true];
    messages.push(...exchange(`c${step}`, call.name, call.args as Json, content, failed));
  }
  return { answer: '', calls };
}

/** The request in which items 1 to `to` have left their place to a residue. */
export function evictedUpTo(
  to: number,
  directive: string,
  note: string | null = null,
): readonly ChatMessage[] {
  return [
    told(residueText({ from: 1, to, note })),
    told('And good morning.'),
    answered('Good morning.'),
    told(directive),
  ];
}
