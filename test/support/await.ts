/** Waiting with a bound: for a condition that has no signal, and for a signal a test gives itself. */
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 15;
const LIMIT_MS = 20_000;

/** Resolves with the first value of `probe` that is neither undefined, null nor false; rejects past the limit. */
export async function until<T>(
  what: string,
  probe: () => T | Promise<T>,
  limitMs = LIMIT_MS,
): Promise<Exclude<NonNullable<T>, false>> {
  const deadlineMs = performance.now() + limitMs;
  for (;;) {
    const value = await probe();
    if (value !== undefined && value !== null && value !== false)
      return value as Exclude<NonNullable<T>, false>;
    if (performance.now() > deadlineMs) throw new Error(`still not so after ${limitMs} ms: ${what}`);
    await delay(POLL_MS);
  }
}

/** A promise with its end outside: what waits at it goes on when it opens. */
export interface Gate {
  readonly opened: Promise<void>;
  open(): void;
}

export function gate(): Gate {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
