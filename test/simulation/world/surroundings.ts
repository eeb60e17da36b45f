/** What a process finds around it, all of it given by the world. */
import type { Store, UpkeepStore } from '../../../src/db/contract.ts';
import type { ProbeFlightStore } from '../../../src/db/probe-flights.ts';
import type { ProfileStore } from '../../../src/db/profiles.ts';
import type { RateLimitStore } from '../../../src/db/rate-limits.ts';
import type { Leg, Provider } from '../../../src/providers/contract.ts';
import type { Bus } from '../../../src/queues/bus.ts';
import type { QueueBackend } from '../../../src/queues/contract.ts';
import type { Tool } from '../../../src/tools/contract.ts';
import type { Owner, Scheduler } from './scheduler.ts';

export interface Surroundings {
  readonly scheduler: Scheduler;
  /** What every wall clock would show at the world's beginning. */
  readonly epochMs: number;
  readonly bus: Bus;
  readonly newId: () => string;
  readonly random: () => number;
  readonly leg: (name: string) => Leg;
  storeOf(owner: Owner): Store;
  upkeepOf(owner: Owner): UpkeepStore;
  profilesOf(owner: Owner): ProfileStore;
  flightsOf(owner: Owner): ProbeFlightStore;
  rateLimitsOf(owner: Owner): RateLimitStore;
  queueOf(owner: Owner): QueueBackend;
  providerOf(owner: Owner): Provider;
  toolsOf(owner: Owner): readonly Tool[];
  /** Something was caught that a process goes on after. */
  failed(owner: Owner, error: unknown): void;
}
