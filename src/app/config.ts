/** Everything a process is told at its start: the environment first, then the file, then defaults. */
import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { CardDefinition } from '../context/cards/index.ts';
import { mappedModel } from '../context/catalogue/mapping.ts';
import type { ListPrice } from '../context/pricing/rate.ts';
import { type Leg, PROVIDER_KINDS, type ProviderKind } from '../providers/contract.ts';
import { POOLS, type Pool } from '../queues/contract.ts';
import { DEFAULT_TENANT_LIMITS } from '../runtime/admission.ts';
import { PROBE_DEFAULTS, type ProbeSettings } from '../runtime/probes.ts';
import { limitKey } from '../runtime/rate-limiter.ts';
import { RESPONSE_CACHE_DEFAULTS, type ResponseCacheSettings } from '../runtime/response-cache.ts';
import type { Tool } from '../tools/contract.ts';
import type { McpServers } from '../tools/mcp/settings.ts';
import type { StopCondition } from '../tools/stop-condition.ts';
import type { SidePurpose } from '../workers/deps.ts';
import { INTENT_DEFAULTS, type IntentSettings } from '../workers/intent.ts';
import { configFromEnvironment, type Environment } from './config/environment.ts';
import { configFromFile } from './config/file.ts';
import { mcpServersOf } from './config/mcp.ts';
import { configInvalid, suggestion } from './config/refusal.ts';
import type { ConfigInput, LogLevel } from './config/schema.ts';

export { type Environment, parseConcurrency } from './config/environment.ts';
export type { ConfigInput, LogLevel } from './config/schema.ts';

export interface PoolSettings {
  readonly concurrency: number;
}

export interface Limits {
  readonly stepBudget: number;
  readonly turnDeadlineMs: number;
  readonly maxBodyBytes: number;
  /** How long a stopping process waits for what it runs. */
  readonly drainMs: number;
  /** Of a pool's live slots, what one tenant gets while others wait. Alone, it gets them all. */
  readonly tenantShare: number;
  /** Calls of a pool that one tenant may have in the queue and running, whoever waits; null: no such limit. */
  readonly tenantRunning: number | null;
  /** Micro-dollars that a tenant's priced calls may cost a day (UTC); null: no such limit. */
  readonly tenantMicroUsdPerDay: number | null;
}

export interface Config {
  /** Absent: the embedded database in `dataDir`. */
  readonly databaseUrl?: string;
  /** Absent: the queue lives in the database. */
  readonly redisUrl?: string;
  /** The user that migrates; absent: the user of `databaseUrl`. */
  readonly ownerUrl?: string;
  /** BullMQ's schema on Postgres, its prefix on Redis: deployments that share a server need one each. */
  readonly queueNamespace: string;
  readonly port: number;
  readonly host: string;
  /** Absolute. */
  readonly dataDir: string;
  /** Absolute path of the folder that tools see. */
  readonly root: string;
  readonly leaseMs: number;
  readonly heartbeatMs: number;
  readonly logLevel: LogLevel;
  readonly legs: readonly Leg[];
  /** Names of legs, first choice first, by the name of the ladder. */
  readonly ladders: Readonly<Record<string, readonly string[]>>;
  readonly defaultLeg?: string;
  readonly tools: readonly Tool[];
  /** What must hold before a turn may end. */
  readonly stopConditions: readonly StopCondition[];
  /** Kinds of card beside the built-in ones. */
  readonly cards: readonly CardDefinition[];
  readonly pools: Readonly<Record<Pool, PoolSettings>>;
  readonly probe: ProbeSettings;
  /** The legs of side calls, whatever a session is bound to. */
  readonly sideLegs: Readonly<Partial<Record<SidePurpose, string>>>;
  /** The leg whose model says which closed turns are like a directive. Absent: words alone say it. */
  readonly embeddings?: { readonly leg: string };
  /** Model names that stand for others in the catalogue and in `pricing`. */
  readonly modelMapping: Readonly<Record<string, string>>;
  /** Prices by model; they win over the catalogue's. */
  readonly pricing: Readonly<Record<string, ListPrice>>;
  readonly responseCache: ResponseCacheSettings;
  /** `escalate`: a directive that its words leave unclear is read by a classifier. */
  readonly intent: IntentSettings & { readonly escalate: boolean };
  /** `startHere`: a process that serves the pool of a turn's next call, and has a slot free, starts it without the queue. */
  readonly calls: { readonly startHere: boolean };
  /** `allow`: hosts, as `host` or `host:port`, that requests of tools may reach on a private network. */
  readonly outbound: { readonly allow: readonly string[] };
  readonly limits: Limits;
  /** Absent: no tool of another program is at hand. */
  readonly mcp?: { readonly servers: McpServers };
  /** `dirs`: absolute paths of folders of skills. */
  readonly skills?: { readonly dirs: readonly string[] };
}

