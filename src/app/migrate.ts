/** Brings everything a deployment stores in Postgres to this version: the ledger, and BullMQ's tables when they live there. */
import { migrate, withSharedSchema } from '../db/index.ts';
import { prepareQueueSchema } from '../queues/index.ts';
import type { Config } from './config.ts';

export async function migrateAll(
  config: Pick<Config, 'redisUrl' | 'queueNamespace'>,
  url: string,
): Promise<void> {
  await migrate(url);
  if (config.redisUrl !== undefined) return;
  await withSharedSchema(url, config.queueNamespace, (client) =>
    prepareQueueSchema(client, config.queueNamespace),
  );
}
