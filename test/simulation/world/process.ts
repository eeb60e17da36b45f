/**
 * One process of the deployment, wired as `src/app` wires it, with everything outside it reached over the wire of
 * the world. States: starting, running, draining, ended; paused is a time during which nothing of it happens.
 */
import { createCards } from '../../../src/context/cards/index.ts';
import { PROBES_CHANNEL } from '../../../src/db/probe-flights.ts';
import { LIMITS_CHANNEL } from '../../../src/db/rate-limits.ts';
import type { Clock } from '../../../src/ledger/clock.ts';
import type { MachineRegistry } from '../../../src/machines/registry.ts';
import type { Pool, PoolWorker, QueueBackend } from '../../../src/queues/contract.ts';
import { Admission } from '../../../src/runtime/admission.ts';
import { Engine } from '../../../src/runtime/engine.ts';
import { Heartbeat } from '../../../src/runtime/heartbeat.ts';
import { sessionMemory } from '../../../src/runtime/memory.ts';
import { Planning } from '../../../src/runtime/planning.ts';
import { Profiles } from '../../../src/runtime/profiles.ts';
import { RateLimiter } from '../../../src/runtime/rate-limiter.ts';
import { RequestBuilder } from '../../../src/runtime/request.ts';
import { RunningCalls } from '../../../src/runtime/running-calls.ts';
import { SummariesAhead } from '../../../src/runtime/summaries-ahead.ts';
import { Sweeper } from '../../../src/runtime/sweeper.ts';
import { TurnCache } from '../../../src/runtime/turn-cache.ts';
import { createToolSurface } from '../../../src/tools/surface.ts';
import { poolHandlers, type WorkerDeps } from '../../../src/workers/index.ts';
import { callParts, UNLISTED } from '../../support/call-parts.ts';
import type { Owner } from './scheduler.ts';
import type { Surroundings } from './surroundings.ts';

export const LEASE_MS = 6_000;
const HEARTBEAT_MS = 2_000;
const SWEEP_INTERVAL_MS = 1_000;
const READMIT_MS = LEASE_MS / 2;
const DRAIN_GRACE_MS = 3_000;
const ABORT_GRACE_MS = 2_000;
const CONCURRENCY: Readonly<Record<Pool, number>> = {
  turn: 2,
  step: 2,
  tool: 2,
  summary: 1,
  probe: 1,
  intent: 1,
  upkeep: 1,
};

export class Process implements Owner {
  readonly name: string;
  readonly id: string;
  readonly pools: readonly Pool[];
  readonly registry: MachineRegistry;
  readonly engine: Engine;
  alive = true;
  pausedUntilMs = 0;
  /** How far its wall clock is from the truth. */
  wallStepMs = 0;
  readonly #around: Surroundings;
  readonly #queue: QueueBackend;
  readonly #sweeper: Sweeper;
  readonly #running: RunningCalls;
  readonly #heartbeat: Heartbeat;
  readonly #deps: WorkerDeps;
  readonly #workers: PoolWorker[] = [];
  #stopping = false;

