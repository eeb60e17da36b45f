import { describe, expect, it } from 'vitest';
import { transcriptTool } from '../../../src/tools/builtins/transcript.ts';
import type { SessionTranscript } from '../../../src/tools/contract.ts';
import { createToolSurface, loadedTools, waitingTools } from '../../../src/tools/surface.ts';
import { contextIn, memoryOf, textOf } from './folder.ts';

const SOME = { earlier: [], domains: [], cards: [] };

/** What was asked of the transcript, as it was asked. */
function asking() {
  const asked: unknown[] = [];
  const transcript: SessionTranscript = {
    index: async (page) => noted(['index', page]),
    read: async (items) => noted(['read', items]),
    grep: async ({ pattern, items }, { deadlineMs, signal }) =>
      noted(['grep', { pattern, items }, deadlineMs, signal.aborted]),
  };
  const noted = (call: unknown) => {
    asked.push(call);
    return { content: 'found', isError: false };
  };
  const call = (args: Parameters<typeof transcriptTool.parse>[0]) =>
    textOf(transcriptTool, args, contextIn('/nowhere', { memory: memoryOf({ transcript }) }));
  return { asked, call };
}

describe('the transcript tool', () => {
  it('DOR-01 asks for a page, for items, for lines of all or of named items', async () => {
    const { asked, call } = asking();
    for (const args of [
      { op: 'index' },
      { op: 'index', after: 500, limit: 20 },
      { op: 'index', limit: 9_000 },
      { op: 'read', items: [3, 1] },
      { op: 'grep', pattern: 'oil' },
      { op: 'grep', pattern: 'oil', items: 'all' },
      { op: 'grep', pattern: 'oil', items: [] },
      { op: 'grep', pattern: 'oil', items: [2] },
    ])
      expect(await call(args)).toBe('found');
    expect(asked).toEqual([
      ['index', { op: 'index', after: 0, limit: 500 }],
      ['index', { op: 'index', after: 500, limit: 20 }],
      ['index', { op: 'index', after: 0, limit: 500 }],
      ['read', [3, 1]],
      ['grep', { pattern: 'oil', items: null }, 55_000, false],
      ['grep', { pattern: 'oil', items: null }, 55_000, false],
      ['grep', { pattern: 'oil', items: [] }, 55_000, false],
      ['grep', { pattern: 'oil', items: [2] }, 55_000, false],
    ]);
    expect(55_000).toBeLessThan(transcriptTool.timeoutMs);
  });

  it.each([
    [
      { op: 'grep', pattern: 'oil', item: [2] },
      'There is no field "item" in op grep, whose fields are op, pattern, items',
    ],
    [{ op: 'grep', pattern: 'oil', Items: null }, 'There is no field "Items"'],
    [
      { op: 'grep', pattern: 'oil', items: null },
      'items must be a list of numbers, such as [12,13], and is null',
    ],
    [{ op: 'grep', pattern: 'oil', items: '2' }, 'and is "2"'],
    [{ op: 'grep', pattern: 'oil', items: ['2'] }, 'holds "2"'],
    [{ op: 'grep', pattern: 'oil', items: [1.5] }, 'holds 1.5'],
    [{ op: 'grep', pattern: 'oil', after: 4 }, 'There is no field "after" in op grep'],
    [{ op: 'grep' }, 'Missing: pattern'],
    [{ op: 'grep', pattern: '' }, 'pattern must be a text to search for, and is ""'],
    [{ op: 'read' }, 'Missing: items'],
    [
      { op: 'read', items: [2], pattern: 'oil' },
      'There is no field "pattern" in op read, whose fields are op, items',
    ],
    [{ op: 'read', items: Array.from({ length: 1_001 }, (_, at) => at) }, 'items names 1001; at most 1000'],
    [{ op: 'index', items: [2] }, 'There is no field "items" in op index, whose fields are op, after, limit'],
    [{ op: 'index', after: 'x' }, 'after must be the number of an item, and is "x"'],
    [{ op: 'index', limit: 0 }, 'limit must be a number of items, and is 0'],
    [{ op: 'list' }, 'There is no op "list"'],
    [{}, 'Missing: op'],
    [[], 'takes an object'],
  ])('DOR-01 fault 12: %j is refused with what it takes, and nothing is searched', async (args, words) => {
    const { asked, call } = asking();
    const answer = await call(args);
    expect(answer).toContain('error: ');
    expect(answer).toContain(words);
    expect(answer).toContain('{"op":"grep","pattern":"words","items":[12,13]}');
    expect(asked).toEqual([]);
  });

  it('takes blanks in what another op is asked by for absent', async () => {
    const { asked, call } = asking();
    expect(await call({ op: 'read', items: [2], pattern: '', after: null })).toBe('found');
    expect(await call({ op: 'index', items: null, after: null, limit: null })).toBe('found');
    expect(asked).toEqual([
      ['read', [2]],
      ['index', { op: 'index', after: 0, limit: 500 }],
    ]);
  });

  it('shows a wrong value of any size in a few words', async () => {
    const { call } = asking();
    const answer = await call({ op: 'x'.repeat(5_000_000), ['y'.repeat(5_000_000)]: 1 });
    expect(answer.length).toBeLessThan(1_000);
  });

  it('EVT-05 waits to be asked for, except where items leave the requests', () => {
    const surface = createToolSurface([transcriptTool]);
    const terms = { tools: null, all: false, evicts: false, delegates: false };
    const names = (evicts: boolean) =>
      loadedTools(surface.all(), { ...terms, evicts }, SOME).map(({ name }) => name);
    expect([names(false), names(true)]).toEqual([[], ['transcript']]);
    expect(waitingTools(surface.all(), terms)).toHaveLength(1);
    expect(transcriptTool.traitsOf({}).effect).toBe('read');
    expect(transcriptTool.traitsOf({}).observes).toBe(false);
  });
});