const DEFAULT_QUEUE_NAMESPACE = 'turnwright_queue';
const DEFAULT_PORT = 4080;
const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_DATA_DIR = '.turnwright';
const DEFAULT_LEASE_MS = 6_000;
/** Two heartbeats may be lost before the lease runs out. */
const HEARTBEATS_PER_LEASE = 3;
const DEFAULT_CALL_TIMEOUT_MS = 600_000;

const DEFAULT_CONCURRENCY: Readonly<Record<Pool, number>> = {
  turn: 4,
  step: 16,
  tool: 16,
  summary: 2,
  probe: 1,
  intent: 4,
  upkeep: 1,
};

/** Kinds of provider whose wire has no embeddings. */
const WITHOUT_EMBEDDINGS: ReadonlySet<ProviderKind> = new Set([
  'anthropic',
  'openai-responses',
  'openrouter-responses',
  'bedrock',
]);

const DEFAULT_LIMITS: Limits = {
  stepBudget: 40,
  turnDeadlineMs: 900_000,
  maxBodyBytes: 1_048_576,
  drainMs: 30_000,
  ...DEFAULT_TENANT_LIMITS,
  tenantMicroUsdPerDay: null,
};

/** Gives a configuration file its types; returns what it was given. */
export function defineConfig(input: ConfigInput): ConfigInput {
  return input;
}

/** @throws TurnwrightError `config_invalid` naming each wrong key, what was found and what is allowed. */
export async function loadConfig(from: { readonly env: Environment; readonly cwd: string }): Promise<Config> {
  const environment = configFromEnvironment(from.env);
  const file = await configFromFile(from.cwd);
  const pools = { ...file.pools, ...environment.pools };
  const config = withDefaults({ ...file, ...environment, pools }, from.cwd);
  const problems = contradictionsOf(config);
  if (problems.length > 0) throw configInvalid(problems);
  return config;
}

function withDefaults(input: ConfigInput, cwd: string): Config {
  const leaseMs = input.leaseMs ?? DEFAULT_LEASE_MS;
  return {
    ...pick(input, ['databaseUrl', 'redisUrl', 'ownerUrl', 'defaultLeg', 'embeddings']),
    queueNamespace: input.queueNamespace ?? DEFAULT_QUEUE_NAMESPACE,
    port: input.port ?? DEFAULT_PORT,
    host: input.host ?? DEFAULT_HOST,
    dataDir: resolve(cwd, input.dataDir ?? DEFAULT_DATA_DIR),
    root: resolve(cwd, input.root ?? '.'),
    leaseMs,
    heartbeatMs: input.heartbeatMs ?? Math.floor(leaseMs / HEARTBEATS_PER_LEASE),
    logLevel: input.logLevel ?? 'info',
    legs: (input.legs ?? []).map((leg) => ({ timeoutMs: DEFAULT_CALL_TIMEOUT_MS, ...leg })),
    ladders: input.ladders ?? {},
    tools: input.tools ?? [],
    stopConditions: input.stopConditions ?? [],
    cards: input.cards ?? [],
    pools: poolsOf(input.pools ?? {}),
    probe: { ...PROBE_DEFAULTS, ...input.probe },
    sideLegs: input.sideLegs ?? {},
    modelMapping: input.modelMapping ?? {},
    pricing: input.pricing ?? {},
    responseCache: { ...RESPONSE_CACHE_DEFAULTS, ...input.responseCache },
    intent: intentOf(input.intent ?? {}),
    calls: { startHere: false, ...input.calls },
    outbound: { allow: [], ...input.outbound },
    limits: { ...DEFAULT_LIMITS, ...input.limits },
    ...(input.mcp === undefined ? {} : { mcp: { servers: mcpServersOf(input.mcp.servers, cwd) } }),
    ...(input.skills === undefined
      ? {}
      : { skills: { dirs: input.skills.dirs.map((dir) => resolve(cwd, dir)) } }),
  };
}

