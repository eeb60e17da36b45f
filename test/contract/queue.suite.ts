/** What every queue backend must do, whatever stands below it. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type Admission,
  type JobPresence,
  type JobRef,
  jobId,
  POOLS,
  type Pool,
  type QueueBackend,
} from '../../src/queues/contract.ts';
import { eventually, gate } from '../integration/queues/waiting.ts';

export interface QueueUnderTest {
  /** Another client of the same queue, as another process would hold one. */
  open(onError: (error: Error) => void): QueueBackend;
  /** A client of a queue that is not there. */
  openUnreachable(): QueueBackend;
  /** Puts a job of any content into a pool, past `admit`. */
  addRaw(backend: QueueBackend, pool: Pool, id: string, data: unknown): Promise<void>;
  /** Why a job failed, as the board shows it. */
  failedReason(backend: QueueBackend, pool: Pool, id: string): Promise<string | undefined>;
  close(): Promise<void>;
}

/** Longer than any answer a healthy queue needs here, and short of vitest's own limit. */
const LIMIT_MS = 20_000;
const GRACE_MS = 10_000;

/** `makeBackend` gives a queue of its own to every test. */
export function queueBackendSuite(name: string, makeBackend: () => Promise<QueueUnderTest>): void {
  describe(`queue backend: ${name}`, { timeout: LIMIT_MS * 2 }, () => {
    let queue: QueueUnderTest;
    let backend: QueueBackend;
    let opened: QueueBackend[];
    let errors: Error[];

    beforeEach(async () => {
      queue = await makeBackend();
      opened = [];
      errors = [];
      backend = open();
    });
    afterEach(async () => {
      await Promise.all(opened.map((each) => each.close()));
      await queue.close();
    });

    function open(): QueueBackend {
      const mine = errors;
      const another = queue.open((error) => mine.push(error));
      opened.push(another);
      return another;
    }

    async function present(pool: Pool, ref: JobRef, wanted: JobPresence): Promise<void> {
      await eventually(`job ${jobId(ref)} is ${wanted}`, async () => {
        return (await backend.presence(pool, jobId(ref))) === wanted;
      });
    }

    /** A worker that remembers what it was given. */
    async function collect(pool: Pool, from: QueueBackend = backend, concurrency = 4) {
      const handled: JobRef[] = [];
      const worker = await from.work(pool, {
        concurrency,
        handle: async (ref) => {
          handled.push(ref);
        },
        onError: (error) => errors.push(error),
      });
      return { handled, worker };
    }

    it('RUN-13 hands an admitted reference to a worker unchanged', async () => {
      const admission = admit(1);
      const { handled, worker } = await collect('step');
      await backend.admit('step', [admission]);
      await eventually('the job is handled', () => handled.length === 1);
      expect(handled).toEqual([admission.ref]);
      expect(await worker.close(GRACE_MS)).toEqual({ unfinished: 0 });
    });

    it('RUN-13 takes many jobs in one admission and handles each once, over several workers', async () => {
      const admissions = Array.from({ length: 300 }, (_, n) => admit(n));
      const first = await collect('tool');
      const second = await collect('tool', open());
      await backend.admit('tool', admissions);
      await eventually('all are handled', () => first.handled.length + second.handled.length >= 300);
      await Promise.all([first.worker.close(GRACE_MS), second.worker.close(GRACE_MS)]);
      const ids = [...first.handled, ...second.handled].map(jobId).sort();
      expect(ids).toEqual(admissions.map(({ ref }) => jobId(ref)).sort());
    });

    it('RUN-13 adds one job when the same reference is admitted again, at once, later or after it ended', async () => {
      const admission = admit(1);
      await Promise.all([
        backend.admit('step', [admission]),
        open().admit('step', [admission]),
        backend.admit('step', [admission, admission]),
      ]);
      const { handled, worker } = await collect('step');
      await present('step', admission.ref, 'finished');
      await backend.admit('step', [admission]);
      const marker = admit(2);
      await backend.admit('step', [marker]);
      await present('step', marker.ref, 'finished');
      expect(handled).toEqual([admission.ref, marker.ref]);
      await worker.close(GRACE_MS);
    });

    it('RUN-13 takes the most urgent first and keeps the order of admission within one priority', async () => {
      const order = [
        admit(1, 7),
        admit(2, 0),
        admit(3, 7),
        admit(4, 2),
        admit(5, 0),
        admit(6, 4_000_000_000),
      ];
      for (const admission of order) await backend.admit('summary', [admission]);
      const { handled, worker } = await collect('summary', backend, 1);
      await eventually('all are handled', () => handled.length === order.length);
      expect(handled.map(({ child }) => child)).toEqual([
        'step-2',
        'step-5',
        'step-4',
        'step-1',
        'step-3',
        'step-6',
      ]);
      await worker.close(GRACE_MS);
    });

    it('RUN-13 tells absent, pending, active and finished apart', async () => {
      const { ref, priority } = admit(1);
      const [begun, release] = [gate(), gate()];
      expect(await backend.presence('probe', jobId(ref))).toBe('absent');
      await backend.admit('probe', [{ ref, priority }]);
      expect(await backend.presence('probe', jobId(ref))).toBe('pending');
      const urgentLess = admit(2, 9);
      await backend.admit('probe', [urgentLess]);
      expect(await backend.presence('probe', jobId(urgentLess.ref))).toBe('pending');
      const worker = await backend.work('probe', {
        concurrency: 2,
        handle: async (given) => {
          if (given.actor !== ref.actor) return;
          begun.open();
          await release.opened;
        },
        onError: (error) => errors.push(error),
      });
      await begun.opened;
      expect(await backend.presence('probe', jobId(ref))).toBe('active');
      release.open();
      await present('probe', ref, 'finished');
      await worker.close(GRACE_MS);
    });

    it('RUN-13 marks a job failed when its handler throws, reports it by id, and goes on', async () => {
      const [bad, good] = [admit(1), admit(2)];
      const worker = await backend.work('intent', {
        concurrency: 1,
        handle: async (ref) => {
          if (ref.child === bad.ref.child) throw new Error('the reading came back empty');
        },
        onError: (error) => errors.push(error),
      });
      await backend.admit('intent', [bad]);
      await backend.admit('intent', [good]);
      await present('intent', good.ref, 'finished');
      await present('intent', bad.ref, 'finished');
      expect(await queue.failedReason(backend, 'intent', jobId(bad.ref))).toBe('the reading came back empty');
      expect(await queue.failedReason(backend, 'intent', jobId(good.ref))).toBeUndefined();
      const message = errors.map((error) => error.message).join('\n');
      expect(message).toContain(jobId(bad.ref));
      expect(message).toContain('the reading came back empty');
      await worker.close(GRACE_MS);
    });

    it('RUN-13 fails a job that is no reference, says which field is wrong, and goes on', async () => {
      const { handled, worker } = await collect('upkeep');
      await queue.addRaw(backend, 'upkeep', 'not-a-reference', { tenant: 'nobody', child: 'step-1' });
      await eventually('the malformed job ended', async () => {
        return (await backend.presence('upkeep', 'not-a-reference')) === 'finished';
      });
      const reason = await queue.failedReason(backend, 'upkeep', 'not-a-reference');
      expect(reason).toContain('not a reference of the upkeep pool');
      expect(reason).toContain('tenant');
      expect(reason).toContain('remove this one');
      const admission = admit(1);
      await backend.admit('upkeep', [admission]);
      await eventually('the next job is handled', () => handled.length === 1);
      expect(handled).toEqual([admission.ref]);
      await worker.close(GRACE_MS);
    });

    it('RUN-13 runs as many jobs at once as it was told, and no more', async () => {
      const release = gate();
      let [now, most] = [0, 0];
      const worker = await backend.work('tool', {
        concurrency: 3,
        handle: async () => {
          now += 1;
          most = Math.max(most, now);
          await release.opened;
          now -= 1;
        },
        onError: (error) => errors.push(error),
      });
      const admissions = Array.from({ length: 9 }, (_, n) => admit(n));
      await backend.admit('tool', admissions);
      await eventually('three run', () => now === 3);
      release.open();
      for (const { ref } of admissions) await present('tool', ref, 'finished');
      expect(most).toBe(3);
      await worker.close(GRACE_MS);
    });

    it('RUN-13 takes no more than it is limited to while it runs, and as many again once it may', async () => {
      const holds: ReturnType<typeof gate>[] = [];
      const worker = await backend.work('tool', {
        concurrency: 3,
        handle: async () => {
          const hold = gate();
          holds.push(hold);
          await hold.opened;
        },
        onError: (error) => errors.push(error),
      });
      worker.limit(1);
      const admissions = Array.from({ length: 5 }, (_, n) => admit(n));
      await backend.admit('tool', admissions);
      await eventually('one runs', () => holds.length === 1);
      holds[0]?.open(undefined);
      await eventually('the next runs', () => holds.length === 2);
      worker.limit(3);
      holds[1]?.open(undefined);
      await eventually('three run', () => holds.length === 5);
      for (const hold of holds) hold.open(undefined);
      for (const { ref } of admissions) await present('tool', ref, 'finished');
      await worker.close(GRACE_MS);
    });

    it('RUN-13 keeps pools apart, and serves every one of them', async () => {
      const seen = new Map<Pool, JobRef[]>();
      const workers = [];
      for (const pool of POOLS) {
        const { handled, worker } = await collect(pool, backend, 1);
        seen.set(pool, handled);
        workers.push(worker);
      }
      const wanted = new Map(POOLS.map((pool, n) => [pool, admit(n)]));
      for (const [pool, admission] of wanted) await backend.admit(pool, [admission]);
      for (const [pool, { ref }] of wanted) await present(pool, ref, 'finished');
      for (const [pool, { ref }] of wanted) expect(seen.get(pool)).toEqual([ref]);
      await Promise.all(workers.map((worker) => worker.close(GRACE_MS)));
    });

    it('RUN-13 closes a worker after its running job, and takes no new one', async () => {
      const [begun, release] = [gate(), gate()];
      const [first, second] = [admit(1), admit(2)];
      const worker = await backend.work('step', {
        concurrency: 1,
        handle: async () => {
          begun.open();
          await release.opened;
        },
        onError: (error) => errors.push(error),
      });
      await backend.admit('step', [first]);
      await begun.opened;
      const closing = worker.close(GRACE_MS);
      await backend.admit('step', [second]);
      release.open();
      expect(await closing).toEqual({ unfinished: 0 });
      expect(await worker.close(GRACE_MS)).toEqual({ unfinished: 0 });
      expect(await backend.presence('step', jobId(first.ref))).toBe('finished');
      expect(await backend.presence('step', jobId(second.ref))).toBe('pending');
    });

    it('RUN-13 counts what is still running when the grace is used up, and leaves no job active', async () => {
      const [begun, release] = [gate(), gate()];
      const admission = admit(1);
      const worker = await backend.work('step', {
        concurrency: 1,
        handle: async () => {
          begun.open();
          await release.opened;
        },
        onError: (error) => errors.push(error),
      });
      await backend.admit('step', [admission]);
      await begun.opened;
      expect(await worker.close(50)).toEqual({ unfinished: 1 });
      expect(await backend.presence('step', jobId(admission.ref))).toBe('finished');
      expect(await queue.failedReason(backend, 'step', jobId(admission.ref))).toContain('the worker stopped');
      release.open();
    });

    it('RUN-13 leaves no job active when its handler throws while the worker closes', async () => {
      const [begun, release] = [gate(), gate()];
      const admission = admit(1);
      const worker = await backend.work('turn', {
        concurrency: 1,
        handle: async () => {
          begun.open();
          await release.opened;
          throw new Error('aborted by shutdown');
        },
        onError: (error) => errors.push(error),
      });
      await backend.admit('turn', [admission]);
      await begun.opened;
      const closing = worker.close(GRACE_MS);
      release.open();
      expect(await closing).toEqual({ unfinished: 0 });
      expect(await backend.presence('turn', jobId(admission.ref))).toBe('finished');
      expect(await queue.failedReason(backend, 'turn', jobId(admission.ref))).toBe('aborted by shutdown');
    });

    it('RUN-13 leaves waiting jobs to the worker that comes after', async () => {
      const admission = admit(1);
      const gone = await collect('step');
      await gone.worker.close(GRACE_MS);
      await backend.admit('step', [admission]);
      const { handled, worker } = await collect('step', open());
      await eventually('the job is handled', () => handled.length === 1);
      expect(handled).toEqual([admission.ref]);
      expect(gone.handled).toEqual([]);
      await worker.close(GRACE_MS);
    });

    it('RUN-13 refuses a call at once, by name, when the queue is unreachable', async () => {
      const nowhere = queue.openUnreachable();
      opened.push(nowhere);
      const startedMs = performance.now();
      const refusals = await Promise.allSettled([
        nowhere.admit('step', [admit(1)]),
        nowhere.presence('step', 'any'),
        nowhere.ping(),
        nowhere.work('step', { concurrency: 1, handle: async () => undefined, onError: () => undefined }),
      ]);
      for (const refusal of refusals) {
        expect(refusal).toMatchObject({
          status: 'rejected',
          reason: { code: 'queue_unreachable', retryable: true },
        });
      }
      await expect(nowhere.admit('step', [admit(1)])).rejects.toMatchObject({ code: 'queue_unreachable' });
      // A bound against hanging: the answer must not wait for any retry of the connection.
      expect(performance.now() - startedMs).toBeLessThan(8_000);
      await nowhere.close();
    });

    it('RUN-13 answers a ping, and takes an empty admission', async () => {
      await backend.ping();
      await backend.admit('step', []);
      expect(errors).toEqual([]);
    });

    it('RUN-13 refuses calls after it was closed, closes twice, and closes its workers', async () => {
      const mine = open();
      const { handled } = await collect('step', mine);
      await mine.close();
      await mine.close();
      await expect(mine.admit('step', [admit(1)])).rejects.toMatchObject({ code: 'queue_unreachable' });
      const admission = admit(2);
      await backend.admit('step', [admission]);
      const later = await collect('step');
      await eventually('another worker takes the job', () => later.handled.length === 1);
      expect(handled).toEqual([]);
      await later.worker.close(GRACE_MS);
    });

    it('RUN-13 refuses a child whose job id the queue could not hold', async () => {
      const { ref } = admit(1);
      await expect(backend.admit('step', [{ ref: { ...ref, child: 'a:b' }, priority: 0 }])).rejects.toThrow(
        RangeError,
      );
    });
  });
}

function admit(n: number, priority = 0): Admission {
  const ref: JobRef = {
    tenant: randomUUID(),
    session: randomUUID(),
    actor: randomUUID(),
    child: `step-${n}`,
    dispatch: 0,
  };
  return { ref, priority };
}
