import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { findToolsTool } from '../../../src/tools/builtins/find-tools.ts';
import { defineTool } from '../../../src/tools/define.ts';
import { searchTools } from '../../../src/tools/tool-search.ts';
import { Tally } from '../ledger/sample.ts';
import { contextIn } from './folder.ts';

function tool(name: string, description: string, input: z.ZodObject = z.object({})) {
  return defineTool({ name, description, input, run: async () => '' });
}

const HARBOUR = [
  tool('berth', 'Books a place.', z.object({ vessel: z.string() })),
  tool('berth_list', 'Names what is free.'),
  tool('crane', 'Lifts cargo out of a berth.'),
  tool('tide', 'Says when water is high.'),
];

function found(query: string, limit = 50, tools = HARBOUR): readonly string[] {
  return searchTools(tools, query, limit).map(({ name }) => name);
}

describe('a search for tools', () => {
  it('SUR-01 puts the exact name first, then names that hold the query, then what else speaks of it', () => {
    expect(found('berth')).toEqual(['berth', 'berth_list', 'crane']);
    expect(found('  BERTH ')).toEqual(['berth', 'berth_list', 'crane']);
  });

  it('SUR-01 weighs an exact name over a name that holds it, that over a phrase, and a phrase over its words', () => {
    const tools = [
      tool('z_berth', 'Books.'),
      tool('a_berth_z', 'Books.'),
      tool('list', 'Names each free mooring.'),
      tool('a_list', 'Names a mooring that is free.'),
    ];
    expect(found('z_berth', 50, tools)).toEqual(['z_berth', 'a_berth_z']);
    expect(found('berth', 50, [...tools, tool('a', 'Books a berth.')])).toEqual([
      'a_berth_z',
      'z_berth',
      'a',
    ]);
    expect(found('free mooring', 50, tools)).toEqual(['list', 'a_list']);
    expect(found('tide', 50, [tool('tide', 'Says.'), tool('a_tide', 'Says.')])).toEqual(['tide', 'a_tide']);
  });

  it('SUR-01 counts each word of the query once, wherever it stands', () => {
    expect(found('lift cargo')).toEqual(['crane']);
    expect(found('water cargo lifts')).toEqual(['crane', 'tide']);
    expect(found('water water cargo lifts')).toEqual(['crane', 'tide']);
  });

  it('SUR-01 knows the names of properties', () => {
    expect(found('vessel')).toEqual(['berth']);
  });

  it('SUR-01 orders ties by name, and finds no more than asked for', () => {
    const equal = ['c', 'a', 'b'].map((name) => tool(`${name}_boat`, 'Rows.'));
    expect(found('boat', 50, equal)).toEqual(['a_boat', 'b_boat', 'c_boat']);
    expect(found('boat', 2, equal)).toEqual(['a_boat', 'b_boat']);
  });

  it('SUR-01 finds nothing for words that stand nowhere, nor for none', () => {
    for (const query of ['zeppelin', '', '   ', '?!']) expect(found(query)).toEqual([]);
  });

  it('SUR-01 gives the same answer whatever order the tools came in', () => {
    const words = fc.constantFrom('berth', 'cargo', 'list', 'water', 'vessel', 'book', 'zeppelin', '');
    const tally = new Tally();
    fc.assert(
      fc.property(
        fc.array(words, { maxLength: 4 }).map((parts) => parts.join(' ')),
        fc.shuffledSubarray(HARBOUR, { minLength: HARBOUR.length }),
        (query, shuffled) => {
          const names = found(query, 50, shuffled);
          expect(names).toEqual(found(query));
          tally.count({ none: names.length === 0, one: names.length === 1, several: names.length > 1 });
        },
      ),
    );
    tally.report('searches for tools');
  });
});

describe('find_tools', () => {
  it('SUR-01 is part of every request, answered in place, and never a job', async () => {
    expect(findToolsTool).toMatchObject({
      name: 'find_tools',
      alwaysLoaded: true,
      inHop: true,
      effect: 'read',
    });
    expect(findToolsTool.traitsOf({ query: 'x' })).toEqual({
      effect: 'read',
      observes: false,
      retrieves: false,
    });
    await expect(findToolsTool.run({ query: 'x' }, contextIn('/'))).rejects.toThrow(/answered in place/);
  });

  it('takes a query, and a limit that a small model may leave blank', () => {
    expect(findToolsTool.parse({ query: 'x', limit: 0 })).toEqual({ ok: true, args: { query: 'x' } });
    expect(findToolsTool.parse({ query: 'x', limit: null })).toEqual({ ok: true, args: { query: 'x' } });
    expect(findToolsTool.parse({})).toMatchObject({ ok: false });
  });
});
