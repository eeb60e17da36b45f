/**
 * The metrics of a deployment, read from the database when they are asked for: every process that answers a
 * scrape tells the same totals, and none of them counts on its own.
 */
import { Counter, Gauge, Registry } from 'prom-client';
import type { Services } from '../app/services.ts';
import type { PoolState } from '../db/contract.ts';
import { createPool } from '../db/index.ts';
import { readTotals, type Total } from '../db/queries/read-totals.ts';
import { POOLS } from '../queues/contract.ts';
import { countStuckTurns } from './stuck.ts';

/** One scrape at a time needs one. */
const CONNECTIONS = 1;

/** Every metric with its meaning; docs are made from this table. */
export const METRICS = {
  turnwright_queue_depth: {
    type: 'gauge',
    labels: ['pool'],
    help: 'Jobs of a pool that no worker has taken: handed to the queue, held back, or not due yet.',
  },
  turnwright_queue_delayed: {
    type: 'gauge',
    labels: ['pool'],
    help: 'The part of the depth that is not due yet: retries and waits for a provider’s rate limit.',
  },
  turnwright_queue_oldest_seconds: {
    type: 'gauge',
    labels: ['pool'],
    help: 'Age of the oldest job of a pool that no worker has taken.',
  },
  turnwright_turns_total: { type: 'counter', labels: ['outcome'], help: 'Turns ended, by outcome.' },
  turnwright_turn_seconds: {
    type: 'histogram',
    labels: [],
    help: 'From the acceptance of a turn to its end.',
  },
  turnwright_checks_fired_total: {
    type: 'counter',
    labels: ['check'],
    help: 'Findings of checks in ended turns, by check.',
  },
  turnwright_stuck_turns: { type: 'gauge', labels: [], help: 'Turns that nothing moves.' },
  turnwright_prefix_cache_ratio: {
    type: 'gauge',
    labels: [],
    help: 'Share of all prompt tokens that providers read from a cache.',
  },
  turnwright_tokens_total: {
    type: 'counter',
    labels: ['leg', 'kind'],
    help: 'Tokens billed, by leg and kind: input, cache_read, cache_write, output.',
  },
  turnwright_cost_micro_usd_total: {
    type: 'counter',
    labels: ['leg', 'purpose'],
    help: 'Cost of calls that could be priced, in millionths of a US dollar, by leg and purpose: step, summary, intent, probe, embedding.',
  },
} as const;

type MetricName = keyof typeof METRICS;

export class Metrics {
  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE;
  readonly #services: Services;
  readonly #pool: Services['pool'];

  constructor(services: Services) {
    this.#services = services;
    this.#pool = createPool({
      url: services.databaseUrl,
      role: 'turnwright_upkeep',
      max: CONNECTIONS,
      applicationName: 'turnwright metrics',
      onError: (error) => services.logger.warn({ err: error }, 'the metrics connection failed'),
    });
  }

  async render(): Promise<string> {
    const { upkeep, config } = this.#services;
    const [pools, totals, stuck] = await Promise.all([
      upkeep.poolState(config.leaseMs),
      readTotals(this.#pool),
      countStuckTurns(this.#pool, config.leaseMs),
    ]);
    return `${await registryOf(pools, totals, stuck).metrics()}${turnSeconds(totals)}`;
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }
}

function registryOf(pools: readonly PoolState[], totals: readonly Total[], stuck: number): Registry {
  const registry = new Registry();
  const gauge = (name: MetricName) =>
    new Gauge({ name, help: METRICS[name].help, labelNames: METRICS[name].labels, registers: [registry] });
  const counter = (name: MetricName) =>
    new Counter({ name, help: METRICS[name].help, labelNames: METRICS[name].labels, registers: [registry] });
  const depth = gauge('turnwright_queue_depth');
  const delayed = gauge('turnwright_queue_delayed');
  const oldest = gauge('turnwright_queue_oldest_seconds');
  for (const pool of POOLS) {
    const state = pools.find((each) => each.pool === pool);
    depth.set({ pool }, (state?.admitted ?? 0) + (state?.backlog ?? 0) + (state?.delayed ?? 0));
    delayed.set({ pool }, state?.delayed ?? 0);
    oldest.set({ pool }, state?.oldestSeconds ?? 0);
  }
  gauge('turnwright_stuck_turns').set(stuck);
  const turns = counter('turnwright_turns_total');
  for (const { a: outcome, value } of named(totals, 'turns')) turns.inc({ outcome }, value);
  const checks = counter('turnwright_checks_fired_total');
  for (const { a: check, value } of named(totals, 'checks')) checks.inc({ check }, value);
  const tokens = counter('turnwright_tokens_total');
  for (const { a: leg, b: kind, value } of named(totals, 'tokens')) tokens.inc({ leg, kind }, value);
  const cost = counter('turnwright_cost_micro_usd_total');
  for (const { a: leg, b: purpose, value } of named(totals, 'cost')) cost.inc({ leg, purpose }, value);
  gauge('turnwright_prefix_cache_ratio').set(cacheRatio(totals));
  return registry;
}

function named(totals: readonly Total[], name: Total['name']): readonly Total[] {
  return totals.filter((total) => total.name === name);
}

function cacheRatio(totals: readonly Total[]): number {
  const sum = (kinds: readonly string[]) =>
    named(totals, 'tokens').reduce((total, { b, value }) => total + (kinds.includes(b) ? value : 0), 0);
  const prompt = sum(['input', 'cache_read', 'cache_write']);
  return prompt === 0 ? 0 : sum(['cache_read']) / prompt;
}

/** The database holds the buckets, and the library's histogram takes observations only. */
function turnSeconds(totals: readonly Total[]): string {
  const name = 'turnwright_turn_seconds';
  const values = new Map(named(totals, 'turn_seconds').map(({ a, value }) => [a, value]));
  const bound = (text: string) => (text === '+Inf' ? Number.POSITIVE_INFINITY : Number(text));
  const bounds = [...values.keys()].filter((key) => key !== 'sum').sort((a, b) => bound(a) - bound(b));
  const all = values.get('+Inf') ?? 0;
  const lines = [
    `# HELP ${name} ${METRICS[name].help}`,
    `# TYPE ${name} histogram`,
    ...bounds.filter((le) => le !== '+Inf').map((le) => `${name}_bucket{le="${le}"} ${values.get(le) ?? 0}`),
    `${name}_bucket{le="+Inf"} ${all}`,
    `${name}_sum ${values.get('sum') ?? 0}`,
    `${name}_count ${all}`,
  ];
  return `${lines.join('\n')}\n`;
}
