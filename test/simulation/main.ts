/**
 * `npm run simulate -- [--seeds N] [--from S] [--seed S [--trace]] [--bug NAME]`: judges N worlds, or one of them
 * with all that happened in it. Exits 1 when a law is broken.
 */
import { parseArgs } from 'node:util';
import { type Simulated, type SimulateOptions, simulate } from './simulate.ts';
import { BUGS } from './world/bugs.ts';

const DEFAULT_SEEDS = 500;
const REPORT_EVERY = 250;
const SHOWN_LINES = 40;
const SHOWN_FAILURES = 5;

const { values } = parseArgs({
  options: {
    seeds: { type: 'string' },
    from: { type: 'string' },
    seed: { type: 'string' },
    trace: { type: 'boolean', default: false },
    bug: { type: 'string' },
  },
});

function whole(name: string, text: string | undefined, otherwise: number): number {
  const number = Number(text ?? otherwise);
  if (Number.isInteger(number) && number >= 0) return number;
  process.stderr.write(`--${name} is ${text}; it must be a whole number\n`);
  process.exit(2);
}

function bugNamed(name: string | undefined): SimulateOptions {
  if (name === undefined) return {};
  const bug = Object.hasOwn(BUGS, name) ? BUGS[name] : undefined;
  if (bug !== undefined) return { bug };
  process.stderr.write(`There is no bug "${name}". They are:\n  ${Object.keys(BUGS).join('\n  ')}\n`);
  process.exit(2);
}

function show({ seed, digest, broken, lines }: Simulated, most: number): void {
  const again = `npm run simulate -- --seed ${seed} --trace`;
  process.stdout.write(`${lines.slice(-most).join('\n')}\n\nseed ${seed}, digest ${digest}: `);
  process.stdout.write(broken.length === 0 ? 'every law holds\n' : `${broken.join('\n  ')}\n  ${again}\n\n`);
}

async function one(seed: number): Promise<number> {
  const simulated = await simulate(seed, { ...bugNamed(values.bug), keepTrace: values.trace });
  show(simulated, values.trace ? Number.POSITIVE_INFINITY : SHOWN_LINES);
  return simulated.broken.length;
}

async function many(seeds: number, from: number): Promise<number> {
  const startedMs = performance.now();
  const counts = new Map<string, number>();
  let failed = 0;
  for (let done = 1; done <= seeds; done += 1) {
    const simulated = await simulate(from + done - 1, bugNamed(values.bug));
    for (const [what, count] of simulated.counts) counts.set(what, (counts.get(what) ?? 0) + count);
    for (const end of simulated.outcomes) counts.set(`turns ${end}`, (counts.get(`turns ${end}`) ?? 0) + 1);
    if (simulated.broken.length > 0) {
      failed += 1;
      if (failed <= SHOWN_FAILURES) show(simulated, SHOWN_LINES);
      else process.stdout.write(`seed ${simulated.seed}: ${simulated.broken[0]}\n`);
    }
    if (done % REPORT_EVERY === 0) process.stderr.write(`${done} seeds, ${failed} failed\n`);
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  for (const [what, count] of [...counts].sort(([a], [b]) => a.localeCompare(b)))
    process.stdout.write(`${String(count).padStart(8)}  ${what}\n`);
  process.stdout.write(
    `${seeds} seeds from ${from} in ${seconds.toFixed(1)} s, ${(seeds / seconds).toFixed(1)} a second: ${failed} failed\n`,
  );
  return failed;
}

const broken =
  values.seed === undefined
    ? await many(whole('seeds', values.seeds, DEFAULT_SEEDS), whole('from', values.from, 1))
    : await one(whole('seed', values.seed, 1));
process.exitCode = broken === 0 ? 0 : 1;
