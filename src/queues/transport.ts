/** What differs between BullMQ on Redis and BullMQ on Postgres: everything else stands once, in `bull.ts`. */
import {
  type BackendFactory,
  type ConnectionOptions,
  type Queue,
  type RedisQueueBackend,
  Worker,
} from 'bullmq';
import { TurnwrightError } from '../ledger/errors.ts';
import type { JobRef, Pool, QueueBackend } from './contract.ts';
import type { Retention } from './pools.ts';
import { describe } from './reporter.ts';

export type PoolQueue = Queue<JobRef, void, string>;

/** A claim that fails answers at once and BullMQ asks again at once; this keeps an error from becoming a storm. */
export const CLAIM_RETRY_MS = 500;

/**
 * BullMQ types its classes by their backend and defaults to the Redis one. Only methods of its common
 * backend contract are called here and by Bull Board, so both factories are given in the default form.
 */
export type Factory = BackendFactory<RedisQueueBackend, ConnectionOptions>;

export interface Transport {
  readonly kind: QueueBackend['kind'];
  /** For messages: where the queue is, without credentials. */
  readonly address: string;
  readonly retention: Retention;
  readonly prefix: string | undefined;
  producer(): { readonly connection: ConnectionOptions; readonly factory: Factory };
  consumer(): { readonly connection: ConnectionOptions; readonly factory: Factory };
  /** Resolves when a producer call has a chance; rejects at once when the queue is known to be down. */
  reach(): Promise<void>;
  ping(): Promise<void>;
  /** Whether a call that failed with `error` can be repeated at once because its cause is repaired. */
  retry(error: unknown): boolean;
  /** Called before a worker interrupts its wait for good. */
  retire(worker: BullWorker): void;
  close(): Promise<void>;
}

/** BullMQ's worker, with a way to let go of one whose graceful close cannot end. */
export class BullWorker extends Worker<JobRef, void, string> {
  async abandon(): Promise<void> {
    await this.pause(true);
    await this.lockManager.close();
    await this.backend.close(true);
  }
}

export interface BullBackend extends QueueBackend {
  /** BullMQ's own queue of every pool, for Bull Board. */
  queues(): ReadonlyMap<Pool, Queue>;
}

export function unreachable(transport: Pick<Transport, 'kind' | 'address'>, cause: unknown): TurnwrightError {
  return new TurnwrightError(
    'queue_unreachable',
    `the job queue on ${transport.kind} at ${transport.address} does not answer: ${describe(cause)}; ` +
      'check that it runs and that its address and credentials are right',
    { cause },
  );
}

/** `redis://user:secret@host:1/2` → `host:1`. */
export function withoutCredentials(url: string): string {
  try {
    const { host, pathname } = new URL(url);
    return host === '' ? pathname : host;
  } catch {
    return 'an address that is no URL';
  }
}
