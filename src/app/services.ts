/** Opens what a process talks to, in order, and closes it in the opposite one. */
import { randomBytes } from 'node:crypto';
import { BUILTIN_CARDS, createCards } from '../context/cards/index.ts';
import {
  createPool,
  PostgresCheckpoints,
  PostgresDeltas,
  PostgresNotices,
  PostgresProbeFlights,
  PostgresProfiles,
  PostgresRateLimits,
  PostgresResponseCache,
  PostgresStore,
  PostgresTurnVectors,
  PostgresUpkeep,
  PostgresUsage,
} from '../db/index.ts';
import { listStuckEverywhere } from '../db/queries/list-stuck.ts';
import { uuidv7 } from '../ledger/ids.ts';
import { MACHINES } from '../machines/registry.ts';
import type { Bus, DeltaFrame } from '../queues/bus.ts';
import {
  type BullBackend,
  createPostgresBus,
  createPostgresQueueBackend,
  createRedisBackend,
  createRedisBus,
} from '../queues/index.ts';
import { Admission } from '../runtime/admission.ts';
import { EmbeddingCalls } from '../runtime/embedding-calls.ts';
import { Engine, type EngineOptions } from '../runtime/engine.ts';
import { Planning } from '../runtime/planning.ts';
import { Probes } from '../runtime/probes.ts';
import { Profiles } from '../runtime/profiles.ts';
import { RateLimiter } from '../runtime/rate-limiter.ts';
import { stuckLimits } from '../runtime/stuck-reasons.ts';
import { StuckWatch } from '../runtime/stuck-watch.ts';
import { Sweeper } from '../runtime/sweeper.ts';
import { TurnCache } from '../runtime/turn-cache.ts';
import { TurnVectors } from '../runtime/turn-vectors.ts';
import type { ToolSurface } from '../tools/surface.ts';
import { catalogueFacts, rates } from './catalogue.ts';
import { systemClock } from './clock.ts';
import type { Config } from './config.ts';
import { createLegs } from './legs.ts';
import type { Logger } from './logger.ts';
import { openSurface } from './surface.ts';

const APP_CONNECTIONS = 20;
const UPKEEP_CONNECTIONS = 3;
const SWEEP_INTERVAL_MS = 1_000;
/** A job handed over is looked for after half a lease. */
const READMIT_SHARE = 0.5;

export interface Services {
  readonly config: Config;
  readonly logger: Logger;
  readonly databaseUrl: string;
  readonly pool: ReturnType<typeof createPool>;
  readonly store: PostgresStore;
  readonly upkeep: PostgresUpkeep;
  readonly profiles: PostgresProfiles;
  /** Of the worker this process may become. */
  readonly workerId: string;
  /** Runs only where workers do; without, it still holds a leg to its configured limits. */
  readonly limiter: RateLimiter;
  readonly usage: PostgresUsage;
  readonly checkpoints: PostgresCheckpoints;
  readonly flights: PostgresProbeFlights;
  readonly responses: PostgresResponseCache;
  readonly notices: PostgresNotices;
  readonly queue: BullBackend;
  readonly bus: Bus;
  readonly engine: Engine;
  readonly turns: TurnCache;
  readonly planning: Planning;
  /** null where no embedding leg is configured. */
  readonly vectors: TurnVectors | null;
  /** One a process: workers and dry plans are sized by the same figures. */
  readonly legProfiles: Profiles;
  readonly probes: Probes;
  readonly surface: ToolSurface;
  readonly sweeper: Sweeper;
  readonly newId: () => string;
  /** Everything but the database of an embedded stack, which its owner stops. */
  close(): Promise<void>;
}

export function openServices(config: Config & { readonly databaseUrl: string }, logger: Logger): Services {
  const { databaseUrl } = config;
  const onError = (error: unknown): void =>
    logger.warn({ err: error }, 'a connection failed; work goes on when it is back');
  const { pool, upkeepPool } = openPools(databaseUrl, onError);
  const store = new PostgresStore(pool);
  const upkeep = new PostgresUpkeep(upkeepPool);
  const notices = new PostgresNotices({ url: databaseUrl, pool, onError });
  const { queue, bus } = openQueue(config, { pool, notices, onError });
  let sweeper: Sweeper | null = null;
  const admission = new Admission({
    queue,
    upkeep,
    leaseMs: config.leaseMs,
    clock: systemClock,
    tenants: config.limits,
    onError,
    wakeIn: (delayMs) => sweeper?.wakeIn(delayMs),
  });
  const watch = openStuckWatch(config, upkeepPool, { logger, onError });
  const afterSweep = () => watch.look();
  sweeper = openSweeper(config, { upkeep, queue, admission, afterSweep, onError });
  const cards = createCards([...BUILTIN_CARDS, ...config.cards]);
  const { surface, close: closeSurface } = openSurface(cards, config, logger);
  const profiles = new PostgresProfiles(pool);
  const newId = (): string => uuidv7(Date.now(), randomBytes(16));
  const parts = { config, pool, workerId: newId(), onError };
  const opened = openEngine({ store, admission, cards, surface }, parts);
  return {
    config,
    logger,
    databaseUrl,
    pool,
    store,
    upkeep,
    profiles,
    ...openTables(pool),
    notices,
    queue,
    bus,
    ...opened,
    legProfiles: openProfiles(config, profiles, { logger, onError }),
    probes: new Probes({ engine: opened.engine, settings: config.probe, clock: systemClock, newId }),
    surface,
    sweeper,
    newId,
    close: async () => {
      await sweeper.stop();
      admission.close();
      await opened.vectors?.stop();
      await closeSurface();
      await bus.close();
      await queue.close();
      await notices.close();
      await Promise.all([pool.end(), upkeepPool.end()]);
    },
  };
}

