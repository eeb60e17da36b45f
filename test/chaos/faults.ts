/** Every way in which a run is disturbed. Each ends healed: the servers answer again, the supervisors do the rest. */
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { until } from '../support/await.ts';
import { BACKENDS, type Backend } from '../support/stack-contract.ts';
import type { Slot } from './processes.ts';
import { handOverTwice } from './queue-faults.ts';
import { ONCE_TOOL, readEffects } from './tools.ts';
import { QUEUE_NAMESPACE, type World } from './world.ts';

/** Two faults at once never have one subject. */
type Subject = 'workers' | 'api' | 'queue' | 'database';

export interface FaultKind {
  readonly name: string;
  readonly backends: readonly Backend[];
  readonly subject: Subject;
  /** A model call that was under way may be made again, once for each such fault. */
  readonly repeatsCalls: boolean;
  /** Processes that live on notice only later what it did to their claims. */
  readonly lingers: boolean;
  /** Resolves when it is over, with what it did. */
  run(place: Place): Promise<string>;
}

/** Where a fault strikes: drawn from the seed, so that the same seed strikes alike. */
export interface Place {
  readonly world: World;
  /** In [0, 1). */
  share(word: string): number;
}

/** What was done to the world, and from when to when anything of it could still be felt. */
export interface Fault {
  readonly n: number;
  readonly kind: string;
  readonly repeatsCalls: boolean;
  readonly did: string;
  /** Why it could not be done, or a `BrokenPromise`: what it met was not as it must be. */
  readonly problem: Error | null;
  readonly fromMs: number;
  readonly toMs: number;
}

/** What a process had sent when it died may be read a little later. */
const IN_FLIGHT_MS = 250;
/** A process compares its calls with the rows once a heartbeat, and takes a row for its own for a lease. */
const LEASES_UNTIL_NOTICED = 2;
const CALL_WAIT_MS = 5_000;
/** A call so old is past its start and, with the slow model, far from its end. */
const UNDER_WAY_MS = 150;
const SHORT_OUTAGE_MS = 1_000;
const LONG_OUTAGE_MS = 4_000;
/** A drain ends within the grace of its settings, what BullMQ takes to hang up, and a busy machine. */
const DRAINED_MS = 10_000;
const LOCK_TRIES = 5;

export const FAULT_KINDS: readonly FaultKind[] = [
  workers('worker killed', false, async (place) => {
    const slot = await aimedAt(place);
    await slot.end('SIGKILL');
    return slot.name;
  }),
  workers('all workers killed', false, async ({ world, share }) => {
    await one(world, share);
    const live = world.workers.filter((slot) => slot.live !== null);
    await inMidCall(world);
    await Promise.all(live.map(async (slot) => (slot.live === null ? null : slot.end('SIGKILL'))));
    return live.map(({ name }) => name).join(', ');
  }),
  workers('worker told to stop', false, async (place) => {
    const slot = await aimedAt(place);
    const startedMs = performance.now();
    const code = await slot.end('SIGTERM');
    const tookMs = Math.round(performance.now() - startedMs);
    if (code !== 0 || tookMs > DRAINED_MS)
      throw new BrokenPromise(`${slot.name} drained with exit code ${code} in ${tookMs} ms`);
    return `${slot.name}, gone in ${tookMs} ms`;
  }),
  workers('worker frozen', true, async ({ world, share }) => {
    const slot = await aimedAt({ world, share });
    const process = await slot.ready();
    const ms = world.leaseMs * (1.3 + 0.7 * share('length'));
    process.freeze();
    await delay(ms);
    process.thaw();
    return `${slot.name} for ${Math.round(ms)} ms`;
  }),
  {
    name: 'API killed',
    backends: BACKENDS,
    subject: 'api',
    repeatsCalls: false,
    lingers: false,
    run: async ({ world }) => {
      await world.api.ready();
      await world.api.end('SIGKILL');
      return 'api';
    },
  },
  redis('Redis flushed', async ({ world }) => {
    const client = new Redis(urlOf(world), { maxRetriesPerRequest: 1 });
    client.on('error', () => undefined);
    try {
      await client.flushall();
    } finally {
      client.disconnect();
    }
    return 'FLUSHALL';
  }),
  redis('Redis restarted', async ({ world }) => {
    await world.redis?.restart();
    return 'killed and started, empty';
  }),
  redis('Redis away', async ({ world, share }) => {
    const ms = outage(share);
    await world.redis?.kill();
    await delay(ms);
    await world.redis?.restart();
    return `for ${Math.round(ms)} ms, then empty`;
  }),
  redis('Redis frozen', async ({ world, share }) => {
    const ms = outage(share);
    await world.redis?.freeze();
    await delay(ms);
    await world.redis?.thaw();
    return `for ${Math.round(ms)} ms`;
  }),
  {
    name: 'queue dropped',
    backends: ['postgres'],
    subject: 'queue',
    repeatsCalls: false,
    lingers: false,
    run: ({ world }) => dropQueue(world),
  },
  {
    name: 'jobs handed over twice',
    backends: BACKENDS,
    subject: 'queue',
    repeatsCalls: false,
    lingers: false,
    run: async ({ world }) => {
      const redisUrl = world.redis === null ? null : urlOf(world);
      const { databaseUrl } = world;
      const done = await handOverTwice({ redisUrl, databaseUrl, namespace: QUEUE_NAMESPACE });
      return `${done.retried} retried, ${done.added} added again, ${done.refused} refused`;
    },
  },
  database('connections cut', async ({ world }) => {
    const cut = await world.sql<{ cut: number }>(
      `SELECT count(pg_terminate_backend(pid))::integer AS cut FROM pg_stat_activity
        WHERE backend_type = 'client backend' AND application_name <> 'chaos'`,
    );
    return `${cut[0]?.cut ?? 0} of them`;
  }),
  database('Postgres restarted', async ({ world }) => {
    await inMidCall(world);
    await world.postgres.crash();
    await world.postgres.start();
    return 'stopped at once';
  }),
  database('Postgres frozen', async ({ world, share }) => {
    const ms = world.leaseMs * (0.8 + 0.8 * share('length'));
    await world.postgres.freeze();
    await delay(ms);
    await world.postgres.thaw();
    return `for ${Math.round(ms)} ms`;
  }),
];

