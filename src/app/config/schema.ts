/** What a configuration may say, before defaults. Each description completes "allowed is …" in a refusal. */
import { z } from 'zod';
import type { CardDefinition } from '../../context/cards/index.ts';
import { DOMAINS } from '../../ledger/domains.ts';
import { PROVIDER_KINDS } from '../../providers/contract.ts';
import type { Pool } from '../../queues/contract.ts';
import { CACHE_LAYERS, CACHE_MODES } from '../../runtime/response-cache.ts';
import { TOOL_EFFECTS, type Tool } from '../../tools/contract.ts';
import { isAllowedHostForm } from '../../tools/http/allowed-host.ts';
import type { StopCondition } from '../../tools/stop-condition.ts';
import { mcpInput } from './mcp-schema.ts';
import { count, durationMs, flag, MAX_TIMER_MS, name, path, urlOf } from './terms.ts';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

const MAX_CONCURRENCY = 10_000;
/** Odd, so that a majority decides. */
const LADDER_SAMPLES = [1, 3, 5, 7, 9] as const;
/** A lease shorter than this would run out while a healthy process waits for its turn on a busy machine. */
const MIN_LEASE_MS = 300;

const postgresUrl = urlOf(['postgres:', 'postgresql:'], 'postgres://user:password@host:5432/database');
const redisUrl = urlOf(['redis:', 'rediss:'], 'redis://host:6379 (rediss: with TLS)');

const usdPerMillion = z.number().min(0).describe('US dollars per million tokens, at least 0');

const price = z.strictObject({
  inputPerMillion: usdPerMillion,
  cachedInputPerMillion: usdPerMillion.exactOptional(),
  cacheWritePerMillion: usdPerMillion.exactOptional(),
  outputPerMillion: usdPerMillion,
});

const leg = z.strictObject({
  name,
  provider: z.enum(PROVIDER_KINDS).describe(`one of ${PROVIDER_KINDS.join(', ')}`),
  model: z.string().min(1).describe("the model's name as its provider spells it"),
  baseUrl: urlOf(['http:', 'https:'], 'https://host/v1').exactOptional(),
  apiKeyEnv: z
    .string()
    .regex(/^[A-Za-z_]\w*$/)
    .describe('the name of the environment variable that holds the key, never the key itself')
    .exactOptional(),
  window: count.exactOptional(),
  maxOutputTokens: count.exactOptional(),
  timeoutMs: durationMs.exactOptional(),
  family: name.exactOptional(),
  probeWith: name.exactOptional(),
  price: price.exactOptional(),
  serverState: flag.exactOptional(),
  limits: z
    .strictObject({
      requestsPerMinute: count.exactOptional(),
      tokensPerMinute: count.exactOptional(),
      concurrent: count.exactOptional(),
    })
    .exactOptional(),
});

const toolShape = z.object({
  name,
  description: z.string().min(1).describe('a text'),
  inputSchema: z.record(z.string(), z.unknown()).describe('a JSON Schema of type object'),
  serves: z.array(z.enum(DOMAINS)).describe(`a list of ${DOMAINS.join(', ')}`),
  alwaysLoaded: flag,
  deferred: flag.exactOptional(),
  inHop: flag.exactOptional(),
  effect: z.enum(TOOL_EFFECTS).describe(`one of ${TOOL_EFFECTS.join(', ')}`),
  approval: flag,
  timeoutMs: durationMs,
  parse: callable(),
  run: callable(),
});

/** Checked, but handed on as it is: a copy would lose what a tool keeps on its prototype. */
const tool = z.custom<Tool>().superRefine((value, context) => {
  const result = toolShape.safeParse(value);
  for (const issue of result.error?.issues ?? []) {
    const found = issue.path.reduce<unknown>(memberOf, value);
    context.addIssue({
      code: 'custom',
      path: [...issue.path],
      input: found,
      message: 'what defineTool({ name, description, input, run }) returns',
    });
  }
});

/** Handed on as it is, like a tool. */
const stopCondition = z.custom<StopCondition>(
  (value) => typeof memberOf(value, 'name') === 'string' && typeof memberOf(value, 'isMet') === 'function',
  'a condition as { name, isMet(ending) }',
);

/** Handed on as it is, like a tool. */
const card = z.custom<CardDefinition>(
  (value) => typeof value === 'object' && value !== null && typeof memberOf(value, 'check') === 'function',
  'what defineCard({ type, description, schema, title, identity }) returns',
);

const poolSettings = z.strictObject({
  concurrency: z.int().min(1).max(MAX_CONCURRENCY).describe(`a whole number from 1 to ${MAX_CONCURRENCY}`),
});

