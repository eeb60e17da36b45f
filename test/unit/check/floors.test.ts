import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const ROOT = resolve(import.meta.dirname, '../../..');
const run = promisify(execFile);

/** A file, the one thing it imports, and the rules that must refuse it; none: it must pass. */
interface Fixture {
  readonly file: string;
  readonly line: string;
  readonly rules: readonly string[];
}

const FOLDERS = [
  'ledger',
  'intent',
  'context',
  'checks',
  'machines',
  'db',
  'queues',
  'providers',
  'tools',
  'runtime',
  'workers',
  'app',
  'api',
  'board',
  'cli',
  'client',
  'sim',
];

const code = (folder: string) => `import { value } from '../${folder}/base.ts'; console.log(value);`;
const types = (folder: string) =>
  `import type { Value } from '../${folder}/base.ts'; export const x: Value = 1;`;
const bare = (name: string) => `import * as all from '${name}'; console.log(all);`;
const bareTypes = (name: string) => `import type * as all from '${name}'; export type X = typeof all;`;

const refused: readonly [string, string, readonly string[]][] = [
  ['ledger', code('intent'), ['floor-ledger']],
  ['ledger', types('context'), ['floor-ledger']],
  ['intent', code('context'), ['floor-intent']],
  ['context', code('checks'), ['floor-context']],
  ['checks', code('machines'), ['floor-checks']],
  ['machines', code('db'), ['floor-machines']],
  ['db', code('queues'), ['floor-db', 'narrow-db']],
  ['db', types('queues'), ['floor-db', 'narrow-db']],
  ['db', code('context'), ['narrow-db']],
  ['queues', code('db'), ['floor-queues', 'narrow-queues']],
  ['providers', code('tools'), ['floor-providers', 'narrow-providers']],
  ['providers', code('context'), ['types-only-providers']],
  ['tools', types('providers'), ['floor-tools', 'narrow-tools']],
  ['tools', code('machines'), ['narrow-tools']],
  ['runtime', code('workers'), ['floor-runtime']],
  ['workers', code('app'), ['floor-workers']],
  ['app', code('api'), ['floor-app']],
  ['runtime', code('sim'), ['simulator-is-no-part']],
  ['sim', code('providers'), ['narrow-sim']],
  ['sim', types('runtime'), ['narrow-sim']],
  ['sim', code('context'), ['types-only-sim']],
  ['client', code('api'), ['types-only-client']],
  ['client', code('ledger'), ['types-only-client']],
  ['runtime', bare('bullmq'), ['confined-queue']],
  ['api', bare('ioredis'), ['confined-queue']],
  ['context', bare('xstate'), ['confined-xstate']],
  ['workers', bareTypes('xstate'), ['confined-xstate']],
  ['runtime', bare('pg'), ['confined-database']],
  ['api', bare('drizzle-orm/pg-core'), ['confined-database']],
  ['workers', bare('openai'), ['confined-model']],
  ['app', bare('@anthropic-ai/sdk'), ['confined-model']],
  ['cli', bare('ollama'), ['confined-model']],
  ['sim', bare('openai'), ['confined-model-sim']],
  ['ledger', bare('node:crypto'), ['pure-floors']],
  ['intent', bare('node:fs'), ['pure-floors']],
  ['context', bare('node:timers/promises'), ['pure-floors']],
  ['checks', bare('fs'), ['pure-floors']],
  ['machines', bare('node:process'), ['pure-floors']],
  ['api', `import '../index.ts';`, ['nothing-imports-the-index']],
  ['api', `import { value } from '../../tools/base.ts'; console.log(value);`, ['src-stands-alone']],
  ['api', bare('vitest'), ['no-development-packages']],
  ['api', bare('./missing.ts'), ['no-missing-file']],
];