export class BrokenPromise extends Error {}

/** What could not be done may have been done in part: it stands in the log like the rest. */
export async function strike(kind: FaultKind, n: number, place: Place): Promise<Fault> {
  const { name, repeatsCalls, lingers } = kind;
  const fromMs = Date.now();
  const done = await kind.run(place).catch((error: unknown) => asError(error));
  const problem = done instanceof Error ? done : null;
  const did = done instanceof Error ? `not done: ${done.message}` : done;
  const feltMs = lingers ? LEASES_UNTIL_NOTICED * place.world.leaseMs : IN_FLIGHT_MS;
  return { n, kind: name, repeatsCalls, did, problem, fromMs, toMs: Date.now() + feltMs };
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

function workers(name: string, lingers: boolean, run: FaultKind['run']): FaultKind {
  return { name, backends: BACKENDS, subject: 'workers', repeatsCalls: true, lingers, run };
}

function redis(name: string, run: FaultKind['run']): FaultKind {
  return { name, backends: ['redis'], subject: 'queue', repeatsCalls: false, lingers: false, run };
}

function database(name: string, run: FaultKind['run']): FaultKind {
  return { name, backends: BACKENDS, subject: 'database', repeatsCalls: true, lingers: true, run };
}

async function one({ workers: slots }: World, share: Place['share']): Promise<Slot> {
  const slot = slots[Math.floor(share('worker') * slots.length)];
  if (slot === undefined) throw new Error('the world has no workers');
  await slot.ready();
  return slot;
}

/** Half the time the worker that just began a `once` call, else the drawn one while a model call is under way. */
async function aimedAt({ world, share }: Place): Promise<Slot> {
  const drawn = await one(world, share);
  if (share('aim') < 0.5) {
    const before = readEffects(world.effectsFile).length;
    const ringing = (): Slot | undefined => {
      const begun = readEffects(world.effectsFile).slice(before);
      const pid = begun.findLast(({ tool }) => tool === ONCE_TOOL)?.pid;
      return world.workers.find(({ live }) => live !== null && live.pid === pid);
    };
    const found = await until('a once call begins', ringing, CALL_WAIT_MS).catch(() => null);
    if (found !== null) return found;
  }
  await inMidCall(world);
  return drawn;
}

/** Waits a while for a model call to be under way; a quiet moment is struck as well. */
async function inMidCall({ sim }: World): Promise<void> {
  const underWay = (): boolean =>
    sim.calls().some(({ state, at }) => state === 'open' && at <= Date.now() - UNDER_WAY_MS);
  await until('a call is under way', underWay, CALL_WAIT_MS).catch(() => undefined);
}

async function dropQueue(world: World): Promise<string> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await world.sql(`DROP SCHEMA IF EXISTS ${QUEUE_NAMESPACE} CASCADE`);
      return 'DROP SCHEMA';
    } catch (error) {
      // The drop may deadlock with statements under way.
      if (attempt === LOCK_TRIES) throw error;
    }
  }
}

function outage(share: Place['share']): number {
  return SHORT_OUTAGE_MS + (LONG_OUTAGE_MS - SHORT_OUTAGE_MS) * share('length');
}

function urlOf({ redis: server }: World): string {
  if (server === null) throw new Error('the world has no Redis');
  return server.url;
}
