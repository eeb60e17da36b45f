/** What each pool did in the demo, and what it changed of the requests that followed. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Services } from '../../app/services.ts';
import { type CapacityProfile, FALLBACK_WINDOW_TOKENS } from '../../context/capacity/profile.ts';
import { promptTokens } from '../../context/request.ts';
import { byteLength } from '../../ledger/json.ts';
import { POOLS, type Pool } from '../../queues/index.ts';
import type { TurnReport } from './conversation.ts';
import { count, items, percent, size } from './figures.ts';
import type { SessionFacts } from './ledger.ts';

export interface PoolReport {
  readonly pool: Pool;
  readonly jobs: number;
  readonly failed: number;
  /** null when it changed nothing. */
  readonly changed: string | null;
}

/** The next sweep comes within a second and asks the upkeep pool to tidy up after finished turns. */
const UPKEEP_WAIT_MS = 2_500;
const POLL_MS = 50;
const SHOWN_READINGS = 3;

export async function poolReports(
  { queue }: Services,
  facts: SessionFacts,
  turns: readonly TurnReport[],
): Promise<readonly PoolReport[]> {
  const deadlineMs = performance.now() + UPKEEP_WAIT_MS;
  const queues = queue.queues();
  const jobsOf = async (pool: Pool): Promise<{ completed: number; failed: number }> => {
    const counts = await queues.get(pool)?.getJobCounts('completed', 'failed');
    return { completed: counts?.completed ?? 0, failed: counts?.failed ?? 0 };
  };
  while ((await jobsOf('upkeep')).completed === 0 && performance.now() < deadlineMs) await delay(POLL_MS);
  return Promise.all(
    POOLS.map(async (pool) => {
      const { completed, failed } = await jobsOf(pool);
      const jobs = completed + failed;
      return { pool, jobs, failed, changed: jobs === 0 ? null : changedBy(pool, facts, turns) };
    }),
  );
}

function changedBy(pool: Pool, facts: SessionFacts, turns: readonly TurnReport[]): string | null {
  switch (pool) {
    case 'turn':
      return consents(turns);
    case 'step':
      return modelCalls(facts);
    case 'tool':
      return results(facts);
    case 'summary':
      return packets(facts);
    case 'probe':
      return measured(facts);
    case 'intent':
      return readings(facts);
    case 'upkeep':
      return 'folded the events of finished turns into one row each';
  }
}

function consents(turns: readonly TurnReport[]): string | null {
  const asked = turns.filter((turn) => turn.consents > 0).map((turn) => `T${turn.number}`);
  return asked.length === 0 ? null : `took the consent that ${asked.join(', ')} waited for, and went on`;
}

function modelCalls({ receipts, evictions }: SessionFacts): string {
  const usages = receipts.flatMap((receipt) =>
    receipt.purpose === 'step' && receipt.usage !== null ? [receipt.usage] : [],
  );
  const prompt = usages.reduce((sum, usage) => sum + promptTokens(usage), 0);
  const cached = usages.reduce((sum, usage) => sum + usage.cacheReadTokens, 0);
  const left = evictions.map(({ from, to }) => items(from, to));
  return [
    `${count(prompt)} prompt tokens sent, ${percent(cached, prompt)} of them read from the provider's cache`,
    ...(left.length === 0 ? [] : [`${left.join(', ')} left them`]),
  ].join('; ');
}

function results({ results: all }: SessionFacts): string {
  const names = new Map<string, number>();
  for (const { name } of all) names.set(name, (names.get(name) ?? 0) + 1);
  const listed = [...names].map(([name, times]) => `${name} ${times}`);
  return `results joined the next request: ${listed.join(', ')}`;
}

function packets({ packets: all }: SessionFacts): string | null {
  const [newest] = all.toReversed();
  if (newest === undefined) return null;
  return `T${newest.from} to T${newest.to} are sent as a packet of ${size(byteLength(newest.text))}`;
}

function measured({ probes }: SessionFacts): string | null {
  const profile = probes.at(-1)?.profile as unknown as CapacityProfile | undefined;
  if (profile === undefined) return null;
  const { declaredWindow, windowSource, horizon, provenance } = profile;
  const stated =
    windowSource === 'provider' ? `states a window of ${count(declaredWindow)} tokens` : 'states no window';
  const rungs = provenance.rungs.filter(({ kind }) => kind === 'horizon').length;
  return rungs === 0
    ? `the provider ${stated}, where ${count(FALLBACK_WINDOW_TOKENS)} were assumed`
    : `the provider ${stated}; measured, prompts are followed up to ${count(horizon.tokens)}`;
}

function readings({ classified }: SessionFacts): string | null {
  const all = [...classified].map(([number, { act }]) => `T${number} as "${act}"`);
  const more = all.length > SHOWN_READINGS ? ` and ${all.length - SHOWN_READINGS} more` : '';
  return all.length === 0
    ? null
    : `read ${all.slice(0, SHOWN_READINGS).join(', ')}${more}; the request says so`;
}
