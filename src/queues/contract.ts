/** Pools, the jobs they take, and what a queue backend must do. A job carries ids only. */
import { z } from 'zod';

export const POOLS = ['turn', 'step', 'tool', 'summary', 'probe', 'intent', 'upkeep'] as const;
export type Pool = (typeof POOLS)[number];

export const jobRef = z.strictObject({
  tenant: z.uuid(),
  session: z.uuid(),
  actor: z.uuid(),
  /** `step-2`, `tool-2-0`, … or `drain` for a job of the `turn` pool. */
  child: z.string().min(1).max(64),
  dispatch: z.int().nonnegative(),
});
export type JobRef = z.infer<typeof jobRef>;

/** Deterministic, so that handing the same row over twice adds one job. Holds no `:`, which BullMQ refuses. */
export function jobId(ref: JobRef): string {
  return `${ref.actor}~${ref.child}~${ref.dispatch}`;
}

export interface Admission {
  readonly ref: JobRef;
  /** 0 is the most urgent. */
  readonly priority: number;
}

/** What the queue knows of a job id. `finished`: completed or failed and still kept, so the id cannot be added again. */
export type JobPresence = 'absent' | 'pending' | 'active' | 'finished';

export interface PoolWorker {
  /** From now on takes a job only while fewer than so many run, at least 1; those that run go on. */
  limit(concurrency: number): void;
  /** Takes no new job; resolves when the running ones ended, or after `graceMs` with the number still running. */
  close(graceMs: number): Promise<{ readonly unfinished: number }>;
}

export interface WorkOptions {
  readonly concurrency: number;
  /** Ends normally for every expected outcome; a throw marks the job failed for the board and is logged. */
  readonly handle: (ref: JobRef) => Promise<void>;
  readonly onError: (error: Error) => void;
}

export interface QueueBackend {
  readonly kind: 'redis' | 'postgres';
  /** Adds jobs in one round trip. Rejects at once when the queue is unreachable: no offline queue. */
  admit(pool: Pool, admissions: readonly Admission[]): Promise<void>;
  presence(pool: Pool, id: string): Promise<JobPresence>;
  /** Starts taking jobs of one pool. */
  work(pool: Pool, options: WorkOptions): Promise<PoolWorker>;
  ping(): Promise<void>;
  close(): Promise<void>;
}