function intentOf({ escalate = false, ...settings }: NonNullable<ConfigInput['intent']>): Config['intent'] {
  const legs = escalate === 'local' ? 'local' : INTENT_DEFAULTS.legs;
  return { ...INTENT_DEFAULTS, ...settings, legs, escalate: escalate !== false };
}

function poolsOf(given: Partial<Record<Pool, PoolSettings>>): Record<Pool, PoolSettings> {
  const settingsOf = (pool: Pool): PoolSettings => given[pool] ?? { concurrency: DEFAULT_CONCURRENCY[pool] };
  return Object.fromEntries(POOLS.map((pool) => [pool, settingsOf(pool)])) as Record<Pool, PoolSettings>;
}

/** What no single key shows: names that meet nothing, names used twice, times that cannot hold together. */
function contradictionsOf(config: Config): string[] {
  const legNames = config.legs.map((leg) => leg.name);
  const unknownLeg = (where: string, leg: string): string[] => {
    if (legNames.includes(leg)) return [];
    const allowed = legNames.length === 0 ? 'no leg, as none is configured' : legNames.join(', ');
    return [
      `${where} names the leg "${leg}", which is not configured; allowed is ${allowed}.${suggestion(leg, legNames)}`,
    ];
  };
  const problems = [
    ...repeated('legs', legNames),
    ...repeated(
      'tools',
      config.tools.map((tool) => tool.name),
    ),
    ...Object.entries(config.ladders).flatMap(([ladder, legs]) =>
      legs.flatMap((leg, index) => unknownLeg(`ladders.${ladder}[${index}]`, leg)),
    ),
  ];
  for (const { name, probeWith } of config.legs) {
    if (probeWith !== undefined) problems.push(...unknownLeg(`probeWith of the leg "${name}"`, probeWith));
  }
  for (const [purpose, leg] of Object.entries(config.sideLegs))
    problems.push(...unknownLeg(`sideLegs.${purpose}`, leg));
  if (config.embeddings !== undefined) {
    const { leg } = config.embeddings;
    problems.push(...unknownLeg('embeddings.leg', leg), ...withoutEmbeddings(config.legs, leg));
  }
  for (const model of Object.keys(config.modelMapping)) {
    const mapped = mappedModel(model, config.modelMapping);
    if (!mapped.ok) problems.push(mapped.message);
  }
  problems.push(...unlikeLimits(config.legs));
  if (config.defaultLeg !== undefined) problems.push(...unknownLeg('defaultLeg', config.defaultLeg));
  if (config.heartbeatMs * 2 > config.leaseMs) {
    problems.push(
      `heartbeatMs is ${config.heartbeatMs} and leaseMs is ${config.leaseMs}; allowed is a heartbeat of at most half the lease, or one lost heartbeat would cost a worker all its work.`,
    );
  }
  return problems;
}

function withoutEmbeddings(legs: readonly Leg[], name: string): string[] {
  const provider = legs.find((leg) => leg.name === name)?.provider;
  if (provider === undefined || !WITHOUT_EMBEDDINGS.has(provider)) return [];
  const allowed = PROVIDER_KINDS.filter((kind) => !WITHOUT_EMBEDDINGS.has(kind)).join(', ');
  return [
    `embeddings.leg names the leg "${name}" of the provider ${provider}, which has no embeddings; allowed is a leg of ${allowed}.`,
  ];
}

/** Legs to one model with one credential are counted together. */
function unlikeLimits(legs: readonly Leg[]): string[] {
  return legs.flatMap((leg, index) => {
    const other = legs.slice(0, index).find((earlier) => limitKey(earlier) === limitKey(leg));
    if (other === undefined || isDeepStrictEqual(other.limits, leg.limits)) return [];
    return [
      `The legs "${other.name}" and "${leg.name}" call the same model with the same key, so they share its limits; give both the same limits.`,
    ];
  });
}

function repeated(list: string, names: readonly string[]): string[] {
  const twice = new Set(names.filter((name, index) => names.indexOf(name) !== index));
  return [...twice].map((name) => `${list} holds the name "${name}" more than once; give each its own name.`);
}

function pick<Input extends object, Key extends keyof Input>(
  input: Input,
  keys: readonly Key[],
): Pick<Input, Key> {
  const present = keys.filter((key) => input[key] !== undefined).map((key) => [key, input[key]]);
  return Object.fromEntries(present) as Pick<Input, Key>;
}
