/** A worker process: heartbeat, sweep, and one BullMQ worker a pool. Started in order, drained in order. */
import { hostname } from 'node:os';
import { LIMITS_CHANNEL, PROBES_CHANNEL } from '../db/index.ts';
import { type JobRef, POOLS, type Pool, type PoolWorker } from '../queues/contract.ts';
import { settledWithin } from '../queues/deadline.ts';
import { Budgets } from '../runtime/budgets.ts';
import { Heartbeat } from '../runtime/heartbeat.ts';
import { sessionMemory } from '../runtime/memory.ts';
import { ModelCalls } from '../runtime/model-calls.ts';
import { ProbeWatch } from '../runtime/probe-watch.ts';
import { RequestBuilder } from '../runtime/request.ts';
import { ResponseCache } from '../runtime/response-cache.ts';
import { RunningCalls } from '../runtime/running-calls.ts';
import { PoolSlots } from '../runtime/slots.ts';
import { SummariesAhead } from '../runtime/summaries-ahead.ts';
import { poolHandlers, type WorkerDeps } from '../workers/index.ts';
import { rates } from './catalogue.ts';
import { createLegs, sideLegs } from './legs.ts';
import type { Services } from './services.ts';

/** What is left of the grace once running calls were told to stop. */
const ABORT_GRACE_MS = 2_000;

export interface WorkerHost {
  readonly workerId: string;
  /** Takes no new job, lets running ones end within `graceMs`, then hands back what still runs. */
  drain(graceMs: number): Promise<void>;
}

/** Stands in for the configured legs: how a bench or a test brings a model of its own. */
export interface WorkerOverrides {
  readonly leg?: WorkerDeps['leg'];
}

export async function startWorkers(
  services: Services,
  pools: readonly Pool[] = POOLS,
  overrides: WorkerOverrides = {},
): Promise<WorkerHost> {
  const { engine, upkeep, notices, logger, workerId } = services;
  const running = new RunningCalls(engine.clock);
  let stopping = false;
  const onError = (error: unknown): void =>
    logger.warn({ err: error }, 'a worker met an error; its work is taken up again');
  const host = { engine, workerId, running, random: Math.random, stopping: () => stopping, onError };
  const deps = workerDeps(services, host, overrides);

  const heartbeat = openHeartbeat(services, host, pools);
  const slots = new PoolSlots();
  const workers: PoolWorker[] = [];
  let unlisten: () => Promise<void> = () => Promise.resolve();
  const drain = async (graceMs: number): Promise<void> => {
    const limitMs = graceMs + ABORT_GRACE_MS;
    const closing = [
      ...workers.map((worker) => worker.close(limitMs)),
      settledWithin(slots.close(), limitMs),
    ];
    const abort = setTimeout(() => {
      stopping = true;
      running.abortAll();
    }, graceMs);
    await Promise.all(closing);
    clearTimeout(abort);
    await services.sweeper.stop();
    await unlisten();
    await deps.watch.stop();
    await deps.limiter.stop();
    await heartbeat.stop();
  };
  try {
    await heartbeat.start();
    unlisten = await listen(notices, deps);
    await Promise.all([engine.admission.refresh(), deps.limiter.start(), deps.watch.start()]);
    await takeJobs(services, pools, poolHandlers(deps, upkeep), { workers, slots, onError });
  } catch (error) {
    await drain(0).catch(onError);
    throw error;
  }
  services.sweeper.start();

  let drained: Promise<void> | null = null;
  return {
    workerId,
    drain: (graceMs) => {
      drained ??= drain(graceMs);
      return drained;
    },
  };
}

function openHeartbeat(
  { config, engine, upkeep }: Services,
  { workerId, running, onError }: WorkerDeps['host'],
  pools: readonly Pool[],
): Heartbeat {
  const concurrency = Object.fromEntries(pools.map((pool) => [pool, config.pools[pool].concurrency]));
  return new Heartbeat({
    upkeep,
    worker: { id: workerId, host: hostname(), pid: process.pid, pools: concurrency },
    running,
    intervalMs: config.heartbeatMs,
    leaseMs: config.leaseMs,
    clock: engine.clock,
    onError,
  });
}

async function listen(
  notices: Services['notices'],
  { host, limiter, watch, probes }: Pick<WorkerDeps, 'host' | 'limiter' | 'watch' | 'probes'>,
): Promise<() => Promise<void>> {
  const unlisten = [
    await notices.listen('turnwright_cancel', (notice) => host.running.abort(notice)),
    await notices.listen(LIMITS_CHANNEL, (key) => limiter.hear(key)),
    await notices.listen(PROBES_CHANNEL, (flight) => {
      watch.hear(flight);
      probes.heard(flight);
    }),
  ];
  return async () => {
    for (const stop of unlisten) await stop();
  };
}

type Handlers = ReturnType<typeof poolHandlers>;

interface TakeJobs {
  /** Filled as they start, so that a failed start can stop them. */
  readonly workers: PoolWorker[];
  readonly slots: PoolSlots;
  readonly onError: (error: unknown) => void;
}

async function takeJobs(
  services: Services,
  pools: readonly Pool[],
  handlers: Handlers,
  { workers, slots, onError }: TakeJobs,
): Promise<void> {
  const { config, engine, queue } = services;
  if (config.calls.startHere)
    engine.admission.serve((pool, ref) =>
      slots.start(pool, () => handlers[pool](ref).then(() => {}, onError)),
    );
  for (const pool of pools) {
    const handle = (ref: JobRef): Promise<void> =>
      slots.run(pool, async () => {
        await handlers[pool](ref);
      });
    const { concurrency } = config.pools[pool];
    const worker = await queue.work(pool, { concurrency, handle, onError });
    workers.push(worker);
    slots.serve(pool, concurrency, (most) => worker.limit(most));
  }
}

function workerDeps(services: Services, host: WorkerDeps['host'], overrides: WorkerOverrides): WorkerDeps {
  const { config, store, engine, turns, planning, vectors, limiter, surface, bus, newId, flights, probes } =
    services;
  const { clock } = engine;
  const { onError } = host;
  const watch = new ProbeWatch({ flights, engine, onError });
  const leg = overrides.leg ?? createLegs(config.legs, (name) => process.env[name]);
  return {
    host,
    configs: engine.configs,
    profiles: services.legProfiles,
    requests: new RequestBuilder(planning, turns),
    ahead: new SummariesAhead(engine, planning, newId),
    ...(vectors === null ? {} : { vectors }),
    memory: (loaded) => sessionMemory({ store, indexes: engine.indexes, turns, clock }, loaded),
    calls: new ModelCalls({
      limiter,
      cache: new ResponseCache({ settings: config.responseCache, store: services.responses, clock, onError }),
      budgets: new Budgets({
        store: services.usage,
        clock,
        tenantMicroUsdPerDay: config.limits.tenantMicroUsdPerDay,
      }),
      watch,
      clock,
      rateOf: rates(config),
      onError,
    }),
    limiter,
    probes,
    watch,
    flights,
    turns,
    surface,
    conditions: config.stopConditions,
    bus,
    root: config.root,
    newId,
    leg,
    sideLeg: sideLegs(config, leg),
    intent: config.intent,
    outbound: { allow: config.outbound.allow, secret: (name) => process.env[name], clock },
  };
}
