/**
 * `npm run bench [-- --only overhead,throughput,growth,cancel,plan,recall,transcript,backtrack,reading,probe,probing,peers] [--backend redis|postgres]
 * [--turns N] [--quick] [--json]`: measures, prints a table for every target, and writes all of it to `bench/out`.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { backtrackBench } from './backtrack.ts';
import { cancel } from './cancel.ts';
import { DEFAULT_TURNS, growth, QUICK_TURNS } from './growth.ts';
import { overhead } from './overhead.ts';
import { peers } from './peers.ts';
import { planBench } from './plan.ts';
import { probeReport } from './probe.ts';
import { probingBench } from './probing.ts';
import { readingBench } from './reading.ts';
import { recall } from './recall.ts';
import {
  BENCH_NAMES,
  type BenchName,
  type Machine,
  OUT_FOLDER,
  outFile,
  type Results,
  thisMachine,
  type WrittenRun,
} from './results.ts';
import { BACKENDS, type Backend, type Servers, startServers } from './servers.ts';
import { asText, tablesOf } from './tables.ts';
import { throughput } from './throughput.ts';
import { transcriptBench } from './transcript.ts';

interface Options {
  readonly only: readonly BenchName[];
  readonly backends: readonly Backend[];
  readonly turns: number;
  readonly quick: boolean;
  readonly json: boolean;
}

type Bench<Name extends BenchName> = (servers: Servers, options: Options) => Promise<Results[Name]>;

const BENCHES: { readonly [Name in BenchName]: Bench<Name> } = {
  overhead: async (servers, { backends, quick }) => {
    const both = (backend: Backend) =>
      inTurn([false, true], (startHere) => overhead(servers, backend, { quick, startHere }));
    return (await inTurn(backends, both)).flat();
  },
  throughput: async (servers, options) =>
    (await inTurn(options.backends, (backend) => throughput(servers, backend, options))).flat(),
  // The queue is no part of what grows, and the run is long: one backend shows it.
  growth: async (servers, { backends, turns }) =>
    (await inTurn(backends.slice(0, 1), (backend) => growth(servers, backend, turns))).flat(),
  cancel: async (servers, options) =>
    (await inTurn(options.backends, (backend) => cancel(servers, backend, options))).flat(),
  // Neither needs a queue: a plan is a reading, and the last turn of a recall runs where it is asked.
  plan: (servers, options) => planBench(servers, options),
  recall: (_, options) => recall(options),
  transcript: (servers, options) => transcriptBench(servers, options),
  backtrack: (servers, options) => backtrackBench(servers, options),
  reading: async (_, options) => readingBench(options),
  probe: () => probeReport(),
  probing: (servers, options) => probingBench(servers, options),
  peers: (servers, options) => peers(servers, options.backends, options),
};

const options = readOptions();
await mkdir(OUT_FOLDER, { recursive: true });
const servers = await startServers();
const machine = thisMachine(servers.postgresVersion);
const written: Partial<Record<BenchName, unknown>> = {};
try {
  for (const name of options.only) await run(name, machine);
} finally {
  await servers.close();
}
if (options.json) console.log(JSON.stringify(written));

async function run<Name extends BenchName>(name: Name, on: Machine): Promise<void> {
  const startedMs = performance.now();
  const results = await BENCHES[name](servers, options);
  const whole: WrittenRun<Name> = { machine: on, quick: options.quick, results };
  await writeFile(outFile(name), JSON.stringify(whole, null, 1));
  written[name] = whole;
  if (options.json) return;
  const took = `${((performance.now() - startedMs) / 1_000).toFixed(0)} s`;
  for (const table of tablesOf(name, results)) console.log(`${asText(table)}\n`);
  console.log(`  ${name} took ${took}\n`);
}

async function inTurn<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (const item of items) results.push(await work(item));
  return results;
}

function readOptions(): Options {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', default: BENCH_NAMES.join(',') },
      backend: { type: 'string', default: BACKENDS.join(',') },
      turns: { type: 'string' },
      quick: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  });
  const turns = Number(values.turns ?? (values.quick ? QUICK_TURNS : DEFAULT_TURNS));
  if (!Number.isSafeInteger(turns) || turns < QUICK_TURNS)
    throw new RangeError(`--turns is ${values.turns}; it must be a whole number from ${QUICK_TURNS} on`);
  return {
    only: chosen('--only', values.only, BENCH_NAMES),
    backends: chosen('--backend', values.backend, BACKENDS),
    turns,
    quick: values.quick,
    json: values.json,
  };
}

function chosen<Name extends string>(option: string, given: string, known: readonly Name[]): readonly Name[] {
  const names = given.split(',');
  const strange = names.find((name) => !known.some((candidate) => candidate === name));
  if (strange !== undefined)
    throw new RangeError(`${option} names "${strange}"; allowed is ${known.join(', ')}, joined by commas`);
  return known.filter((name) => names.includes(name));
}
