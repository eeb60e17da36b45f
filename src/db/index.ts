/** What the upper floors may use of the database. */

export { PostgresCheckpoints } from './checkpoints.ts';
export type * from './contract.ts';
export { PostgresDeltas } from './deltas.ts';
export { migrate, withSharedSchema } from './migrate.ts';
export { PostgresNotices } from './notices.ts';
export { createPool, type DatabaseRole } from './pool.ts';
export { PostgresProbeFlights, PROBES_CHANNEL } from './probe-flights.ts';
export { PostgresProfiles } from './profiles.ts';
export { LIMITS_CHANNEL, PostgresRateLimits } from './rate-limits.ts';
export { PostgresResponseCache } from './response-cache.ts';
export { PostgresStore } from './store.ts';
export { PostgresTurnVectors } from './turn-vectors.ts';
export { PostgresUpkeep } from './upkeep.ts';
export { PostgresUsage } from './usage.ts';
