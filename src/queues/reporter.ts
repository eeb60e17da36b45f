/**
 * Errors of a connection, told once and not once per attempt.
 *
 * An outage makes every connection of every pool report the same failure several times a second.
 */

/** Long enough to keep a log readable through an outage, short enough to show that it lasts. */
const REPEAT_MS = 5_000;
/** Messages may carry ids; the memory of them is bounded. */
const REMEMBERED = 64;

export type Report = (error: unknown) => void;

export interface Reporter {
  readonly report: Report;
  /** For a close: what connections still say while they are hung up means nothing. */
  mute(): void;
}

export function createReporter(onError: (error: Error) => void, nowMs: () => number): Reporter {
  const lastMs = new Map<string, number>();
  let muted = false;
  const report: Report = (thrown) => {
    if (muted) return;
    const error = asError(thrown);
    const key = describe(error);
    const now = nowMs();
    const last = lastMs.get(key);
    if (last !== undefined && now - last < REPEAT_MS) return;
    lastMs.delete(key);
    lastMs.set(key, now);
    const oldest = lastMs.keys().next();
    if (lastMs.size > REMEMBERED && oldest.done !== true) lastMs.delete(oldest.value);
    onError(error);
  };
  return {
    report,
    mute: () => {
      muted = true;
    },
  };
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** An AggregateError of Node (a host with several addresses) has an empty message. */
export function describe(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') {
    return error.errors.map((inner) => asError(inner).message).join('; ');
  }
  const known = asError(error);
  return known.message === '' ? known.name : known.message;
}