/** What stands beside the sessions. */
function openTables(pool: Services['pool']) {
  return {
    usage: new PostgresUsage(pool),
    checkpoints: new PostgresCheckpoints(pool),
    flights: new PostgresProbeFlights(pool),
    responses: new PostgresResponseCache(pool),
  };
}

/** The engine, and what this process keeps of turns for the requests to come. */
function openEngine(
  parts: Pick<EngineOptions, 'store' | 'admission' | 'cards' | 'surface'>,
  { config, pool, workerId, onError }: EngineParts,
): Pick<Services, 'engine' | 'turns' | 'planning' | 'vectors' | 'workerId' | 'limiter'> {
  const turns = new TurnCache(parts.store);
  const engine = new Engine({
    ...parts,
    registry: MACHINES,
    clock: systemClock,
    timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    turns,
  });
  const limiter = new RateLimiter({
    store: new PostgresRateLimits(pool),
    workerId,
    leaseMs: config.leaseMs,
    clock: systemClock,
    onError,
  });
  const vectors = openVectors(engine, { config, pool, limiter, onError });
  const planning = new Planning(engine.indexes, turns, vectors);
  return { engine, turns, planning, vectors, workerId, limiter };
}

interface EngineParts extends Pick<Services, 'config' | 'pool' | 'workerId'> {
  readonly onError: (error: unknown) => void;
}

function openVectors(
  engine: Engine,
  { config, pool, limiter, onError }: Omit<EngineParts, 'workerId'> & Pick<Services, 'limiter'>,
): TurnVectors | null {
  if (config.embeddings === undefined) return null;
  const bound = createLegs(config.legs, (name) => process.env[name])(config.embeddings.leg);
  const embed = bound?.provider.embed ?? null;
  if (bound === null || embed === null) throw new Error(`leg "${config.embeddings.leg}" has no embeddings`);
  const { leg } = bound;
  const calls = new EmbeddingCalls({ leg, embed, limiter, clock: systemClock, rateOf: rates(config) });
  return new TurnVectors({ engine, store: new PostgresTurnVectors(pool), calls, onError });
}

function openPools(url: string, onError: (error: unknown) => void) {
  return {
    pool: createPool({
      url,
      role: 'turnwright_app',
      max: APP_CONNECTIONS,
      applicationName: 'turnwright',
      onError,
    }),
    upkeepPool: createPool({
      url,
      role: 'turnwright_upkeep',
      max: UPKEEP_CONNECTIONS,
      applicationName: 'turnwright upkeep',
      onError,
    }),
  };
}

interface QueueParts {
  readonly pool: Services['pool'];
  readonly notices: PostgresNotices;
  readonly onError: (error: unknown) => void;
}

/** Redis where it is configured, else the same database. */
function openQueue(
  config: Config & { readonly databaseUrl: string },
  { pool, notices, onError }: QueueParts,
): Pick<Services, 'queue' | 'bus'> {
  const { databaseUrl, redisUrl, queueNamespace } = config;
  if (redisUrl !== undefined) {
    return {
      queue: createRedisBackend({ url: redisUrl, prefix: queueNamespace, onError }),
      bus: createRedisBus({ url: redisUrl, prefix: queueNamespace, onError }),
    };
  }
  return {
    queue: createPostgresQueueBackend({ connectionString: databaseUrl, schema: queueNamespace, onError }),
    bus: createPostgresBus(new PostgresDeltas<DeltaFrame>(pool), notices, { onError }),
  };
}

type SweeperParts = Pick<
  ConstructorParameters<typeof Sweeper>[0],
  'upkeep' | 'queue' | 'admission' | 'afterSweep' | 'onError'
>;

function openSweeper(config: Config, parts: SweeperParts): Sweeper {
  return new Sweeper({
    ...parts,
    leaseMs: config.leaseMs,
    intervalMs: Math.min(SWEEP_INTERVAL_MS, config.leaseMs / 2),
    readmitMs: config.leaseMs * READMIT_SHARE,
    random: Math.random,
    clock: systemClock,
  });
}

interface Reporting {
  readonly logger: Logger;
  readonly onError: (error: unknown) => void;
}

function openProfiles(
  { modelMapping }: Config,
  store: PostgresProfiles,
  { logger, onError }: Reporting,
): Profiles {
  return new Profiles({
    store,
    clock: systemClock,
    catalogue: (leg) => catalogueFacts(leg, modelMapping),
    onWarning: ({ message, ...warning }) => logger.warn(warning, message),
    onError,
  });
}

function openStuckWatch(
  { leaseMs }: Config,
  pool: Services['pool'],
  { logger, onError }: Reporting,
): StuckWatch {
  return new StuckWatch({
    list: () => listStuckEverywhere(pool, stuckLimits(leaseMs)),
    warn: (fields, message) => logger.warn(fields, message),
    onError,
    clock: systemClock,
    intervalMs: leaseMs,
  });
}
