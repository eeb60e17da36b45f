import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { globTool } from '../../../src/tools/builtins/glob.ts';
import { grepTool } from '../../../src/tools/builtins/grep.ts';
import { readTool } from '../../../src/tools/builtins/read.ts';
import type { ToolContext } from '../../../src/tools/contract.ts';
import { contextIn, folderOf, textOf } from './folder.ts';

describe('read', () => {
  it('returns a whole file exactly as it is', async () => {
    const text = 'a\r\nb\n\n  c';
    const context = contextIn(folderOf({ 'a.txt': text }));
    expect(await textOf(readTool, { path: 'a.txt' }, context)).toBe(text);
  });

  it('returns lines of a range, says which, and clamps it to the file', async () => {
    const context = contextIn(folderOf({ 'a.txt': 'one\ntwo\nthree\nfour' }));
    const read = (from: number, to: number) =>
      textOf(readTool, { path: 'a.txt', range: { from, to } }, context);
    expect(await read(2, 3)).toBe('a.txt lines 2-3 of 4\ntwo\nthree\n');
    expect(await read(3, 99)).toBe('a.txt lines 3-4 of 4\nthree\nfour');
    expect(await read(0, 1)).toBe('a.txt lines 1-1 of 4\none\n');
    expect(await read(4, 0)).toBe('a.txt lines 4-4 of 4\nfour');
    expect(await read(5, 6)).toBe('error: a.txt has 4 lines; line 5 is beyond its end.');
    expect(await read(3, 2)).toMatch(/^error: The range runs backwards, from 3 to 2/);
  });

  it('takes blanks for no range', async () => {
    const context = contextIn(folderOf({ 'a.txt': 'one\ntwo' }));
    for (const range of [null, '', 0, {}, { from: 0, to: 0 }, { from: null, to: '' }]) {
      expect(await textOf(readTool, { path: 'a.txt', range }, context)).toBe('one\ntwo');
    }
  });

  it('agrees with splitting a text into lines, across blocks and long lines', async () => {
    const line = fc.oneof(
      fc.string({ unit: fc.constantFrom('a', 'é', '😀', ' '), maxLength: 30 }),
      fc.integer({ min: 10_000, max: 40_000 }).map((length) => '😀é'.repeat(length / 2)),
    );
    const bound = fc.integer({ min: 1, max: 12 });
    await fc.assert(
      fc.asyncProperty(fc.array(line, { minLength: 1, maxLength: 10 }), bound, bound, async (lines, a, b) => {
        const text = `${lines.join('\n')}\nend`;
        const context = contextIn(folderOf({ 'a.txt': text }));
        const range = { from: Math.min(a, b), to: Math.max(a, b) };
        const shown = await textOf(readTool, { path: 'a.txt', range }, context);
        const expected = text.split(/(?<=\n)/u).slice(range.from - 1, range.to);
        if (expected.length === 0) expect(shown).toContain('beyond its end');
        else expect(shown.slice(shown.indexOf('\n') + 1)).toBe(expected.join(''));
      }),
      { numRuns: 60 },
    );
  });

  it('describes a binary file and an empty one, and marks bytes that are no text', async () => {
    const binary = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 3, 4);
    const latin = Uint8Array.of(0x63, 0x61, 0x66, 0xe9);
    const context = contextIn(folderOf({ 'a.png': binary, 'empty.txt': '', 'latin.txt': latin }));
    expect(await textOf(readTool, { path: 'a.png' }, context)).toBe(
      'a.png is a binary file (.png) of 9 bytes, not text. Its first bytes are 89 50 4e 47 00 01 02 03.',
    );
    expect(await textOf(readTool, { path: 'empty.txt' }, context)).toBe('empty.txt is empty.');
    expect(await textOf(readTool, { path: 'latin.txt' }, context)).toBe(
      'caf\uFFFD\n(\uFFFD stands for a byte that is not UTF-8 text.)',
    );
  });

  it('answers a directory with its entries', async () => {
    const context = contextIn(folderOf({ 'src/a.ts': '', 'src/lib/b.ts': '' }));
    expect(await textOf(readTool, { path: 'src' }, context)).toBe(
      'error: src is a directory, not a file. Read one of its files:\na.ts\nlib/',
    );
    const crowd = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`f${index}`, '']));
    const listing = await textOf(readTool, { path: '.' }, contextIn(folderOf(crowd)));
    expect(listing).toContain('(showing 50 of 60)');
    expect(listing.split('\n').length).toBe(51);
  });

  it('refuses a file too large for one result, but reads its lines', async () => {
    const root = folderOf({ 'big.log': 'a line of text\n'.repeat(700_000) });
    const context = contextIn(root);
    expect(await textOf(readTool, { path: 'big.log' }, context)).toMatch(
      /^error: big\.log has 10500000 bytes, more than the 10000000 .* read\(\{"path":"big\.log","range":/,
    );
    const range = { from: 699_999, to: 700_000 };
    const lines = await textOf(readTool, { path: 'big.log', range }, context);
    expect(lines).toBe('big.log lines 699999-700000\na line of text\na line of text\n');
    const everything = await textOf(readTool, { path: 'big.log', range: { from: 1 } }, context);
    expect(everything).toMatch(/^error: big\.log from line 1 to the end is more than 10000000 characters/);
  });
});

