/** A BullMQ backend in the shape the contract suite takes. */
import type { QueueBackend } from '../../../src/queues/contract.ts';
import { type BullBackend, boardQueues } from '../../../src/queues/index.ts';
import type { QueueUnderTest } from '../../contract/queue.suite.ts';

export function underTest(
  open: (onError: (error: Error) => void) => BullBackend,
  openUnreachable: () => BullBackend,
  close: () => Promise<void> = async () => undefined,
): QueueUnderTest {
  const known = new Map<QueueBackend, BullBackend>();
  const queueOf = (backend: QueueBackend, pool: Parameters<QueueUnderTest['addRaw']>[1]) => {
    const bull = known.get(backend);
    const queue = bull === undefined ? undefined : boardQueues(bull).get(pool);
    if (queue === undefined) throw new Error(`no ${pool} queue of this backend`);
    return queue;
  };
  return {
    open: (onError) => {
      const backend = open(onError);
      known.set(backend, backend);
      return backend;
    },
    openUnreachable,
    addRaw: async (backend, pool, id, data) => {
      await queueOf(backend, pool).add('raw', data, { jobId: id });
    },
    failedReason: async (backend, pool, id) => (await queueOf(backend, pool).getJob(id))?.failedReason,
    close,
  };
}