const allowed: readonly [string, string][] = [
  ['intent', code('ledger')],
  ['context', code('intent')],
  ['checks', code('context')],
  ['machines', code('checks')],
  ['machines', bare('xstate')],
  ['ledger', bare('node:buffer')],
  ['ledger', bare('zod')],
  ['db', code('ledger')],
  ['db', bare('pg')],
  ['queues', bare('bullmq')],
  ['providers', types('context')],
  ['providers', bare('openai')],
  ['tools', code('context')],
  ['runtime', code('db')],
  ['runtime', bare('node:timers/promises')],
  ['workers', code('runtime')],
  ['workers', bare('bullmq')],
  ['app', code('workers')],
  ['app', code('sim')],
  ['cli', code('api')],
  ['board', bare('bullmq')],
  ['client', types('api')],
  ['sim', types('context')],
  ['sim', code('ledger')],
  ['sim', bareTypes('openai')],
];

const fixtures: readonly Fixture[] = [
  ...refused.map(([folder, line, rules], index) => ({
    file: `src/${folder}/refused-${index}.ts`,
    line,
    rules,
  })),
  ...allowed.map(([folder, line], index) => ({ file: `src/${folder}/allowed-${index}.ts`, line, rules: [] })),
  {
    file: 'test/reference/shares-code.ts',
    line: `import { value } from '../../src/ledger/base.ts'; console.log(value);`,
    rules: ['reference-shares-types-only'],
  },
  {
    file: 'test/reference/shares-types.ts',
    line: `import type { Value } from '../../src/ledger/base.ts'; export const x: Value = 1;`,
    rules: [],
  },
  {
    file: 'src/api/one.ts',
    line: `import { two } from './two.ts'; export const one = () => two;`,
    rules: ['no-cycle'],
  },
];

describe('the floors', () => {
  let tree: string;
  const found = new Map<string, Set<string>>();

  beforeAll(async () => {
    tree = await mkdtemp(join(tmpdir(), 'turnwright-floors-'));
    await plant(tree);
    const violations = await cruise(tree);
    for (const { from, rule } of violations) {
      found.set(from, (found.get(from) ?? new Set()).add(rule.name));
    }
  });
  afterAll(() => rm(tree, { recursive: true, force: true }));

  it.each(titled(fixtures.filter(({ rules }) => rules.length > 0)))('refuse %s', (_, { file, rules }) => {
    expect([...(found.get(file) ?? [])].sort()).toEqual([...rules].sort());
  });

  it.each(titled(fixtures.filter(({ rules }) => rules.length === 0)))('allow %s', (_, { file }) => {
    expect([...(found.get(file) ?? [])]).toEqual([]);
  });
});

function titled(list: readonly Fixture[]): [string, Fixture][] {
  return list.map((fixture) => {
    const what = fixture.line.startsWith('import type') ? 'types' : 'code';
    const from = /'([^']+)'/.exec(fixture.line)?.[1];
    return [`${dirname(fixture.file)} to import ${what} from ${from}`, fixture];
  });
}

async function plant(tree: string): Promise<void> {
  const write = async (file: string, text: string): Promise<void> => {
    await mkdir(join(tree, dirname(file)), { recursive: true });
    await writeFile(join(tree, file), `${text}\n`);
  };
  for (const folder of [...FOLDERS.map((name) => `src/${name}`), 'tools']) {
    await write(`${folder}/base.ts`, 'export const value = 1;\nexport type Value = number;');
  }
  await write('src/index.ts', 'export {};');
  await write('src/api/two.ts', `import { one } from './one.ts'; export const two = () => one;`);
  for (const { file, line } of fixtures) await write(file, line);
  await symlink(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
  for (const name of ['package.json', 'tsconfig.json']) await symlink(join(ROOT, name), join(tree, name));
}

interface Violation {
  readonly from: string;
  readonly rule: { readonly name: string };
}

async function cruise(tree: string): Promise<readonly Violation[]> {
  const program = join(ROOT, 'node_modules', '.bin', 'depcruise');
  const config = join(ROOT, '.dependency-cruiser.cjs');
  const { stdout } = await run(
    program,
    ['--config', config, '--output-type', 'json', 'src', 'test', 'tools'],
    {
      cwd: tree,
      maxBuffer: 64 * 1024 * 1024,
    },
  ).catch((error: { stdout: string }) => error);
  return (JSON.parse(stdout) as { summary: { violations: Violation[] } }).summary.violations;
}
