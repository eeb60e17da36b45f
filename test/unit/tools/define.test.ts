import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { TurnwrightError } from '../../../src/ledger/errors.ts';
import { canonicalJson } from '../../../src/ledger/json.ts';
import { defineTool, definitionOf } from '../../../src/tools/define.ts';
import { contextIn } from './folder.ts';

const base = { name: 'order', description: 'Orders things.', run: async () => 'ordered' } as const;
const input = z.strictObject({
  item: z.string().min(1),
  count: z.int().min(1).max(9).default(1),
  size: z.enum(['small', 'large']).optional(),
  range: z.strictObject({ from: z.int(), to: z.int() }).optional(),
  tags: z.array(z.string()).max(2).optional(),
});

function messageOf(args: Parameters<ReturnType<typeof defineTool>['parse']>[0]): string {
  const parsed = defineTool({ ...base, input }).parse(args);
  return parsed.ok ? 'fits' : parsed.message;
}

describe('defineTool', () => {
  it('takes an undeclared tool for one that must never run twice, needs no approval and is not always loaded', () => {
    expect(defineTool({ ...base, input })).toMatchObject({
      effect: 'once',
      approval: false,
      alwaysLoaded: false,
      serves: [],
      timeoutMs: 60_000,
    });
  });

  it('keeps what was declared', () => {
    const declared = {
      serves: ['web'],
      alwaysLoaded: true,
      effect: 'read',
      approval: true,
      timeoutMs: 5,
    } as const;
    expect(defineTool({ ...base, input, ...declared })).toMatchObject(declared);
  });

  it('gives the JSON Schema a caller must fit, as plain data without noise', () => {
    const tool = defineTool({ ...base, input: z.object({ at: z.int(), limit: z.int().max(5).default(2) }) });
    expect(tool.inputSchema).toEqual({
      type: 'object',
      properties: { at: { type: 'integer' }, limit: { type: 'integer', maximum: 5, default: 2 } },
      required: ['at'],
    });
    expect(canonicalJson(definitionOf(tool))).toContain('"name":"order"');
  });

  it('fills defaults into arguments that fit', () => {
    expect(defineTool({ ...base, input }).parse({ item: 'nail' })).toEqual({
      ok: true,
      args: { item: 'nail', count: 1 },
    });
  });

  it('names each property that does not fit, what was found and what is allowed', () => {
    const args = { item: '', count: 12, size: 'huge', range: { from: 'a' }, tags: ['a', 1], color: 'red' };
    expect(messageOf(args).split('\n')).toEqual([
      'The arguments of order do not fit:',
      '- item: found ""; allowed is a string of at least 1 characters.',
      '- count: found 12; allowed is a whole number from 1 to 9.',
      '- size: found "huge"; allowed is one of "small", "large".',
      '- range.from: found "a"; allowed is a whole number.',
      '- range.to: found nothing; allowed is a whole number.',
      '- tags[1]: found 1; allowed is a string.',
      '- color: no such property; the properties are item, count, size, range, tags.',
      'Correct them and call order again.',
    ]);
  });

  it('explains arguments that are no object', () => {
    for (const args of [null, 'text', [1]]) {
      expect(messageOf(args)).toContain(
        `- the arguments: found ${JSON.stringify(args)}; allowed is an object with the properties item, count`,
      );
    }
  });

  it('says what a rule of the tool itself says', () => {
    const tool = defineTool({
      ...base,
      input: z.object({ day: z.string().refine((day) => day !== 'never', 'a day that comes') }),
    });
    expect(tool.parse({ day: 'never' })).toMatchObject({
      message: expect.stringContaining('allowed is a day that comes'),
    });
  });

  it('keeps every message within 1,000 characters and counts what it left out', () => {
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`extra${index}`, index]));
    const message = messageOf({ item: 'x', ...many });
    expect(message.length).toBeLessThanOrEqual(1_000);
    const listed = message.split('\n').filter((line) => line.startsWith('- extra')).length;
    expect(listed).toBeGreaterThan(0);
    expect(message).toContain(`- and ${100 - listed} more.`);
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.string({ maxLength: 3_000 }), (value, key) => {
        for (const args of [value, { [key]: value }, { item: value, range: { from: key } }]) {
          expect(messageOf(args as Parameters<typeof messageOf>[0]).length).toBeLessThanOrEqual(1_000);
        }
      }),
    );
  });

  it('refuses a declaration that cannot work, and says why', () => {
    const defining = (spec: object) => () => defineTool({ ...base, input, ...spec });
    expect(defining({ name: 'two words' })).toThrow(/"two words" cannot be defined: name must be/);
    expect(defining({ description: ' ' })).toThrow(/description is empty/);
    expect(defining({ serves: ['kitchen'] })).toThrow(/serves holds "kitchen"; the domains are filesystem/);
    expect(defining({ effect: 'twice' })).toThrow(/effect is "twice"; it may be once, idempotent, read/);
    expect(defining({ timeoutMs: 0 })).toThrow(/timeoutMs is 0/);
    expect(defining({ input: z.object({ on: z.date() }) })).toThrow(/plain JSON values: Date cannot/);
    expect(defining({ input: z.object({ n: z.string().transform(Number) }) })).toThrow(TurnwrightError);
  });

  it('takes a text for a success and an output as it is', async () => {
    const context = contextIn('/');
    expect(await defineTool({ ...base, input }).run({}, context)).toEqual({
      content: 'ordered',
      isError: false,
    });
    const failing = defineTool({ ...base, input, run: async () => ({ content: 'sold out', isError: true }) });
    expect(await failing.run({}, context)).toEqual({ content: 'sold out', isError: true });
  });
});
