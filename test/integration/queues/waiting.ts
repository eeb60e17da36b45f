/** Waiting for a condition with a bound: the one way tests wait for what has no signal. */

const POLL_MS = 10;

/** Resolves with the first value `probe` gives that is not undefined, false or null. */
export async function eventually<T>(
  what: string,
  probe: () => T | Promise<T>,
  limitMs = 10_000,
): Promise<Exclude<NonNullable<T>, false>> {
  const deadlineMs = performance.now() + limitMs;
  for (;;) {
    const value = await probe();
    if (value !== undefined && value !== null && value !== false) {
      return value as Exclude<NonNullable<T>, false>;
    }
    if (performance.now() > deadlineMs) throw new Error(`still not so after ${limitMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** A promise with its ends outside, to hold a handler open or to hear that it ran. */
export interface Gate<T = void> {
  readonly opened: Promise<T>;
  open(value: T): void;
}

export function gate<T = void>(): Gate<T> {
  let open: (value: T) => void = () => undefined;
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}
