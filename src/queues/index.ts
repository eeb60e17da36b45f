export { boardQueues } from './bull.ts';
export { createPostgresBus } from './bus/postgres-bus.ts';
export { createRedisBus } from './bus/redis-bus.ts';
export { type JobRef, jobId, POOLS, type Pool } from './contract.ts';
export { isPool, POOL_QUEUE_NAMES } from './pools.ts';
export { createPostgresQueueBackend } from './postgres.ts';
export { prepareSchema as prepareQueueSchema } from './postgres-connection.ts';
export { createRedisBackend } from './redis.ts';
export type { BullBackend } from './transport.ts';
