import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../../src/ledger/json.ts';
import { sessionSearchTool } from '../../../src/tools/builtins/session-search.ts';
import type { FoundInSessions, SessionMemory } from '../../../src/tools/contract.ts';
import { contextIn, memoryOf, textOf } from './folder.ts';

const elsewhere: FoundInSessions = {
  found: [
    { session: 's-b', number: 4, line: 'T4: where is the tide table?', closedAt: '2026-01-02T03:04:05.000Z' },
    { session: 's-a', number: 17, line: 'T4: was its name', closedAt: '2025-12-31T23:59:59.999Z' },
  ],
  searchedTurns: 512,
  complete: true,
};

function search(args: JsonObject, change: Partial<FoundInSessions> = {}): Promise<string> {
  const memory = memoryOf({ elsewhere: { ...elsewhere, ...change } });
  return textOf(sessionSearchTool, args, contextIn('/', { memory }));
}

describe('session_search', () => {
  it('SUR-04 lists turns of other sessions, one a line, with session, turn and date', async () => {
    const lines = (await search({ query: 'tide' })).split('\n');
    expect(lines.slice(0, 2)).toEqual([
      'session s-b T4 (2026-01-02): where is the tide table?',
      'session s-a T17 (2025-12-31): T4: was its name',
    ]);
    expect(lines[2]).toMatch(/All 512 turns .* searched/);
    expect(lines[2]).toMatch(/no authority now/);
  });

  it('SUR-04 says when the search did not come to its end, also when it found nothing', async () => {
    for (const found of [elsewhere.found, []]) {
      const output = await search({ query: 'tide' }, { found, complete: false });
      expect(output).toMatch(/ended early, after 512 turns/);
      expect(output).not.toMatch(/All 512/);
    }
  });

  it('SUR-04 says that nothing fits and what to try, which is no error', async () => {
    expect(await search({ query: 'walrus' }, { found: [] })).toMatch(
      /^No turn of another session fits .* Try /,
    );
  });

  it('SUR-04 asks for 8 turns unless a limit is given, at most 20', async () => {
    const asked: (readonly [string, number])[] = [];
    const searchSessions: SessionMemory['searchSessions'] = async (query, limit) => {
      asked.push([query, limit]);
      return elsewhere;
    };
    const context = contextIn('/', { memory: { ...memoryOf(), searchSessions } });
    for (const limit of [0, null, 2, 99])
      await textOf(sessionSearchTool, { query: ' tide ', limit }, context);
    expect(asked).toEqual([8, 8, 2, 20].map((limit) => ['tide', limit]));
  });

  it('SUR-04 refuses an empty query and one of more than 2,048 characters', async () => {
    for (const query of ['', '  '])
      expect(await search({ query })).toMatch(/^error: .*session_search\(\{"query":/);
    expect(await search({})).toMatch(/^error: .*\n- query: found nothing/);
    expect(await search({ query: 'x'.repeat(2_049) })).toMatch(/^error: .* at most 2048/);
  });

  it('SUR-04 serves memory, changes nothing and waits to be asked for', () => {
    const { serves, effect, alwaysLoaded } = sessionSearchTool;
    expect({ serves, effect, alwaysLoaded }).toEqual({
      serves: ['memory'],
      effect: 'read',
      alwaysLoaded: true,
    });
  });
});
