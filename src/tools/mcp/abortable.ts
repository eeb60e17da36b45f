/** Waiting that ends early: for one of several who wait, or when time is up. */
import type { Clock } from '../../ledger/clock.ts';

/** Settles as `work` does, or rejects with the signal's reason; the work goes on for whoever else waits for it. */
export function abortable<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(signal.reason as Error);
    if (signal.aborted) leave();
    signal.addEventListener('abort', leave, { once: true });
    const settle = (): void => signal.removeEventListener('abort', leave);
    work.then(resolve, reject).finally(settle);
  });
}

export interface Deadline {
  readonly signal: AbortSignal;
  /** To be called when what it bounds has ended. */
  cancel(): void;
}

export function deadlineIn(delayMs: number, clock: Pick<Clock, 'after'>): Deadline {
  const controller = new AbortController();
  const cancel = clock.after(delayMs, () =>
    controller.abort(new DOMException('The time is up.', 'TimeoutError')),
  );
  return { signal: controller.signal, cancel };
}

/** Resolves when `work` has settled, or after `limitMs`. */
export async function settledOr(
  work: Promise<unknown>,
  limitMs: number,
  clock: Pick<Clock, 'after'>,
): Promise<void> {
  const deadline = deadlineIn(limitMs, clock);
  await abortable(work, deadline.signal).catch(() => {});
  deadline.cancel();
}
