/** Ends what a command started: when asked to, or when the command is done. */
import type { Stack } from '../app/stack.ts';

/** Resolves when the process is asked to end; at once when it was asked before. */
export function untilStopped(stopped: AbortSignal): Promise<void> {
  if (stopped.aborted) return Promise.resolve();
  return new Promise((resolve) => stopped.addEventListener('abort', () => resolve(), { once: true }));
}

/** Stands until the process is asked to end, then drains. */
export async function serveUntilStopped(
  stack: Stack,
  stopped: AbortSignal,
  say: (line: string) => void,
): Promise<void> {
  try {
    await untilStopped(stopped);
    say('Stopping: running work ends first. Once more to stop at once.');
  } finally {
    await stack.stop();
  }
}
