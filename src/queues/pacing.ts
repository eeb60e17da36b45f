/** Keeps a worker from asking a failing queue again at once. */
import type { IQueueBackend } from 'bullmq';
import { pause } from './deadline.ts';
import { CLAIM_RETRY_MS } from './transport.ts';

/** A claim that fails for another reason than a lost connection is retried by BullMQ without any delay. */
export function paced<B extends IQueueBackend>(backend: B): B {
  const claim = backend.moveToActive.bind(backend);
  backend.moveToActive = async (token, name) => {
    try {
      return await claim(token, name);
    } catch (error) {
      await pause(CLAIM_RETRY_MS);
      throw error;
    }
  };
  return backend;
}
