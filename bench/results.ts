/** What each bench gives, and how a run of it is written down. */
import { cpus, loadavg, platform } from 'node:os';
import type { BacktrackRow } from './backtrack.ts';
import type { CancelRow } from './cancel.ts';
import type { GrowthRow } from './growth.ts';
import type { OverheadResult } from './overhead.ts';
import type { PeerRow } from './peers.ts';
import type { PlanRow } from './plan.ts';
import type { ProbeRow } from './probe.ts';
import type { ProbingResult } from './probing.ts';
import type { ReadingRow } from './reading.ts';
import type { RecallRow } from './recall.ts';
import type { ThroughputRow } from './throughput.ts';
import type { TranscriptRow } from './transcript.ts';

export interface Results {
  readonly overhead: readonly OverheadResult[];
  readonly throughput: readonly ThroughputRow[];
  readonly growth: readonly GrowthRow[];
  readonly cancel: readonly CancelRow[];
  readonly plan: readonly PlanRow[];
  readonly recall: readonly RecallRow[];
  readonly transcript: readonly TranscriptRow[];
  readonly backtrack: readonly BacktrackRow[];
  readonly reading: readonly ReadingRow[];
  readonly probe: readonly ProbeRow[];
  readonly probing: ProbingResult;
  readonly peers: readonly PeerRow[];
}
export type BenchName = keyof Results;

export const BENCH_NAMES = [
  'overhead',
  'throughput',
  'growth',
  'cancel',
  'plan',
  'recall',
  'transcript',
  'backtrack',
  'reading',
  'probe',
  'probing',
  'peers',
] as const satisfies readonly BenchName[];

export interface Machine {
  readonly cores: number;
  readonly processor: string;
  readonly platform: string;
  readonly node: string;
  readonly postgres: string;
  /** One-minute load average before the first bench: what else ran. */
  readonly loadBefore: number;
}

/** The content of `bench/out/<name>.json`. */
export interface WrittenRun<Name extends BenchName> {
  readonly machine: Machine;
  /** Few rounds, for tuning: no figure to publish. */
  readonly quick: boolean;
  readonly results: Results[Name];
}

export const OUT_FOLDER = new URL('./out/', import.meta.url);

export function outFile(name: BenchName): URL {
  return new URL(`${name}.json`, OUT_FOLDER);
}

export function thisMachine(postgres: string): Machine {
  return {
    cores: cpus().length,
    processor: cpus()[0]?.model.trim() ?? 'an unnamed processor',
    platform: platform(),
    node: process.versions.node,
    postgres,
    loadBefore: loadavg()[0] ?? 0,
  };
}
