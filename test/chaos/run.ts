/** One run: users ask, faults strike, everything heals, and witnesses and ledger are judged. */
import { setMaxListeners } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Turnwright } from '../../src/client/index.ts';
import { draw } from '../../src/sim/random.ts';
import type { Backend } from '../support/stack-contract.ts';
import { BrokenPromise, FAULT_KINDS, type Fault, type FaultKind, strike } from './faults.ts';
import { judgeLedger } from './ledger-oracle.ts';
import { judgeWitnesses, type Violation, violation, type Witnesses } from './oracle.ts';
import { type Producers, startProducers } from './producer.ts';
import { cameToRest, readLedger } from './read-ledger.ts';
import { type ChaosReport, reportOf } from './report.ts';
import { blows, type Pauses } from './schedule.ts';
import { readEffects } from './tools.ts';
import { NARROW, openWorld, type World } from './world.ts';

export interface ChaosOptions {
  readonly backend: Backend;
  readonly seed: number;
  readonly sessions: number;
  readonly workers: number;
  readonly leaseMs: number;
  /** Faults strike for so long, and until so many were done; producers go on meanwhile. */
  readonly lastsMs: number;
  readonly leastFaults: number;
  readonly pauses: Pauses;
  /** Names of the kinds that may strike; all that the backend has unless given. */
  readonly kinds?: readonly string[];
  readonly progress: (line: string) => void;
}

export interface ChaosRun {
  readonly report: ChaosReport;
  /** The folder with the log of every process; null when all held, and it is gone. */
  readonly folder: string | null;
}

const LEGS = [
  { name: 'quick', ordersOnly: false },
  { name: 'slow', ordersOnly: false },
  { name: NARROW, ordersOnly: true },
] as const;
/** All turns must have ended so long after the last fault healed. */
const SETTLE_MS = 90_000;
/** What ends no turn: probes, late receipts, the outbox. */
const REST_MS = 30_000;

export async function runChaos(options: ChaosOptions): Promise<ChaosRun> {
  const startedMs = Date.now();
  const world = await openWorld(options);
  let folder: string | null = world.folder;
  try {
    options.progress(`${world.postgres.kind}; logs in ${world.folder}`);
    const report = await disturb(world, options, startedMs);
    if (report.violations.length === 0) folder = null;
    return { report, folder };
  } finally {
    await world.close(folder !== null);
  }
}

async function disturb(world: World, options: ChaosOptions, startedMs: number): Promise<ChaosReport> {
  let going = true;
  const patience = new AbortController();
  setMaxListeners(0, patience.signal);
  const producers = startProducers({
    url: world.apiUrl,
    key: world.key,
    seed: options.seed,
    users: options.sessions,
    legs: LEGS,
    goesOn: () => going,
    signal: patience.signal,
  });
  const { faults, missed, broken } = await strikeAll(world, options);
  going = false;
  await Promise.all([world.api, ...world.workers].map((slot) => slot.ready()));
  options.progress(`healed; ${openTurns(producers)} turns are open`);
  await settle(producers, patience);
  const leftovers = await cameToRest(world, REST_MS);
  const sessions = await readLedger(world, producers.log.sessions);
  const stuck = await new Turnwright({ url: world.apiUrl, key: world.key }).turns.stuck();
  const witnesses: Witnesses = {
    log: producers.log,
    calls: world.sim.calls(),
    faults,
    crashes: world.crashes,
    effects: readEffects(world.effectsFile),
  };
  const violations = [
    ...broken,
    ...judgeWitnesses(witnesses),
    ...judgeLedger({ sessions, stuck, leftovers }, witnesses),
  ];
  // For whoever looks for the cause: the ledger is gone with its server, this is not.
  if (violations.length > 0) writeFileSync(join(world.folder, 'witnesses.json'), JSON.stringify(witnesses));
  const slots = [world.api, ...world.workers];
  const failedStarts = slots.reduce((sum, slot) => sum + slot.failedStarts, 0);
  return reportOf({ ...options, startedMs, witnesses, sessions, missed, failedStarts, violations });
}

interface Struck {
  readonly faults: readonly Fault[];
  /** By kind, those that another fault stood in the way of. */
  readonly missed: ReadonlyMap<string, number>;
  readonly broken: readonly Violation[];
}

async function strikeAll(world: World, options: ChaosOptions): Promise<Struck> {
  const faults: Fault[] = [];
  const missed = new Map<string, number>();
  const broken: Violation[] = [];
  const { lastsMs, leastFaults, seed, pauses, progress } = options;
  const untilMs = performance.now() + lastsMs;
  const dealt = kindsOf(options);
  // Undisturbed: what users then see is what every other run is held to.
  if (dealt.length === 0) await delay(lastsMs);
  for (const { n, kinds, pauseMs } of dealt.length === 0 ? [] : blows(seed, dealt, pauses)) {
    if (faults.length >= leastFaults && performance.now() + pauseMs > untilMs) break;
    await delay(pauseMs);
    await Promise.all(
      kinds.map(async (kind) => {
        const share = (word: string): number => draw(seed, 'place', n, kind.name, word);
        const fault = await strike(kind, n, { world, share });
        faults.push(fault);
        if (fault.problem instanceof BrokenPromise)
          broken.push(violation('wrong', `${kind.name}, blow ${n}`, fault.problem.message));
        else if (fault.problem !== null) missed.set(kind.name, (missed.get(kind.name) ?? 0) + 1);
        progress(`blow ${n}: ${kind.name}: ${fault.did}`);
      }),
    );
  }
  return { faults, missed, broken };
}

function kindsOf({ backend, kinds }: ChaosOptions): readonly FaultKind[] {
  return FAULT_KINDS.filter(
    ({ name, backends }) => backends.includes(backend) && (kinds === undefined || kinds.includes(name)),
  );
}

async function settle(producers: Producers, patience: AbortController): Promise<void> {
  const timer = setTimeout(() => patience.abort(), SETTLE_MS);
  await producers.done;
  clearTimeout(timer);
}

function openTurns({ log }: Producers): number {
  return log.asked.filter(({ end }) => end === null).length;
}
