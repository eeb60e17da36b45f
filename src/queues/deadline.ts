/** Bounded waiting: nothing of the queue may hold its caller for longer than it was told. */

/** Settles as `work` does, or rejects with `late()` after `limitMs`. A late rejection of `work` is swallowed. */
export async function within<T>(work: Promise<T>, limitMs: number, late: () => Error): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late()), limitMs);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
    work.catch(() => undefined);
  }
}

/** True when `work` settled, either way, inside `limitMs`. */
export async function settledWithin(work: Promise<unknown>, limitMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), limitMs);
  });
  const done = work.then(
    () => true,
    () => true,
  );
  try {
    return await Promise.race([done, limit]);
  } finally {
    clearTimeout(timer);
  }
}

export function pause(delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, delayMs);
  });
}
