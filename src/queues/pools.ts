/** What a pool is called in BullMQ, and how its jobs are kept. */
import type { BulkJobOptions, JobState } from 'bullmq';
import { type Admission, type JobPresence, type JobRef, jobId, POOLS, type Pool } from './contract.ts';

/** BullMQ refuses `:` in a queue name. The prefix or schema separates deployments, so names are fixed. */
export const POOL_QUEUE_NAMES: Readonly<Record<Pool, string>> = {
  turn: 'turnwright-turn',
  step: 'turnwright-step',
  tool: 'turnwright-tool',
  summary: 'turnwright-summary',
  probe: 'turnwright-probe',
  intent: 'turnwright-intent',
  upkeep: 'turnwright-upkeep',
};

/** BullMQ packs priority into 21 bits. */
const MAX_PRIORITY = 2_097_151;

/** Board history only; the ledger is the record. */
const KEEP_AGE_S = 3_600;

/** Each entry is about 100 bytes; nothing of ours reads the event stream. */
export const EVENT_STREAM_LENGTH = 100;

/** How many finished jobs BullMQ itself keeps; `undefined`: all of them, and the transport bounds them. */
export type Retention = { readonly completed: number; readonly failed: number } | undefined;

export interface BullJob {
  readonly name: string;
  readonly data: JobRef;
  readonly opts: BulkJobOptions;
}

/** @throws RangeError for a reference whose id BullMQ could not store. */
export function bullJob(admission: Admission, retention: Retention): BullJob {
  const { ref } = admission;
  const id = jobId(ref);
  if (id.includes(':')) {
    throw new RangeError(
      `job id "${id}" holds ":", which BullMQ refuses; name the child without it, such as step-2`,
    );
  }
  return {
    name: ref.child,
    data: ref,
    opts: {
      jobId: id,
      // Retries have one owner, the side call's row: a second attempt is a new dispatch.
      attempts: 1,
      priority: bullPriority(admission.priority),
      ...(retention === undefined
        ? {}
        : {
            removeOnComplete: { count: retention.completed, age: KEEP_AGE_S },
            removeOnFail: { count: retention.failed },
          }),
    },
  };
}

/** Both count from 0, the most urgent; ours is any number, BullMQ's an integer of 21 bits. */
export function bullPriority(priority: number): number {
  if (Number.isNaN(priority)) return MAX_PRIORITY;
  return Math.min(Math.max(Math.trunc(priority), 0), MAX_PRIORITY);
}

export function presenceOf(state: JobState | 'unknown'): JobPresence {
  switch (state) {
    case 'unknown':
      return 'absent';
    case 'active':
      return 'active';
    case 'completed':
    case 'failed':
      return 'finished';
    case 'waiting':
    case 'prioritized':
    case 'delayed':
    case 'waiting-children':
      return 'pending';
    default:
      // A paused list is reported under a name of its own by some BullMQ releases: it still waits.
      return 'pending';
  }
}

export function isPool(name: string): name is Pool {
  return (POOLS as readonly string[]).includes(name);
}
