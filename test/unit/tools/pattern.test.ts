import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileGlob, type Glob } from '../../../src/tools/files/pattern.ts';

function glob(pattern: string): Glob {
  const compiled = compileGlob(pattern);
  if (!compiled.ok) throw new Error(compiled.message);
  return compiled.glob;
}

describe('compileGlob', () => {
  const cases: [string, readonly string[], readonly string[]][] = [
    ['*.ts', ['a.ts', '.ts', 'ä😀.ts'], ['a.tsx', 'src/a.ts', 'ts']],
    ['src/*', ['src/a', 'src/.env'], ['src', 'src/a/b', 'other/a']],
    ['**/*.md', ['a.md', 'x/a.md', 'x/y/z/a.md'], ['a.mdx', 'x/md']],
    ['src/**', ['src/a', 'src/a/b/c'], ['srcs/a', 'a/src/b']],
    ['src/', ['src/a', 'src/a/b'], ['srcs/a']],
    ['a/**/b', ['a/b', 'a/x/b', 'a/x/y/b'], ['a/x', 'b', 'a/xb']],
    ['**/x/**/y', ['x/y', 'a/x/b/x/y', 'x/x/y/y'], ['x', 'y/x', 'ax/y']],
    ['?.[ch]', ['a.c', '😀.h'], ['ab.c', '.c', 'a.x']],
    ['[!a-c]?', ['dx', '-x'], ['ax', 'cx', 'd']],
    ['[]a]', [']', 'a'], ['b', '[]a]']],
    ['[ab', ['[ab'], ['a', 'b']],
    ['*.{ts,tsx}', ['a.ts', 'a.tsx'], ['a.t', 'a.js']],
    ['{a,b/{c,d}}/x', ['a/x', 'b/c/x', 'b/d/x'], ['b/x', 'c/x']],
    ['{a}', ['{a}'], ['a']],
    ['{a,b', ['{a,b'], ['a', 'b']],
    ['\\*\\{a,b\\}', ['*{a,b}'], ['xa', '*a']],
    ['./a//b', ['a/b'], ['./a//b']],
    ['a**b', ['ab', 'axxb'], ['a/b']],
  ];
  it.each(cases)('%s matches what it should and nothing else', (pattern, matching, others) => {
    const { matches } = glob(pattern);
    expect(matching.filter((path) => !matches(path))).toEqual([]);
    expect(others.filter(matches)).toEqual([]);
  });

  it('knows the folder and the depth that bound its matches', () => {
    expect(glob('src/lib/*.ts')).toMatchObject({ base: 'src/lib', maxDepth: 3 });
    expect(glob('src/**/*.ts')).toMatchObject({ base: 'src', maxDepth: null });
    expect(glob('src/{a,b}/c.ts')).toMatchObject({ base: 'src', maxDepth: 3 });
    expect(glob('{src/x/a,src/x/b}')).toMatchObject({ base: 'src/x', maxDepth: 3 });
    expect(glob('{src,src/x/b}')).toMatchObject({ base: '', maxDepth: 3 });
    expect(glob('*')).toMatchObject({ base: '', maxDepth: 1 });
  });

  it('explains a pattern it refuses', () => {
    const refusals: [string, RegExp][] = [
      ['../*', /"\.\.\/\*" holds "\.\."/],
      ['a/{b,..}/c', /holds "\.\."/],
      ['/etc/*', /starts with "\/"; write it relative/],
      ['a\0b', /NUL byte/],
      ['x'.repeat(1_001), /has 1001 characters, at most 1000/],
      ['{a,b}'.repeat(20), /more than 200 alternatives/],
    ];
    for (const [pattern, message] of refusals) {
      const compiled = compileGlob(pattern);
      expect(compiled.ok ? 'accepted' : compiled.message).toMatch(message);
    }
  });

  it('agrees with the plain recursive meaning of star, question mark and double star', () => {
    const segment = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?'), minLength: 1, maxLength: 5 });
    const patternParts = fc.array(fc.oneof(segment, fc.constant('**')), { minLength: 1, maxLength: 5 });
    const pathParts = fc.array(fc.string({ unit: fc.constantFrom('a', 'b'), minLength: 1, maxLength: 4 }), {
      minLength: 1,
      maxLength: 5,
    });
    fc.assert(
      fc.property(patternParts, pathParts, (pattern, path) => {
        expect(glob(pattern.join('/')).matches(path.join('/'))).toBe(meansPath(pattern, path));
      }),
      { numRuns: 2_000 },
    );
  });

  it('answers a pattern of many stars at once', () => {
    const { matches } = glob(`${'*a'.repeat(400)}b/${'**/'.repeat(60)}x`);
    const started = performance.now();
    expect(matches(`${'a'.repeat(255)}/${'a/'.repeat(1_000)}y`)).toBe(false);
    expect(glob(`${'*a'.repeat(100)}*b`).matches('a'.repeat(2_000))).toBe(false);
    expect(performance.now() - started).toBeLessThan(2_000);
  });
});

function meansPath(pattern: readonly string[], path: readonly string[]): boolean {
  const [first, ...rest] = pattern;
  if (first === undefined) return path.length === 0;
  if (first === '**')
    return path.some((_, index) => meansPath(rest, path.slice(index))) || meansPath(rest, []);
  const [part, ...others] = path;
  return part !== undefined && meansName(first, part) && meansPath(rest, others);
}

function meansName(pattern: string, name: string): boolean {
  if (pattern === '') return name === '';
  const rest = pattern.slice(1);
  if (pattern[0] === '*') {
    return meansName(rest, name) || (name !== '' && meansName(pattern, name.slice(1)));
  }
  return name !== '' && (pattern[0] === '?' || pattern[0] === name[0]) && meansName(rest, name.slice(1));
}
