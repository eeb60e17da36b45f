/** Pools: the slots of live workers, and what stands before them. */
import type { PoolState } from '../../../src/db/contract.ts';
import type { OutboxRow, Tables } from './rows.ts';

/** On workers that have beaten since. */
export function slotsOf(tables: Tables, pool: string, sinceMs: number): number {
  const live = [...tables.workers.values()].filter(({ beatMs }) => beatMs > sinceMs);
  return live.reduce((slots, worker) => slots + (worker.pools[pool] ?? 0), 0);
}

/** Of every pool that a live worker serves or a row waits for. */
export function poolStates(tables: Tables, leaseMs: number, nowMs: number): readonly PoolState[] {
  const live = [...tables.workers.values()].filter(({ beatMs }) => beatMs > nowMs - leaseMs);
  const rows = tables.outbox.all();
  const pools = new Set([
    ...live.flatMap((worker) => Object.keys(worker.pools)),
    ...rows.map(({ pool }) => pool),
  ]);
  return [...pools].map((pool) => ({
    pool,
    concurrency: slotsOf(tables, pool, nowMs - leaseMs),
    ...counts(
      rows.filter((row) => row.pool === pool),
      nowMs,
    ),
  }));
}

/** As one that does not count would tell it. */
export function uncounted(state: PoolState): PoolState {
  return { ...state, backlog: Math.min(1, state.backlog), delayed: 0, oldestSeconds: 0 };
}

function counts(rows: readonly OutboxRow[], nowMs: number) {
  const held = rows.filter(({ admittedMs }) => admittedMs === null);
  const backlog = held.filter(({ dueMs }) => dueMs <= nowMs).length;
  const oldestMs = Math.max(0, ...rows.map(({ dueMs }) => nowMs - dueMs));
  const admitted = rows.length - held.length;
  return { admitted, backlog, delayed: held.length - backlog, oldestSeconds: oldestMs / 1_000 };
}