describe('glob', () => {
  const files = {
    'b.ts': '',
    'a.md': '',
    'src/x.ts': '',
    'src/lib/y.ts': '',
    '.env': '',
    'src-old/z.ts': '',
  };

  it('lists matching paths one a line in code-unit order', async () => {
    const context = contextIn(folderOf(files));
    expect(await textOf(globTool, { pattern: '**/*.ts' }, context)).toBe(
      'b.ts\nsrc-old/z.ts\nsrc/lib/y.ts\nsrc/x.ts',
    );
    expect(await textOf(globTool, { pattern: 'src/*.ts' }, context)).toBe('src/x.ts');
    expect(await textOf(globTool, { pattern: '*' }, context)).toBe('.env\na.md\nb.ts');
  });

  it('lists in the order of sorting whole paths, for any tree', async () => {
    const name = fc.string({ unit: fc.constantFrom('a', 'b', '-', '.', '0'), minLength: 1, maxLength: 3 });
    const valid = name.filter((text) => !/^\.+$/.test(text));
    const path = fc.array(valid, { minLength: 1, maxLength: 3 }).map((parts) => `${parts.join('/')}~`);
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(path, { maxLength: 12 }), async (paths) => {
        const root = folderOf(Object.fromEntries(paths.map((one) => [one, ''])));
        const listed = await textOf(globTool, { pattern: '**' }, contextIn(root));
        if (paths.length > 0) expect(listed.split('\n')).toEqual([...paths].sort());
      }),
      { numRuns: 60 },
    );
  });

  it('tells the exact total when it shows fewer', async () => {
    const many = Object.fromEntries(Array.from({ length: 312 }, (_, index) => [`f${1_000 + index}.txt`, '']));
    const context = contextIn(folderOf(many));
    const lines = (await textOf(globTool, { pattern: '*.txt', limit: 50 }, context)).split('\n');
    expect(lines.length).toBe(51);
    expect(lines.at(-1)).toBe('(showing 50 of 312; narrow the pattern or raise limit)');
    const usual = await textOf(globTool, { pattern: '*.txt', limit: 0 }, context);
    expect(usual).toContain('(showing 100 of 312;');
  });

  it('leaves out .git and node_modules unless the pattern names them', async () => {
    const context = contextIn(folderOf({ '.git/config': '', 'a/node_modules/m/i.js': '', 'a/i.js': '' }));
    expect(await textOf(globTool, { pattern: '**' }, context)).toBe('a/i.js');
    expect(await textOf(globTool, { pattern: '**/node_modules/**' }, context)).toBe('a/node_modules/m/i.js');
    expect(await textOf(globTool, { pattern: '.git/*' }, context)).toBe('.git/config');
  });

  it('helps when nothing fits', async () => {
    const context = contextIn(folderOf(files));
    expect(await textOf(globTool, { pattern: 'y.ts' }, context)).toBe(
      'No file fits "y.ts". To look in every folder, try "**/y.ts".',
    );
    expect(await textOf(globTool, { pattern: '**/*.py' }, context)).toBe('No file fits "**/*.py".');
    expect(await textOf(globTool, { pattern: 'gone/**' }, context)).toBe('No file fits "gone/**".');
    expect(await textOf(globTool, { pattern: '../*' }, context)).toMatch(
      /^error: The pattern "..\/\*" holds "\.\."/,
    );
    expect(await textOf(globTool, { pattern: '' }, context)).toMatch(/^error: .*\n- pattern: found ""/);
  });

  it('prints a name with a line break as one line', async () => {
    const context = contextIn(folderOf({ 'a\nb.txt': '' }));
    expect(await textOf(globTool, { pattern: '*' }, context)).toBe('"a\\nb.txt"');
  });
});

