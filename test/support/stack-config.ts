/** The settings of a process under test, for the test's own process and for those it spawns. */
import { type Config, loadConfig } from '../../src/app/config.ts';
import type { Leg } from '../../src/providers/contract.ts';
import type { SimModel } from '../../src/sim/index.ts';
import type { Tool } from '../../src/tools/contract.ts';

const HEARTBEATS_PER_LEASE = 3;
const CALL_TIMEOUT_MS = 60_000;
const MAX_OUTPUT_TOKENS = 512;

export type TestConfig = Config & { readonly databaseUrl: string };

export interface TestSettings {
  readonly databaseUrl: string;
  /** null: the queue lives in the database. */
  readonly redisUrl: string | null;
  readonly simUrl: string;
  readonly root: string;
  readonly leaseMs: number;
  readonly models: readonly SimModel[];
  readonly tools: readonly Tool[];
  /** Left out: no ladder climbs beside what a test looks at. */
  readonly probe?: Partial<Config['probe']>;
}

export async function testConfig(settings: TestSettings): Promise<TestConfig> {
  const { databaseUrl, redisUrl, simUrl, root, leaseMs, models, tools, probe } = settings;
  // The one setting under which everything must hold both ways.
  const { TURNWRIGHT_START_HERE } = process.env;
  const defaults = await loadConfig({ env: { TURNWRIGHT_START_HERE }, cwd: root });
  return {
    ...defaults,
    probe: { ...defaults.probe, local: 'off', ...probe },
    databaseUrl,
    ...(redisUrl === null ? {} : { redisUrl }),
    root,
    leaseMs,
    heartbeatMs: Math.floor(leaseMs / HEARTBEATS_PER_LEASE),
    logLevel: 'silent',
    legs: models.map((model) => legOf(model, simUrl)),
    tools,
  };
}

/** A leg with its model's name. */
function legOf(model: SimModel, simUrl: string): Leg {
  return {
    name: model.name,
    provider: 'openai',
    model: model.name,
    baseUrl: `${simUrl}/v1`,
    window: model.window,
    maxOutputTokens: Math.min(MAX_OUTPUT_TOKENS, model.maxOutputTokens),
    timeoutMs: CALL_TIMEOUT_MS,
  };
}