  constructor(name: string, pools: readonly Pool[], registry: MachineRegistry, around: Surroundings) {
    this.name = name;
    this.registry = registry;
    this.id = around.newId();
    this.pools = pools;
    this.#around = around;
    this.#queue = around.queueOf(this);
    const clock = this.#clock();
    const onError = (error: unknown): void => around.failed(this, error);
    const upkeep = around.upkeepOf(this);
    const store = around.storeOf(this);
    const queue = this.#queue;
    let sweeper: Sweeper | null = null;
    const admission = new Admission({
      queue,
      upkeep,
      leaseMs: LEASE_MS,
      clock,
      onError,
      wakeIn: (delayMs) => sweeper?.wakeIn(delayMs),
    });
    sweeper = new Sweeper({
      upkeep,
      queue,
      admission,
      leaseMs: LEASE_MS,
      intervalMs: SWEEP_INTERVAL_MS,
      readmitMs: READMIT_MS,
      random: around.random,
      clock,
      onError,
    });
    this.#sweeper = sweeper;
    const turns = new TurnCache(store);
    const surface = createToolSurface(around.toolsOf(this));
    this.engine = new Engine({
      store,
      registry,
      admission,
      clock,
      timezone: 'UTC',
      cards: createCards([]),
      surface,
      turns,
    });
    const { indexes } = this.engine;
    const planning = new Planning(indexes, turns);
    this.#running = new RunningCalls(clock);
    const worker = { id: this.id, host: 'here', pid: 1, pools: concurrencyOf(pools) };
    this.#heartbeat = new Heartbeat({
      upkeep,
      worker,
      running: this.#running,
      intervalMs: HEARTBEAT_MS,
      leaseMs: LEASE_MS,
      clock,
      onError,
    });
    const limiter = new RateLimiter({
      store: around.rateLimitsOf(this),
      workerId: this.id,
      leaseMs: LEASE_MS,
      clock,
      onError,
    });
    const leg = (name: string) => ({ leg: around.leg(name), provider: around.providerOf(this) });
    const flights = around.flightsOf(this);
    this.#deps = {
      host: {
        engine: this.engine,
        workerId: this.id,
        running: this.#running,
        random: around.random,
        stopping: () => this.#stopping,
        onError,
      },
      ...callParts({ engine: this.engine, clock, limiter, flights, newId: around.newId, leg, onError }),
      configs: this.engine.configs,
      profiles: new Profiles({ store: around.profilesOf(this), clock, ...UNLISTED, onError }),
      requests: new RequestBuilder(planning, turns),
      ahead: new SummariesAhead(this.engine, planning, around.newId),
      memory: (loaded) => sessionMemory({ store, indexes, turns, clock }, loaded),
      limiter,
      turns,
      surface,
      bus: around.bus,
      root: '/nowhere',
      newId: around.newId,
      leg,
    };
  }

  /** Takes jobs from when this resolves. Rejects when the database or the queue is away, as a process then ends. */
  async start(): Promise<void> {
    if (this.pools.length === 0) return;
    const handlers = poolHandlers(this.#deps, this.#around.upkeepOf(this));
    await this.#heartbeat.start();
    await Promise.all([
      this.engine.admission.refresh(),
      this.#deps.limiter.start(),
      this.#deps.watch.start(),
    ]);
    for (const pool of this.pools) {
      const options = {
        concurrency: CONCURRENCY[pool],
        handle: async (ref: Parameters<(typeof handlers)[Pool]>[0]) => {
          await handlers[pool](ref);
        },
        onError: (error: Error) => this.#around.failed(this, error),
      };
      this.#workers.push(await this.#queue.work(pool, options));
    }
    this.#sweeper.start();
  }

  /** SIGTERM: as `startWorkers` drains. */
  async drain(): Promise<void> {
    const closing = this.#workers.map((worker) => worker.close(DRAIN_GRACE_MS + ABORT_GRACE_MS));
    const disarm = this.#clock().after(DRAIN_GRACE_MS, () => {
      this.#stopping = true;
      this.#running.abortAll();
    });
    await Promise.all(closing);
    disarm();
    await this.#sweeper.stop();
    await this.#deps.limiter.stop();
    await this.#heartbeat.stop();
  }

  /** A notice of the database. */
  hears(channel: string, payload: string): void {
    if (channel === LIMITS_CHANNEL) this.#deps.limiter.hear(payload);
    else if (channel === PROBES_CHANNEL) {
      this.#deps.watch.hear(payload);
      this.#deps.probes.heard(payload);
    } else this.#running.abort(payload);
  }

  get idle(): boolean {
    return this.#running.size === 0;
  }

  #clock(): Clock {
    const { scheduler } = this.#around;
    return {
      nowMs: () => this.#around.epochMs + scheduler.nowMs + this.wallStepMs,
      monotonicMs: () => scheduler.nowMs,
      sleep: (delayMs) =>
        new Promise((resolve) => {
          scheduler.after(delayMs, this, resolve);
        }),
      after: (delayMs, act) => scheduler.after(delayMs, this, act),
    };
  }
}

function concurrencyOf(pools: readonly Pool[]): Readonly<Record<string, number>> {
  return Object.fromEntries(pools.map((pool) => [pool, CONCURRENCY[pool]]));
}
