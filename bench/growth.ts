/** One session over thousands of turns: does a late turn cost more than a young one, on disk, in memory or in time? */
import type { SessionRef } from '../src/db/contract.ts';
import { CONTENT_BYTES } from './content.ts';
import { type Deployment, openDeployment } from './deployment.ts';
import { type Disk, diskOf, grownBy } from './disk.ts';
import type { Backend, Servers } from './servers.ts';
import { median } from './statistics.ts';
import type { BenchWorker } from './worker-process.ts';

export const DEFAULT_TURNS = 5_000;
export const QUICK_TURNS = 200;
const WINDOWS_TOKENS = [8_192, 128_000] as const;
const WARM_UP_TURNS = 100;
const CHECKPOINTS = 5;
/** Measured at each checkpoint, of the long session and of young ones in alternation. */
const PAIRS = 20;
/** Of a young session, the turns around its fifth. */
const YOUNG: { readonly from: number; readonly to: number } = { from: 3, to: 7 };
/** Turns of young sessions at one checkpoint: of each, those before the measured ones too. */
const YOUNG_TURNS = (PAIRS / (YOUNG.to - YOUNG.from + 1)) * YOUNG.to;
const LOOK_EVERY_TURNS = 20;

export interface Checkpoint {
  /** Of the long session. */
  readonly turn: number;
  readonly lateMs: number;
  readonly youngMs: number;
  readonly ratio: number;
  /** Of the worker process and of its JavaScript heap, right after a full collection. */
  readonly residentBytes: number;
  readonly heapBytes: number;
  readonly samples: { readonly lateMs: readonly number[]; readonly youngMs: readonly number[] };
}

export interface GrowthRow {
  readonly backend: Backend;
  readonly windowTokens: number;
  readonly turns: number;
  readonly checkpoints: readonly Checkpoint[];
  /** The worker's largest, uncollected, looked at every 20 turns. */
  readonly residentMostBytes: number;
  readonly contentBytesPerTurn: number;
  readonly diskBytesPerTurn: number;
  readonly diskOverContent: number;
  /** What all turns of the run added. */
  readonly disk: Disk;
}

export async function growth(
  servers: Servers,
  backend: Backend,
  turns: number,
): Promise<readonly GrowthRow[]> {
  const rows: GrowthRow[] = [];
  for (const windowTokens of WINDOWS_TOKENS) {
    const deployment = await openDeployment(servers, backend, { windowTokens });
    try {
      const grown = await grow(deployment, await deployment.addWorker(), turns);
      rows.push({ backend, windowTokens, turns, contentBytesPerTurn: CONTENT_BYTES, ...grown });
    } finally {
      await deployment.close();
    }
  }
  return rows;
}

type Grown = Omit<GrowthRow, 'backend' | 'windowTokens' | 'turns' | 'contentBytesPerTurn'>;

async function grow(deployment: Deployment, worker: BenchWorker, turns: number): Promise<Grown> {
  const warm = await deployment.session();
  for (let n = 0; n < WARM_UP_TURNS; n++) await deployment.turn(warm);
  const before = await diskOf(deployment.services);
  const long = await deployment.session();
  const checkpoints: Checkpoint[] = [];
  let residentMostBytes = 0;
  let turn = 0;
  for (let n = 1; n <= CHECKPOINTS; n++) {
    const end = Math.round((turns * n) / CHECKPOINTS);
    for (; turn < end - PAIRS; turn++) {
      await deployment.turn(long);
      if (turn % LOOK_EVERY_TURNS === 0)
        residentMostBytes = Math.max(residentMostBytes, (await worker.usage(false)).residentBytes);
    }
    checkpoints.push(await checkpoint(deployment, worker, long, end));
    turn = end;
  }
  const disk = grownBy(before, await diskOf(deployment.services));
  const diskBytesPerTurn = disk.bytes / (turns + CHECKPOINTS * YOUNG_TURNS);
  return {
    checkpoints,
    residentMostBytes,
    diskBytesPerTurn,
    diskOverContent: diskBytesPerTurn / CONTENT_BYTES,
    disk,
  };
}

/** The last turns before `end`, each beside one of a young session. */
async function checkpoint(
  deployment: Deployment,
  worker: BenchWorker,
  long: SessionRef,
  end: number,
): Promise<Checkpoint> {
  const late: number[] = [];
  const young: number[] = [];
  while (young.length < PAIRS) {
    const session = await deployment.session();
    for (let turn = 1; turn < YOUNG.from; turn++) await deployment.turn(session);
    for (let turn = YOUNG.from; turn <= YOUNG.to; turn++) {
      late.push(await deployment.turn(long));
      young.push(await deployment.turn(session));
    }
  }
  const { residentBytes, heapBytes } = await worker.usage(true);
  const [lateMs, youngMs] = [median(late), median(young)];
  const samples = { lateMs: late, youngMs: young };
  return { turn: end, lateMs, youngMs, ratio: lateMs / youngMs, residentBytes, heapBytes, samples };
}