const pools = z.strictObject({
  turn: poolSettings.exactOptional(),
  step: poolSettings.exactOptional(),
  tool: poolSettings.exactOptional(),
  summary: poolSettings.exactOptional(),
  probe: poolSettings.exactOptional(),
  intent: poolSettings.exactOptional(),
  upkeep: poolSettings.exactOptional(),
} satisfies Record<Pool, z.ZodType>);

const limits = z.strictObject({
  stepBudget: count.exactOptional(),
  turnDeadlineMs: durationMs.exactOptional(),
  maxBodyBytes: count.exactOptional(),
  drainMs: durationMs.exactOptional(),
  tenantShare: z.number().gt(0).max(1).describe('a number above 0, at most 1').exactOptional(),
  tenantMicroUsdPerDay: count.nullable().describe('a whole number, at least 1, or null').exactOptional(),
  tenantRunning: count.nullable().describe('a whole number, at least 1, or null').exactOptional(),
});

export const configInput = z.strictObject({
  databaseUrl: postgresUrl.exactOptional(),
  redisUrl: redisUrl.exactOptional(),
  ownerUrl: postgresUrl.exactOptional(),
  queueNamespace: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,39}$/)
    .describe('1 to 40 small letters, digits and _, starting with a letter')
    .exactOptional(),
  port: z.int().min(0).max(65_535).describe('a whole number from 0 (any free port) to 65535').exactOptional(),
  host: z.string().min(1).describe('a host name or address to listen on').exactOptional(),
  dataDir: path.exactOptional(),
  root: path.exactOptional(),
  leaseMs: durationMs
    .min(MIN_LEASE_MS)
    .describe(`a whole number of milliseconds from ${MIN_LEASE_MS} to ${MAX_TIMER_MS}`)
    .exactOptional(),
  heartbeatMs: durationMs.exactOptional(),
  logLevel: z
    .enum(LOG_LEVELS)
    .describe(`one of ${LOG_LEVELS.join(', ')}`)
    .exactOptional(),
  legs: z.array(leg).describe('a list of legs').exactOptional(),
  ladders: z
    .record(name, z.array(name).min(1).describe('a list of at least one leg name'))
    .describe('lists of leg names by the name of the ladder')
    .exactOptional(),
  defaultLeg: name.exactOptional(),
  tools: z.array(tool).describe('a list of tools').exactOptional(),
  stopConditions: z.array(stopCondition).describe('a list of conditions').exactOptional(),
  cards: z.array(card).describe('a list of cards').exactOptional(),
  pools: pools.exactOptional(),
  probe: z
    .strictObject({
      local: z.enum(['off', 'full']).describe('off or full').exactOptional(),
      hosted: z.enum(['off', 'full']).describe('off or full').exactOptional(),
      samples: z
        .union(LADDER_SAMPLES.map((samples) => z.literal(samples)))
        .describe(`one of ${LADDER_SAMPLES.join(', ')}`)
        .exactOptional(),
      maxMs: durationMs.exactOptional(),
      maxMicroUsd: count.exactOptional(),
    })
    .exactOptional(),
  sideLegs: z.strictObject({ summary: name.exactOptional(), intent: name.exactOptional() }).exactOptional(),
  embeddings: z.strictObject({ leg: name }).exactOptional(),
  modelMapping: z
    .record(z.string(), z.string().min(1))
    .describe('model names by the name that stands for them')
    .exactOptional(),
  pricing: z.record(z.string(), price).describe('prices by the name of the model').exactOptional(),
  responseCache: z
    .strictObject({
      mode: z
        .enum(CACHE_MODES)
        .describe(`one of ${CACHE_MODES.join(', ')}`)
        .exactOptional(),
      layer: z
        .enum(CACHE_LAYERS)
        .describe(`one of ${CACHE_LAYERS.join(', ')}`)
        .exactOptional(),
      ttlMs: durationMs.exactOptional(),
    })
    .exactOptional(),
  intent: z
    .strictObject({
      escalate: z
        .union([z.boolean(), z.literal('local')])
        .describe('true, false or "local"')
        .exactOptional(),
      maxClassifyMicroUsd: count.exactOptional(),
    })
    .exactOptional(),
  calls: z.strictObject({ startHere: flag.exactOptional() }).exactOptional(),
  outbound: z
    .strictObject({
      allow: z
        .array(z.string().refine(isAllowedHostForm).describe('an exact host, as host or host:port'))
        .describe('a list of hosts')
        .exactOptional(),
    })
    .exactOptional(),
  limits: limits.exactOptional(),
  mcp: mcpInput.exactOptional(),
  skills: z.strictObject({ dirs: z.array(path).describe('a list of folders') }).exactOptional(),
});

export type ConfigInput = z.infer<typeof configInput>;

function callable() {
  return z.custom<(...args: never) => unknown>((value) => typeof value === 'function').describe('a function');
}

function memberOf(value: unknown, key: PropertyKey): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
}