describe('grep', () => {
  const files = {
    'a.ts': 'const one = 1;\r\nconst two = 2;\nexport { one };\n',
    'src/b.ts': 'import { one } from "../a.ts";\n',
    'src/c.md': 'One more.\n',
    'node_modules/m/d.ts': 'one\n',
    'bin.dat': Uint8Array.of(0x6f, 0x6e, 0x65, 0),
  };

  it('prints path, line number and text of every matching line', async () => {
    const context = contextIn(folderOf(files));
    expect(await textOf(grepTool, { pattern: 'one' }, context)).toBe(
      'a.ts:1: const one = 1;\na.ts:3: export { one };\nsrc/b.ts:1: import { one } from "../a.ts";',
    );
    expect(await textOf(grepTool, { pattern: '^const \\w+ = \\d;$' }, context)).toBe(
      'a.ts:1: const one = 1;\na.ts:2: const two = 2;',
    );
  });

  it('searches a file, a folder, or files that fit a glob from either', async () => {
    const context = contextIn(folderOf(files));
    const grep = (args: Record<string, string | boolean>) =>
      textOf(grepTool, { pattern: 'one', ...args }, context);
    expect(await grep({ path: 'src' })).toBe('src/b.ts:1: import { one } from "../a.ts";');
    expect(await grep({ path: 'a.ts' })).toBe('a.ts:1: const one = 1;\na.ts:3: export { one };');
    expect(await grep({ glob: '*.md', ignoreCase: true })).toBe('src/c.md:1: One more.');
    expect(await grep({ glob: 'src/*.ts' })).toContain('src/b.ts:1:');
    expect(await grep({ path: 'src', glob: './b.ts' })).toContain('src/b.ts:1:');
    expect(await grep({ path: 'node_modules/m', glob: '' })).toBe('node_modules/m/d.ts:1: one');
    expect(await grep({ path: 'bin.dat' })).toBe('bin.dat is a binary file; grep searches text.');
  });

  it('tells the exact number of matching lines when it shows fewer, and where it looked when there is none', async () => {
    const context = contextIn(folderOf({ 'a.txt': 'x\n'.repeat(312), 'b.txt': 'y' }));
    const lines = (await textOf(grepTool, { pattern: 'x' }, context)).split('\n');
    expect(lines.length).toBe(51);
    expect(lines.at(-1)).toMatch(/^\(showing 50 of 312 lines;/);
    expect(await textOf(grepTool, { pattern: 'z' }, context)).toBe('No line matches "z" in 2 files.');
  });

  it('explains an expression it cannot use', async () => {
    const context = contextIn(folderOf({ 'a.txt': 'x' }));
    const grep = (pattern: string) => textOf(grepTool, { pattern }, context);
    expect(await grep('f(')).toMatch(
      /^error: The pattern is not a valid regular expression: missing closing \)/,
    );
    expect(await grep('(?=x)')).toMatch(/look-around/);
    expect(await grep('(?:a?){1000}b')).toMatch(/^error: The pattern is too large/);
    expect(await grep('x'.repeat(1_001))).toMatch(/has 1001 characters; at most 1000/);
  });

  it('answers an expression made to explode, and keeps the process free meanwhile', async () => {
    const context = contextIn(folderOf({ 'a.txt': 'a'.repeat(200_000) }));
    const started = performance.now();
    expect(await textOf(grepTool, { pattern: '(a*)*(a|aa)+$x' }, context)).toBe(
      'No line matches "(a*)*(a|aa)+$x" in 1 file.',
    );
    expect(performance.now() - started).toBeLessThan(5_000);
  });

  it('shows a long line around its match and counts it once', async () => {
    const context = contextIn(
      folderOf({ 'min.js': `${'-'.repeat(50_000)}needle${'😀'.repeat(30_000)}needle` }),
    );
    const text = await textOf(grepTool, { pattern: 'needle' }, context);
    expect(text).toMatch(/^min\.js:1: ….*needle.*… \[\d+ more characters\]$/u);
    expect(text.length).toBeLessThan(600);
    expect(text.split('\n').length).toBe(1);
  });

  it('finds what a plain search of each line finds, for any text', async () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'B', '.', '\n', '\r', '😀'), maxLength: 80 });
    const needle = fc.string({ unit: fc.constantFrom('a', 'B', '.', '😀'), minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(text, needle, async (content, word) => {
        const context = contextIn(folderOf({ 'a.txt': content }));
        const escaped = word.replaceAll('.', '\\.');
        const shown = await textOf(grepTool, { pattern: escaped }, context);
        const lines = content.split('\n').map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
        const expected = lines.flatMap((line, at) =>
          line.includes(word) ? [`a.txt:${at + 1}: ${line}`] : [],
        );
        if (expected.length > 0) expect(shown).toBe(expected.join('\n'));
        else expect(shown).toMatch(/^No line matches/);
      }),
      { numRuns: 100 },
    );
  });
});

describe('an aborted call', () => {
  it('stops read, glob and grep in the middle of their work', async () => {
    const root = folderOf({ 'big.log': 'a line of text\n'.repeat(500_000) });
    const calls = [
      readTool.run({ path: 'big.log' }, abortedSoon(root)),
      readTool.run({ path: 'big.log', range: { from: 1, to: 2 } }, abortedSoon(root)),
      globTool.run({ pattern: '**', limit: 5 }, abortedSoon(root)),
      grepTool.run({ pattern: 'zzz', limit: 5, ignoreCase: false }, abortedSoon(root)),
      grepTool.run({ pattern: 'z+', path: 'big.log', limit: 5, ignoreCase: false }, abortedSoon(root)),
    ];
    for (const ended of await Promise.allSettled(calls)) {
      expect(ended).toMatchObject({ status: 'rejected', reason: { name: 'AbortError' } });
    }
  });
});

/** Its signal is aborted after the call has begun and before its first answer from the disk. */
function abortedSoon(root: string): ToolContext {
  const controller = new AbortController();
  queueMicrotask(() => controller.abort());
  return contextIn(root, { signal: controller.signal });
}
