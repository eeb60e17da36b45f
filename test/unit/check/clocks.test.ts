import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkClocks, findImpure } from '../../../tools/check/clocks.ts';

describe('the search for clocks', () => {
  it.each([
    'const now = Date.now();',
    'const now = Date . now();',
    'const f = Date.now;',
    'const now = new Date();',
    'const now = new Date( );',
    'const now = new Date;',
    'const text = Date();',
    'const n = Math.random();',
    'const t = performance.now();',
    'const id = crypto.randomUUID();',
    'const id = globalThis.crypto.getRandomValues(bytes);',
    'const home = process.env.HOME;',
    'const t = process.hrtime();',
    'setTimeout(run, 5);',
    'setInterval(run, 5);',
    'setImmediate(run);',
    "const reply = await fetch('https://x');",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text is source code to be searched
    'const text = `at ${Date.now()}`;',
  ])('finds %s', (line) => {
    expect(findImpure(`const a = 1;\n${line}\n`)).toEqual([expect.objectContaining({ line: 2 })]);
  });

  it.each([
    'const day = new Date(utcMs).toISOString();',
    'const day = new Date(Date.UTC(2026, 0, 1));',
    'const ms = Date.parse(text);',
    '// never Date.now() here',
    '/* Math.random()\n is not for us */',
    "const message = 'use new Date() elsewhere';",
    'const message = "call setTimeout(f)";',
    'const half = Math.floor(x / 2);',
    'const settled = preprocess.run(x);',
    'const x = prefetch(y); const z = updateDate(y);',
    'interface Clock { now(): number }',
  ])('leaves %s alone', (line) => {
    expect(findImpure(line)).toEqual([]);
  });

  it('reports path and line in the pure floors, and nothing of the others', async () => {
    const root = await mkdtemp(join(tmpdir(), 'turnwright-clocks-'));
    try {
      for (const folder of ['ledger', 'intent', 'checks', 'machines']) {
        await mkdir(join(root, 'src', folder), { recursive: true });
      }
      for (const folder of ['src/context/plan', 'src/runtime']) {
        await mkdir(join(root, folder), { recursive: true });
        await writeFile(join(root, folder, 'when.ts'), '\n\nexport const when = () => Date.now();\n');
      }
      expect(await checkClocks(root)).toEqual([
        'src/context/plan/when.ts:3: Date.now: take it as an argument',
      ]);
    } finally {
      await rm(root, { recursive: true });
    }
  });
});
