/** What worker processes need of storage across tenants. */
import type { ActorRef } from './contract.ts';

export interface PoolState {
  readonly pool: string;
  readonly concurrency: number;
  readonly admitted: number;
  readonly backlog: number;
  readonly oldestSeconds: number;
}

export interface HandOver extends ActorRef {
  readonly child: string;
  readonly dispatch: number;
  readonly priority: number;
}

export interface UnclaimedRow extends HandOver {
  readonly pool: string;
  /** Since it was handed to the queue. */
  readonly heldMs: number;
}

/** Calls a worker runs, each as `<actor>~<child>`; `old` are those it has run for a lease. */
export interface HeldCalls {
  readonly held: readonly string[];
  readonly old: readonly string[];
}

export interface SweepResult {
  readonly taken: number;
  readonly fired: number;
  readonly drains: number;
  /** Finished actors whose events are not folded yet. */
  readonly unfolded: boolean;
  /** Rows the queue was given long ago and no worker claimed. */
  readonly unclaimed: readonly UnclaimedRow[];
}

/** Across tenants, for worker processes. */
export interface UpkeepStore {
  beat(worker: {
    readonly id: string;
    readonly host: string;
    readonly pid: number;
    readonly pools: Readonly<Record<string, number>>;
  }): Promise<void>;
  retire(workerId: string): Promise<void>;
  /** Hands out again what the worker was given and does not run; returns, of `old`, the calls that are no longer its own. */
  reconcile(workerId: string, calls: HeldCalls, leaseMs: number): Promise<readonly string[]>;
  poolState(leaseMs: number): Promise<readonly PoolState[]>;
  /** null when another process admits to this pool right now. */
  admit(pool: string, limit: number): Promise<readonly HandOver[] | null>;
  /** null when another process sweeps right now. */
  sweep(options: { readonly leaseMs: number; readonly readmitMs: number }): Promise<SweepResult | null>;
  redispatch(row: HandOver): Promise<number | null>;
  nextDueMs(): Promise<number | null>;
  compact(limit: number): Promise<number>;
  /** Removes large bodies that no record points at, an hour after they were stored. */
  collectBodies(): Promise<number>;
}
