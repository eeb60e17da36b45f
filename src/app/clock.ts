/** The clock of this machine. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../ledger/clock.ts';

export const systemClock: Clock = {
  nowMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: async (delayMs) => {
    await sleep(delayMs);
  },
  after: (delayMs, act) => {
    const timer = setTimeout(act, delayMs);
    return () => clearTimeout(timer);
  },
};
