import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../../src/app/config.ts';
import { BANNED_WORDS, checkNeutrality, findNamed } from '../../../tools/check/neutrality.ts';

const ROOT = join(import.meta.dirname, '../../..');
/** Where the project shows a configuration. */
const EXAMPLE_FOLDER = join(ROOT, 'deploy/config');
const TOOLS_PAGE = join(ROOT, 'docs/tools.md');
const LARGE_CHARS = 2_000_000;
const HANG_MS = 20_000;

/** Of the servers that the project's own configurations and examples name. */
async function exampleServers(): Promise<readonly string[]> {
  const { mcp } = await loadConfig({ env: {}, cwd: EXAMPLE_FOLDER });
  const page = await readFile(TOOLS_PAGE, 'utf8');
  const shown = [...page.matchAll(/^ {4,6}(\w+): \{\n? *(?:command|url):/gmu)].map(([, name = '']) => name);
  expect(shown.length, `${TOOLS_PAGE} shows no server`).toBeGreaterThan(0);
  return [...Object.keys(mcp?.servers ?? {}), ...shown];
}

describe('production source', () => {
  it('NEU-01 knows no vendor, no topic, and no server of a configuration', { timeout: HANG_MS }, async () => {
    expect(await checkNeutrality(ROOT, await exampleServers())).toEqual([]);
  });

  it('NEU-01 is reported by file, line and word, data beside code, and tests are left alone', async () => {
    const root = await mkdtemp(join(tmpdir(), 'turnwright-neutral-'));
    const files = {
      'src/checks/freshness.ts': "// tavily\n\nexport const LIVE = ['Noida', 'news'];\n",
      'src/intent/lexicon/en.ts': 'export const words = `rain\nand weather\n`;\n',
      'src/tools/route.ts': 'export const isDepotServer = true;\n',
      'test/unit/route.test.ts': "const weather = 'noida';\n",
    };
    try {
      for (const [path, text] of Object.entries(files)) {
        await mkdir(join(root, path, '..'), { recursive: true });
        await writeFile(join(root, path), text);
      }
      expect(await checkNeutrality(root, ['depot-server'])).toEqual([
        'src/checks/freshness.ts:3: noida',
        'src/intent/lexicon/en.ts:2: weather',
        'src/tools/route.ts:1: depot-server',
      ]);
    } finally {
      await rm(root, { recursive: true });
    }
  });
});

describe('the search for names', () => {
  it.each([
    "const host = 'api.tavily.com';",
    'const weather = 1;',
    'const getWeatherNow = 1;',
    'const WEATHER_URL = 1;',
    'const HTTPWeather2 = 1;',
    'const city_noida = 1;',
    'const pattern = /\\bweather\\b/;',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text is source code to be searched
    'const text = `a ${b} weather ${c}`;',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text is source code to be searched
    'const text = `a ${weather}`;',
    "const escaped = 'we\\u0061ther';",
    "const noComment = '// weather';",
    "const noComment = 'a /* b'; const weather = ' */';",
    'type T = { readonly "weather": string };',
    "import { a } from './weather.ts';",
    'const half = a / b; const weather = c / d;',
  ])('NEU-01 finds a word in %s', (line) => {
    const [found, ...more] = findNamed(`const a = 1;\n${line}\n`, BANNED_WORDS);
    expect([found, more]).toEqual([{ line: 2, name: expect.any(String) }, []]);
  });

  it.each([
    '// weather',
    '/* weather\n tavily */',
    '/** Of Noida. @param weather what it is */ function f(weathered: string) { return weathered; }',
    "const word = 'weathered';",
    "const word = 'heatherweathers';",
    'const a = b /* weather */ + c; // noida',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text is source code to be searched
    'const text = `a ${b /* weather */}`;',
  ])('NEU-01 leaves %s alone', (source) => {
    expect(findNamed(source, BANNED_WORDS)).toEqual([]);
  });

  it('NEU-01 finds a name of several words however they are joined, and not when they stand apart', () => {
    const joined = ['tideDesk', 'TIDE_DESK', 'tide_desk', 'openTideDeskNow'].map(
      (name) => `const ${name} = 1;`,
    );
    const texts = ["f('tide-desk');", "f('Tide desk');", "f('tide.desk');"];
    for (const line of [...joined, ...texts]) expect(findNamed(line, ['tide-desk']), line).toHaveLength(1);
    for (const line of [
      "f('tide and desk');",
      "f('tide -- desk');",
      "f('tide', 'desk');",
      "f('tidedesk');",
      "f('desk tide');",
    ])
      expect(findNamed(line, ['tide-desk']), line).toEqual([]);
    expect(findNamed("f('v 2');", ['', '--'])).toEqual([]);
  });

  it('NEU-01 finds what is planted anywhere in code, and nothing where it stands in a comment', () => {
    const counts = { code: 0, comment: 0 };
    const place = fc.constantFrom(
      ['code', (word: string) => `const ${word}Of = 1;`],
      ['code', (word: string) => `f('to ${word}');`],
      ['code', (word: string) => `f(\`\${g('x')} ${word}\`);`],
      ['comment', (word: string) => `// '${word}`],
      ['comment', (word: string) => `/* "${word} */ f(1);`],
    ) as fc.Arbitrary<readonly ['code' | 'comment', (word: string) => string]>;
    const filler = fc.array(
      fc.constantFrom('f(1);', "f('it\\'s');", '// note: `', 'f(/[/]"/);', 'f(`//`);', ''),
    );
    fc.assert(
      fc.property(
        filler,
        place,
        fc.constantFrom(...BANNED_WORDS),
        filler,
        (before, [kind, plant], word, after) => {
          counts[kind] += 1;
          const source = [...before, plant(word), ...after].join('\n');
          const expected = kind === 'code' ? [{ line: before.length + 1, name: word }] : [];
          expect(findNamed(source, BANNED_WORDS)).toEqual(expected);
        },
      ),
      { numRuns: 300 },
    );
    console.info('planted:', counts);
    expect(Math.min(...Object.values(counts))).toBeGreaterThan(3);
  });

  it('NEU-01 reads a lexicon of megabytes at once', { timeout: HANG_MS }, () => {
    const source = `export const words = [${"'aA',".repeat(LARGE_CHARS / 10)}];\nconst text = \`${'aA'.repeat(LARGE_CHARS / 4)} weather\`;`;
    expect(findNamed(source, BANNED_WORDS)).toEqual([{ line: 2, name: 'weather' }]);
  });
});
