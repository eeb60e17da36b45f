/** Jobs that come a second time, in every way a board, an operator or a retried request can bring them. */

import type { Pool } from '../../src/queues/index.ts';
import {
  type BullBackend,
  boardQueues,
  createPostgresQueueBackend,
  createRedisBackend,
} from '../../src/queues/index.ts';

export interface QueuePlace {
  /** null: the queue lives in the database. */
  readonly redisUrl: string | null;
  readonly databaseUrl: string;
  readonly namespace: string;
}

export interface HandedOver {
  /** As the board's retry does it. */
  readonly retried: number;
  /** Under the same id, which the queue ignores while it has it, and under another, which it cannot. */
  readonly added: number;
  /** By the queue itself: a job had moved on. */
  readonly refused: number;
}

const MEDDLED_POOLS: readonly Pool[] = ['turn', 'step', 'tool', 'summary'];
const STATES = ['completed', 'failed', 'active', 'waiting', 'prioritized'] as const;
const JOBS_OF_A_STATE = 8;

export async function handOverTwice(place: QueuePlace): Promise<HandedOver> {
  const backend = open(place);
  const done = { retried: 0, added: 0, refused: 0 };
  try {
    await backend.ping();
    for (const pool of MEDDLED_POOLS) await meddle(backend, pool, done);
    return done;
  } finally {
    await backend.close();
  }
}

function open({ redisUrl, databaseUrl, namespace }: QueuePlace): BullBackend {
  const onError = (): void => undefined;
  return redisUrl === null
    ? createPostgresQueueBackend({ connectionString: databaseUrl, schema: namespace, onError })
    : createRedisBackend({ url: redisUrl, prefix: namespace, onError });
}

async function meddle(
  backend: BullBackend,
  pool: Pool,
  done: { retried: number; added: number; refused: number },
): Promise<void> {
  const queue = boardQueues(backend).get(pool);
  if (queue === undefined) throw new Error(`there is no queue of the pool ${pool}`);
  for (const state of STATES) {
    for (const job of await queue.getJobs([state], 0, JOBS_OF_A_STATE - 1)) {
      const id = String(job.id);
      try {
        if (state === 'completed' || state === 'failed') {
          await job.retry(state);
          done.retried += 1;
        }
        await queue.add(job.name, job.data, { jobId: id, attempts: 1 });
        await queue.add(job.name, job.data, { jobId: `${id}~twin`, attempts: 1, removeOnComplete: true });
        done.added += 2;
      } catch {
        done.refused += 1;
      }
    }
  }
}
