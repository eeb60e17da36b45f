/** What worker processes need of storage across tenants. */
import type { ActorRef, SessionRef } from './contract.ts';
import type { ActorRow, CallRow, Projections, TimerRow } from './state-contract.ts';

export interface PoolState {
  readonly pool: string;
  /** Slots of live workers. */
  readonly concurrency: number;
  /** Rows handed to the queue and not yet claimed. */
  readonly admitted: number;
  /** Rows held back whose time has come. Uncounted: 1 where there is any. */
  readonly backlog: number;
  /** Rows held back whose time has not come. Uncounted: 0. */
  readonly delayed: number;
  /** Age of the oldest row. Uncounted: 0. */
  readonly oldestSeconds: number;
}

/** What bounds a hand-over beside its own limit. */
export interface AdmitRules {
  readonly leaseMs: number;
  /** Rows in the queue for each live slot. */
  readonly perSlot: number;
  /** Of the live slots, what one tenant gets while others wait: more than 0, at most 1. */
  readonly tenantShare: number;
  /** Calls of one tenant in the queue and running; null for no such limit. */
  readonly tenantRunning: number | null;
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

/** The lists that follow from records alone. */
export type RecordList =
  | 'heads'
  | 'turns'
  | 'keys'
  | 'evidence'
  | 'packets'
  | 'edges'
  | 'presentations'
  | 'prefixes'
  | 'vectors'
  | 'evictions'
  | 'segments'
  | 'usage';

/** Projections to write in the place of those that stand. Lists of records' projections are whole. */
export interface Restoration extends SessionRef, Pick<Projections, RecordList> {
  readonly row: Projections['session'];
  /** Actors whose rows are to be made or mended. */
  readonly actors: readonly Omit<ActorRow, 'parkedReason'>[];
  /** Calls whose rows are to be made or mended, to be handed over anew. */
  readonly calls: readonly Omit<CallRow, 'status' | 'fence' | 'token' | 'dispatch' | 'started' | 'worker'>[];
  readonly surplusCalls: readonly Pick<CallRow, 'actor' | 'child'>[];
  readonly timers: readonly TimerRow[];
  readonly surplusTimers: readonly Pick<TimerRow, 'actor' | 'timer'>[];
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
  /** `counted` false leaves out what costs more the more is held back. */
  poolState(leaseMs: number, counted?: boolean): Promise<readonly PoolState[]>;
  /** null when another process admits to this pool right now, or the rules leave no room in the queue. */
  admit(pool: string, limit: number, rules?: AdmitRules): Promise<readonly HandOver[] | null>;
  /** null when another process sweeps right now. */
  sweep(options: { readonly leaseMs: number; readonly readmitMs: number }): Promise<SweepResult | null>;
  redispatch(row: HandOver): Promise<number | null>;
  nextDueMs(): Promise<number | null>;
  /** False when the ledger grew since `restoration` was made of it: nothing is written then. */
  restore(restoration: Restoration): Promise<boolean>;
  compact(limit: number): Promise<number>;
  /** Removes large bodies that no record points at, an hour after they were stored. */
  collectBodies(): Promise<number>;
}
