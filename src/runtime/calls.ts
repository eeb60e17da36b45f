/** What each kind of side call is: the pool it runs on, how often it is tried, and how long it may take. */
import type { Pool } from '../queues/contract.ts';

export const CALL_SOURCES = ['step', 'tool', 'summary', 'intent', 'probe'] as const;
export type CallSource = (typeof CALL_SOURCES)[number];

interface CallPolicy {
  readonly pool: Pool;
  readonly maxAttempts: number;
  readonly firstDelayMs: number;
}

export const CALL_POLICY: Readonly<Record<CallSource, CallPolicy>> = {
  step: { pool: 'step', maxAttempts: 6, firstDelayMs: 500 },
  tool: { pool: 'tool', maxAttempts: 1, firstDelayMs: 0 },
  summary: { pool: 'summary', maxAttempts: 2, firstDelayMs: 250 },
  intent: { pool: 'intent', maxAttempts: 1, firstDelayMs: 0 },
  probe: { pool: 'probe', maxAttempts: 3, firstDelayMs: 1_000 },
};

/** A call that so many workers died at is taken to kill them, and ends as failed. */
export const MAX_DEATHS = 20;
const LONGEST_DELAY_MS = 60_000;

export function isCallSource(src: string): src is CallSource {
  return (CALL_SOURCES as readonly string[]).includes(src);
}

/** Exponential backoff with equal jitter; what the provider asked for is never undercut. `random` in 0..1. */
export function retryDelayMs(
  src: CallSource,
  attempt: number,
  retryAfterMs: number | undefined,
  random: number,
): number {
  const full = Math.min(LONGEST_DELAY_MS, CALL_POLICY[src].firstDelayMs * 2 ** (attempt - 1));
  return Math.round(Math.max(full / 2 + (full / 2) * random, retryAfterMs ?? 0));
}
