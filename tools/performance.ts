/** Writes `docs/performance.md` from the last run of each bench. Not part of the checked pages: figures change by run. */
import { readFile, writeFile } from 'node:fs/promises';
import { BENCH_NAMES, type BenchName, type Machine, outFile, type WrittenRun } from '../bench/results.ts';
import { asMarkdown, tablesOf } from '../bench/tables.ts';

const INTRO = `\`npm run bench\` measures; this page is written from what it left in \`bench/out\` (\`npx tsx tools/performance.ts\`). Every figure is to be read beside its floor or its peer of the same run: machines differ, and so do their hours.

*The standard turn*: one directive, three model steps, two of them call a tool that returns 2 KB, an answer of 500 characters; the model answers at once, so what is left is the engine. Durable in Postgres after every step, with \`fsync\` and \`synchronous_commit\` on.`;

const machines = new Set<string>();
const loads: number[] = [];
const sections: string[] = [];
for (const name of BENCH_NAMES) sections.push(...(await sectionsOf(name)));
if (sections.length === 0) throw new Error('bench/out holds no run; `npm run bench` makes one');
const measured = `Measured on ${[...machines].join('; and on ')}. Load average before the runs: ${loadRange()}.`;
await writeFile('docs/performance.md', `${['# Performance', INTRO, measured, ...sections].join('\n\n')}\n`);

async function sectionsOf<Name extends BenchName>(name: Name): Promise<readonly string[]> {
  const text = await readFile(outFile(name), 'utf8').catch(() => null);
  if (text === null) return [];
  const { machine, quick, results } = JSON.parse(text) as WrittenRun<Name>;
  machines.add(described(machine));
  loads.push(machine.loadBefore);
  const doubt = quick ? ['*From a quick run of few rounds: for tuning, not for comparing.*'] : [];
  return tablesOf(name, results).flatMap((table) => [asMarkdown(table), ...doubt]);
}

function described({ cores, processor, platform, node, postgres }: Machine): string {
  return `${cores} cores of ${processor} (${platform}, Node ${node}, PostgreSQL ${postgres})`;
}

function loadRange(): string {
  const [least, most] = [Math.min(...loads).toFixed(1), Math.max(...loads).toFixed(1)];
  return least === most ? least : `${least} to ${most}`;
}
