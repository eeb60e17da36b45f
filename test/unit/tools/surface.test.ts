import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { BUILTIN_CARDS } from '../../../src/context/cards/index.ts';
import type { Domain } from '../../../src/ledger/domains.ts';
import { builtinTools } from '../../../src/tools/builtins/index.ts';
import { cardTool } from '../../../src/tools/cards.ts';
import { defineTool, type ToolSpec } from '../../../src/tools/define.ts';
import {
  admittedTools,
  cardTypesOf,
  createToolSurface,
  loadedTools,
  type SurfaceTerms,
  unknownTool,
  type Wanted,
  waitingTools,
} from '../../../src/tools/surface.ts';

function tool(name: string, spec: Partial<ToolSpec<z.ZodObject>> = {}) {
  return defineTool({
    name,
    description: 'Does it.',
    input: z.object({}),
    serves: ['web'],
    ...spec,
    run: async () => '',
  });
}

function namesOf(tools: readonly { readonly name: string }[]): readonly string[] {
  return tools.map(({ name }) => name);
}

const OPEN: SurfaceTerms = { tools: null, all: false, evicts: false, delegates: true };
const NOTHING: Wanted = { earlier: [], domains: [], cards: [] };

describe('createToolSurface', () => {
  const tools = [tool('search'), tool('commit', { serves: ['vcs'] }), tool('plain', { serves: [] })];

  it('finds a tool by its exact name, and has all by name whatever order they came in', () => {
    for (const given of [tools, tools.toReversed()]) {
      const surface = createToolSurface(given);
      expect(surface.get('commit')?.serves).toEqual(['vcs']);
      expect(surface.get('Commit')).toBeUndefined();
      expect(surface.get('constructor')).toBeUndefined();
      expect(surface.names()).toEqual(['commit', 'plain', 'search']);
      expect(namesOf(surface.all())).toEqual(surface.names());
    }
  });

  it('refuses two tools of one name', () => {
    expect(() => createToolSurface([tool('same'), tool('other'), tool('same')])).toThrow(
      /Two tools are named "same"/,
    );
  });

  it('SUR-02 has no skills and no servers unless it is given some', () => {
    expect(createToolSurface([]).skills.all).toEqual([]);
    expect(createToolSurface([], { servers: ['b', 'a'] }).servers).toEqual(['a', 'b']);
  });
});

describe('the tools of a request', () => {
  const tools = [
    tool('search'),
    tool('commit', { serves: ['vcs'] }),
    tool('plain', { serves: [] }),
    tool('rare', { serves: [], deferred: true }),
    tool('ask', { serves: ['memory'], alwaysLoaded: true }),
    tool('always', { serves: [], alwaysLoaded: true }),
    ...BUILTIN_CARDS.map(cardTool),
  ];
  const all = createToolSurface(tools).all();
  const loaded = (wanted: Partial<Wanted> = {}, terms = OPEN): readonly string[] =>
    namesOf(loadedTools(all, terms, { ...NOTHING, ...wanted }));

  it('SUR-01 are the always-loaded ones first, then those that declare no domain and are not deferred', () => {
    expect(loaded()).toEqual(['always', 'ask', 'plain']);
  });

  it('SUR-01 F20 are those that serve a domain the turn needs, and no others', () => {
    expect(loaded({ domains: ['vcs'] })).toEqual(['always', 'ask', 'commit', 'plain']);
    expect(loaded({ domains: ['vcs', 'web'] })).toEqual(['always', 'ask', 'commit', 'plain', 'search']);
  });

  it('SUR-01 are the card tools the request asks for, whatever their type looks like', () => {
    expect(loaded({ cards: ['chart'] })).toEqual(['always', 'ask', 'emit_chart_card', 'plain']);
    expect(cardTypesOf(all).toSorted()).toEqual(BUILTIN_CARDS.map(({ type }) => type).toSorted());
    expect(cardTypesOf([tool('emit_chart_card')])).toEqual([]);
  });

  it('SUR-01 keep the order in which they were first loaded; new ones join behind them by name', () => {
    const earlier = ['search', 'plain', 'rare'];
    expect(loaded({ earlier, domains: ['vcs'] })).toEqual([
      'always',
      'ask',
      'search',
      'plain',
      'rare',
      'commit',
    ]);
  });

  it('SUR-01 lose only what the deployment no longer has, and hold nothing twice', () => {
    const earlier = ['gone', 'search', 'ask', 'search'];
    expect(loaded({ earlier })).toEqual(['always', 'ask', 'search', 'plain']);
  });

  it('SUR-01 are all that the session names, or all there are where it asks for all', () => {
    const named: SurfaceTerms = {
      tools: ['rare', 'search', 'nowhere'],
      all: false,
      evicts: false,
      delegates: true,
    };
    const surface = createToolSurface(tools);
    const admitted = admittedTools(surface, named);
    expect(namesOf(admitted)).toEqual(['rare', 'search']);
    expect(namesOf(loadedTools(admitted, named, NOTHING))).toEqual(['rare', 'search']);
    expect(waitingTools(admitted, named)).toEqual([]);
    expect(loaded({}, { tools: null, all: true, evicts: false, delegates: true })).toEqual(namesOf(all));
  });

  it('SUR-01 F40 of a weak reading are never all: only what its few domains need', () => {
    const weak: readonly Domain[] = ['filesystem', 'memory'];
    expect(loaded({ domains: weak })).toEqual(loaded());
  });

  it('SUR-01 always include read, glob, grep, find_tools, recall and session_search, which change nothing', () => {
    const builtins = loadedTools(createToolSurface(builtinTools()).all(), OPEN, NOTHING);
    expect(namesOf(builtins)).toEqual(['find_tools', 'glob', 'grep', 'read', 'recall', 'session_search']);
    expect(new Set(builtins.map(({ effect }) => effect))).toEqual(new Set(['read']));
  });
});

describe('unknownTool', () => {
  it('names the tools that exist and the one that was probably meant', () => {
    expect(unknownTool('Read', ['glob', 'read'])).toEqual({
      content: 'There is no tool "Read". Did you mean read? The tools are: glob, read.',
      isError: true,
    });
    expect(unknownTool('x', []).content).toBe(
      'There is no tool "x". There are no tools; answer without one.',
    );
  });

  it('stays short for a long name and a long list', () => {
    const names = Array.from({ length: 500 }, (_, index) => `tool${index}`);
    const { content } = unknownTool('n'.repeat(100_000), names);
    expect(content.length).toBeLessThan(1_000);
    expect(content).toContain('and 440 more');
  });
});
