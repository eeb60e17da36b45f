/** What workers make their calls with, where a test brings a model of its own: no cache, no prices, no probe due. */
import type { ProbeFlightStore } from '../../src/db/probe-flights.ts';
import type { Clock } from '../../src/ledger/clock.ts';
import { Budgets } from '../../src/runtime/budgets.ts';
import type { Engine } from '../../src/runtime/engine.ts';
import { ModelCalls } from '../../src/runtime/model-calls.ts';
import { ProbeWatch } from '../../src/runtime/probe-watch.ts';
import { PROBE_DEFAULTS, Probes } from '../../src/runtime/probes.ts';
import type { RateLimiter } from '../../src/runtime/rate-limiter.ts';
import { RESPONSE_CACHE_DEFAULTS, ResponseCache } from '../../src/runtime/response-cache.ts';
import type { WorkerDeps } from '../../src/workers/index.ts';
import { INTENT_DEFAULTS } from '../../src/workers/intent.ts';

export interface CallPartsOptions {
  readonly engine: Engine;
  readonly clock: Clock;
  readonly limiter: RateLimiter;
  readonly flights: ProbeFlightStore;
  readonly newId: () => string;
  readonly leg: WorkerDeps['leg'];
  readonly onError: (error: unknown) => void;
}

export function callParts({
  engine,
  clock,
  limiter,
  flights,
  newId,
  leg,
  onError,
}: CallPartsOptions): Pick<WorkerDeps, 'calls' | 'probes' | 'watch' | 'flights' | 'sideLeg' | 'intent'> {
  const watch = new ProbeWatch({ flights, engine, onError });
  const spent = { microUsd: 0, tokens: 0 };
  return {
    watch,
    flights,
    probes: new Probes({ engine, settings: PROBE_DEFAULTS, clock, newId }),
    calls: new ModelCalls({
      limiter,
      cache: new ResponseCache({
        settings: RESPONSE_CACHE_DEFAULTS,
        store: { read: () => Promise.resolve(null), keep: () => Promise.resolve() },
        clock,
        onError,
      }),
      budgets: new Budgets({
        store: {
          sessionSpent: () => Promise.resolve(spent),
          tenantSpent: () => Promise.resolve(0),
          report: () => Promise.resolve([]),
        },
        clock,
        tenantMicroUsdPerDay: null,
      }),
      watch,
      clock,
      rateOf: () => null,
      onError,
    }),
    sideLeg: (_, boundTo) => leg(boundTo),
    intent: INTENT_DEFAULTS,
  };
}

/** Of legs whose models no catalogue lists. */
export const UNLISTED = {
  catalogue: () => ({ window: null, maxOutput: null }),
  onWarning: () => {},
} as const;
