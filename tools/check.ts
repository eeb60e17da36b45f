/** `npm run check`: everything a machine can say about the source without running it. Exits 1 if anything fails. */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { checkClocks } from './check/clocks.ts';
import { missingMigration } from './check/migrations.ts';
import { type Check, type CheckResult, commandCheck, runChecks } from './check/run.ts';

const ROOT = join(import.meta.dirname, '..');
const CRUISED = ['src', 'test', 'tools', 'bench'];

function program(name: string): string {
  return join(ROOT, 'node_modules', '.bin', name);
}

/** The slowest first, so that none of them starts last. */
const CHECKS: readonly Check[] = [
  commandCheck('types (tsc)', ROOT, [program('tsc'), '-p', '.', '--noEmit']),
  commandCheck('lint with types, size caps (oxlint)', ROOT, [
    program('oxlint'),
    '--type-aware',
    '--deny-warnings',
    '--report-unused-disable-directives',
    '--format=unix',
  ]),
  commandCheck('dead code (knip)', ROOT, [program('knip'), '--no-config-hints', '--no-progress']),
  commandCheck('floors and SDK confinement (dependency-cruiser)', ROOT, [
    program('depcruise'),
    '--config',
    '.dependency-cruiser.cjs',
    ...CRUISED,
  ]),
  commandCheck('format and lint (biome)', ROOT, [program('biome'), 'ci', '--error-on-warnings', '.']),
  commandCheck('generated docs', ROOT, [program('tsx'), 'tools/docs.ts', '--check']),
  {
    name: 'migrations',
    run: async () => {
      const problem = await missingMigration(ROOT);
      return { ok: problem === null, output: problem ?? '' };
    },
  },
  {
    name: 'no clocks in the pure floors',
    run: async () => {
      const sightings = await checkClocks(ROOT);
      return { ok: sightings.length === 0, output: sightings.join('\n') };
    },
  },
];

function print(result: CheckResult): void {
  const seconds = (result.tookMs / 1000).toFixed(1);
  process.stdout.write(`${result.ok ? 'ok  ' : 'FAIL'} ${result.name} (${seconds} s)\n`);
  if (!result.ok) process.stdout.write(`${result.output}\n\n`);
}

const results = await runChecks(CHECKS, availableParallelism(), print);
const failed = results.filter((result) => !result.ok);
process.stdout.write(
  failed.length === 0 ? 'All checks passed.\n' : `Failed: ${failed.map(({ name }) => name).join('; ')}\n`,
);
process.exitCode = failed.length === 0 ? 0 : 1;
