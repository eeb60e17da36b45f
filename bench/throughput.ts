/** Standard turns a second with many sessions at once, on one worker process and on several, beside the floor. */
import { closedLoop, type Loop, perSecond } from './closed-loop.ts';
import { type Deployment, openDeployment } from './deployment.ts';
import { type Floor, type FloorParts, floorPerSecond, openFloor } from './floor.ts';
import type { Backend, Servers } from './servers.ts';
import { median, quantile, type Spread, spread } from './statistics.ts';
import type { BenchWorker } from './worker-process.ts';

/** A turn late in a session carries a longer request: sessions are new in every round, and stay young. */
const LOADS = [
  { sessions: 16, turnsPerSession: 20 },
  { sessions: 200, turnsPerSession: 4 },
] as const;
const PROCESSES = [1, 2] as const;
const ROUNDS = 3;
/** For every process that joins: its code is compiled by running it. */
const WARM_UP = { sessions: 16, turns: 400 } as const;
const QUICK = { rounds: 1, turnsPerSession: 2, warmUpTurns: 100 } as const;
const FLOOR_IN_FLIGHT = 16;
const FLOOR_SAMPLES = 1_500;
const WINDOW_TOKENS = 128_000;
const MICROSECONDS_PER_MS = 1_000;
const P95 = 0.95;

export interface ThroughputRow {
  readonly backend: Backend;
  readonly sessions: number;
  readonly processes: number;
  readonly turnsPerSecond: Spread;
  readonly p50Ms: number;
  readonly p95Ms: number;
  /** A second: each part of the floor with 16 in flight, and the turns they would allow. */
  readonly parts: FloorParts;
  readonly floorPerSecond: number;
  /** Floor over ours: how many times its floor a turn costs. */
  readonly ratio: Spread;
  /** Node's alone, in all workers, and in the producer that accepts turns and drives them. */
  readonly workerCpuMsPerTurn: number;
  readonly producerCpuMsPerTurn: number;
  readonly rounds: readonly Round[];
}

interface Round {
  readonly parts: FloorParts;
  readonly turnsPerSecond: number;
  readonly workerCpuMs: number;
  readonly producerCpuMs: number;
  readonly turnMs: readonly number[];
}

export async function throughput(
  servers: Servers,
  backend: Backend,
  { quick }: { readonly quick: boolean },
): Promise<readonly ThroughputRow[]> {
  const deployment = await openDeployment(servers, backend, { windowTokens: WINDOW_TOKENS });
  const floor = await openFloor(deployment.services, FLOOR_IN_FLIGHT);
  const workers: BenchWorker[] = [];
  const rows: ThroughputRow[] = [];
  try {
    for (const processes of PROCESSES) {
      while (workers.length < processes) workers.push(await deployment.addWorker());
      await warmUp(deployment, quick ? QUICK.warmUpTurns : WARM_UP.turns);
      for (const load of LOADS) {
        const turns = load.sessions * (quick ? QUICK.turnsPerSession : load.turnsPerSession);
        const site = { deployment, floor, workers, sessions: load.sessions, turns };
        const rounds: Round[] = [];
        while (rounds.length < (quick ? QUICK.rounds : ROUNDS)) rounds.push(await measure(site));
        rows.push(row(backend, { processes, sessions: load.sessions }, rounds));
      }
    }
  } finally {
    await floor.close();
    await deployment.close();
  }
  return rows;
}

async function warmUp(deployment: Deployment, turns: number): Promise<void> {
  const sessions = await newSessions(deployment, WARM_UP.sessions);
  await closedLoop(sessions, turns, (session) => deployment.turn(session));
}

function newSessions(deployment: Deployment, count: number) {
  return Promise.all(Array.from({ length: count }, () => deployment.session()));
}

interface Site {
  readonly deployment: Deployment;
  readonly floor: Floor;
  readonly workers: readonly BenchWorker[];
  readonly sessions: number;
  readonly turns: number;
}

async function measure({ deployment, floor, workers, sessions, turns }: Site): Promise<Round> {
  const refs = await newSessions(deployment, sessions);
  const parts = await floor.rates(FLOOR_SAMPLES);
  const workersBefore = await cpuOf(workers);
  const before = process.cpuUsage();
  const loop: Loop = await closedLoop(refs, turns, (session) => deployment.turn(session));
  const { user, system } = process.cpuUsage(before);
  return {
    parts,
    turnsPerSecond: perSecond(loop),
    workerCpuMs: ((await cpuOf(workers)) - workersBefore) / turns,
    producerCpuMs: (user + system) / MICROSECONDS_PER_MS / turns,
    turnMs: loop.turnMs,
  };
}

async function cpuOf(workers: readonly BenchWorker[]): Promise<number> {
  const usages = await Promise.all(workers.map((worker) => worker.usage(false)));
  return usages.reduce((sum, { cpuMs }) => sum + cpuMs, 0);
}

function row(
  backend: Backend,
  size: Pick<ThroughputRow, 'sessions' | 'processes'>,
  rounds: readonly Round[],
): ThroughputRow {
  const turnMs = rounds.flatMap((round) => round.turnMs);
  return {
    backend,
    ...size,
    turnsPerSecond: spread(rounds.map((round) => round.turnsPerSecond)),
    p50Ms: median(turnMs),
    p95Ms: quantile(turnMs, P95),
    parts: {
      commit: median(rounds.map((round) => round.parts.commit)),
      claim: median(rounds.map((round) => round.parts.claim)),
      trip: median(rounds.map((round) => round.parts.trip)),
    },
    floorPerSecond: median(rounds.map((round) => floorPerSecond(round.parts))),
    ratio: spread(rounds.map((round) => floorPerSecond(round.parts) / round.turnsPerSecond)),
    workerCpuMsPerTurn: median(rounds.map((round) => round.workerCpuMs)),
    producerCpuMsPerTurn: median(rounds.map((round) => round.producerCpuMs)),
    rounds,
  };
}
