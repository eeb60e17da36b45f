/** Upkeep across tenants in memory, as drizzle/0003_upkeep.sql does it. */
import type {
  AdmitRules,
  HandOver,
  HeldCalls,
  PoolState,
  Restoration,
  SweepResult,
  UpkeepStore,
} from '../../../src/db/contract.ts';
import { admit } from './admit.ts';
import { foldFinished } from './fold.ts';
import { redispatch } from './outbox.ts';
import { poolStates, uncounted } from './pools.ts';
import { restore } from './restore.ts';
import type { Tables } from './rows.ts';
import { handOutLost, sweep } from './sweep.ts';

export interface MemoryUpkeepOptions {
  readonly tables: Tables;
  readonly nowMs: () => number;
  /** What another process is in the middle of: `sweep`, or `admit <pool>`. */
  readonly held: ReadonlySet<string>;
}

export class MemoryUpkeep implements UpkeepStore {
  readonly #tables: Tables;
  readonly #nowMs: () => number;
  readonly #held: ReadonlySet<string>;

  constructor({ tables, nowMs, held }: MemoryUpkeepOptions) {
    this.#tables = tables;
    this.#nowMs = nowMs;
    this.#held = held;
  }

  async beat(worker: {
    readonly id: string;
    readonly pools: Readonly<Record<string, number>>;
  }): Promise<void> {
    this.#tables.workers.set(worker.id, { id: worker.id, pools: worker.pools, beatMs: this.#nowMs() });
  }

  async retire(workerId: string): Promise<void> {
    this.#tables.workers.delete(workerId);
  }

  async reconcile(workerId: string, calls: HeldCalls, leaseMs: number): Promise<readonly string[]> {
    return this.#transaction((nowMs) => {
      const kept = handOutLost(this.#tables, workerId, calls.held, leaseMs, nowMs);
      return calls.old.filter((call) => !kept.has(call));
    });
  }

  async poolState(leaseMs: number, counted = true): Promise<readonly PoolState[]> {
    const states = poolStates(this.#tables, leaseMs, this.#nowMs());
    return counted ? states : states.map(uncounted);
  }

  async admit(pool: string, limit: number, rules?: AdmitRules): Promise<readonly HandOver[] | null> {
    if (this.#held.has(`admit ${pool}`)) return null;
    const nowMs = this.#nowMs();
    return this.#tables.journal.hasty(nowMs, () => admit(this.#tables, pool, { limit, rules, nowMs }));
  }

  async sweep(options: {
    readonly leaseMs: number;
    readonly readmitMs: number;
  }): Promise<SweepResult | null> {
    if (this.#held.has('sweep')) return null;
    return this.#transaction((nowMs) => sweep(this.#tables, options, nowMs));
  }

  async redispatch(row: HandOver): Promise<number | null> {
    return this.#transaction((nowMs) => redispatch(this.#tables, row, nowMs));
  }

  async nextDueMs(): Promise<number | null> {
    const nowMs = this.#nowMs();
    const heldBack = this.#tables.outbox
      .all()
      .filter(({ admittedMs, dueMs }) => admittedMs === null && dueMs > nowMs);
    const due = [...heldBack, ...this.#tables.timers.all()].map(({ dueMs }) => dueMs);
    return due.length === 0 ? null : Math.min(...due) - nowMs;
  }

  async compact(limit: number): Promise<number> {
    return this.#transaction((nowMs) => foldFinished(this.#tables, limit, nowMs));
  }

  async restore(restoration: Restoration): Promise<boolean> {
    return this.#transaction((nowMs) => restore(this.#tables, restoration, nowMs));
  }

  /** Bodies stand in their records here, so none is left behind by a hop that never committed. */
  async collectBodies(): Promise<number> {
    return 0;
  }

  #transaction<T>(work: (nowMs: number) => T): T {
    return this.#tables.journal.transaction(() => work(this.#nowMs()));
  }
}
