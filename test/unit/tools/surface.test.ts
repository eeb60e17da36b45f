import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { Domain } from '../../../src/ledger/domains.ts';
import { canonicalJson } from '../../../src/ledger/json.ts';
import { builtinTools } from '../../../src/tools/builtins/index.ts';
import { defineTool } from '../../../src/tools/define.ts';
import { createToolSurface, unknownTool } from '../../../src/tools/surface.ts';

function tool(name: string, serves: readonly Domain[] = ['web'], alwaysLoaded = false) {
  return defineTool({
    name,
    description: 'Does it.',
    input: z.object({}),
    serves,
    alwaysLoaded,
    run: async () => '',
  });
}

function namesOf(tools: readonly { readonly name: string }[]): readonly string[] {
  return tools.map(({ name }) => name);
}

describe('createToolSurface', () => {
  const tools = [tool('search'), tool('commit', ['vcs']), tool('plain', []), tool('ask', ['memory'], true)];

  it('SUR-01 loads always-loaded tools, tools that serve a needed domain, and tools that declare none', () => {
    const surface = createToolSurface(tools);
    expect(namesOf(surface.loaded([]))).toEqual(['ask', 'plain']);
    expect(namesOf(surface.loaded(['vcs']))).toEqual(['ask', 'commit', 'plain']);
    expect(namesOf(surface.loaded(['vcs', 'web']))).toEqual(['ask', 'commit', 'plain', 'search']);
    expect(namesOf(surface.loaded('all'))).toEqual(['ask', 'commit', 'plain', 'search']);
  });

  it('SUR-01 defines the same tools in the same bytes, whatever order they came in', () => {
    const bytes = canonicalJson(createToolSurface(tools).definitions());
    expect(canonicalJson(createToolSurface([...tools].reverse()).definitions())).toBe(bytes);
    expect(namesOf(createToolSurface(tools).definitions(['vcs']))).toEqual(['ask', 'commit', 'plain']);
  });

  it('finds a tool by its exact name', () => {
    const surface = createToolSurface(tools);
    expect(surface.get('commit')?.serves).toEqual(['vcs']);
    expect(surface.get('Commit')).toBeUndefined();
    expect(surface.get('constructor')).toBeUndefined();
    expect(surface.names()).toEqual(['ask', 'commit', 'plain', 'search']);
  });

  it('refuses two tools of one name', () => {
    expect(() => createToolSurface([tool('same'), tool('other'), tool('same')])).toThrow(
      /Two tools are named "same"/,
    );
  });

  it('SUR-01 always loads read, glob, grep, recall and session_search, which change nothing', () => {
    const builtins = createToolSurface(builtinTools()).loaded([]);
    expect(namesOf(builtins)).toEqual(['glob', 'grep', 'read', 'recall', 'session_search']);
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
