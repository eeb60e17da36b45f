/** What a test may do with the whole of Turnwright in its process. */
import type pg from 'pg';
import type { Services } from '../../src/app/services.ts';
import type { ApplyResult, Commit, SessionRef } from '../../src/db/contract.ts';
import type { Json } from '../../src/ledger/json.ts';
import type { StoredRecord, Verdict } from '../../src/ledger/verify.ts';
import type { MachineRegistry } from '../../src/machines/registry.ts';
import type { JobRef, Pool } from '../../src/queues/contract.ts';
import type { AcceptRequest } from '../../src/runtime/accept.ts';
import type { SimModel, Simulator } from '../../src/sim/index.ts';
import type { Tool } from '../../src/tools/contract.ts';

export const BACKENDS = ['postgres', 'redis'] as const;
export type Backend = (typeof BACKENDS)[number];

export interface StackOptions {
  readonly backend: Backend;
  readonly models?: readonly SimModel[];
  readonly tools?: readonly Tool[];
  /** Name and text of each file in the folder that tools see. */
  readonly files?: Readonly<Record<string, string>>;
  readonly leaseMs?: number;
  readonly simSpeed?: 'instant' | 'real';
}

export interface Applied {
  readonly commit: Commit;
  readonly result: ApplyResult;
}

export interface SessionOptions {
  /** A model of the simulator; the leg has its name. */
  readonly model?: string;
  readonly tools?: readonly string[] | null;
  readonly system?: string;
}

export type TurnOptions = Partial<Pick<AcceptRequest, 'mode' | 'priority' | 'idempotencyKey'>> & {
  readonly stepBudget?: number;
  readonly deadlineMs?: number;
  readonly escalate?: boolean;
  readonly services?: Services;
};

export interface TurnEnd {
  readonly outcome: string;
  readonly reason: string;
  readonly steps: number;
  readonly answer: string | null;
}

export type Handle = (ref: JobRef) => Promise<void>;

export interface WorkerOptions {
  readonly leaseMs?: number;
  /** Larger than the lease makes a zombie: alive, and taken for dead. */
  readonly heartbeatMs?: number;
  readonly pools?: readonly Pool[];
  readonly concurrency?: number;
  readonly registry?: MachineRegistry;
  /** It starts a turn's next call itself where it can. */
  readonly startHere?: boolean;
  /** False: this process never takes over or re-admits. */
  readonly sweeps?: boolean;
  /** Stands between the queue and the handler of a pool. */
  readonly between?: (pool: Pool, handle: Handle) => Handle;
}

export interface TestWorker {
  readonly id: string;
  readonly services: Services;
  drain(graceMs?: number): Promise<void>;
  /** Drains without grace and hangs up, as a process that ends does. */
  stop(): Promise<void>;
}

export interface TestStack {
  readonly backend: Backend;
  readonly tenant: string;
  readonly root: string;
  readonly sim: Simulator;
  readonly databaseUrl: string;
  readonly redisUrl: string | null;
  /** Accepts turns; runs none. */
  readonly producer: Services;
  /** Every commit that any process of the stack tried, in order of its answer. */
  readonly applied: readonly Applied[];
  /** Every job any process handed to the queue, as `<child>` of its actor. */
  readonly admitted: readonly JobRef[];
  session(options?: SessionOptions): Promise<SessionRef>;
  accept(session: SessionRef, text: string, options?: TurnOptions): Promise<string>;
  ended(session: SessionRef, turn: string, limitMs?: number): Promise<TurnEnd>;
  /** Accepts a turn and waits for its end. */
  ask(session: SessionRef, text: string, options?: TurnOptions): Promise<TurnEnd & { readonly turn: string }>;
  cancel(session: SessionRef, turn: string): Promise<string>;
  records(session: SessionRef, turn?: string): Promise<readonly (StoredRecord & { readonly data: Data })[]>;
  verify(session: SessionRef): Promise<Verdict>;
  worker(options?: WorkerOptions): Promise<TestWorker>;
  /** Another producer process, of another release where a registry is given. */
  open(registry?: MachineRegistry): Services;
  /** As the user that owns the server: sees every tenant. */
  sql<Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<readonly Row[]>;
  /** The queue as if it had never been: every key of Redis, or BullMQ's whole schema. */
  loseQueue(): Promise<void>;
  close(): Promise<void>;
}

export type Data = { readonly [key: string]: Json };
