/** The queue: does it answer, and will it keep what it is given. */
import type { Config } from '../../app/config.ts';
import { type BullBackend, createPostgresQueueBackend, createRedisBackend } from '../../queues/index.ts';
import { type Check, check, reasonOf } from './check.ts';

/** The names that `openServices` uses: what is looked at is what a worker would use. */
const NAMESPACE = 'turnwright_queue';
const OLDEST_REDIS_MAJOR = 7;
const SAFE_POLICY = 'noeviction';

export async function queueChecks(
  { redisUrl }: Pick<Config, 'redisUrl'>,
  databaseUrl: string | null,
): Promise<readonly Check[]> {
  if (redisUrl !== undefined) {
    return within(
      createRedisBackend({ url: redisUrl, prefix: NAMESPACE, onError: () => undefined }),
      redisChecks,
    );
  }
  if (databaseUrl === null) return [check('queue', 'skipped', 'it lives in the database')];
  const options = { connectionString: databaseUrl, schema: NAMESPACE, onError: () => undefined };
  return within(createPostgresQueueBackend({ ...options, poolSize: 2 }), async (backend) => {
    // The first call builds BullMQ's tables where they are missing, or says why it may not.
    await backend.ping();
    return [check('queue', 'ok', 'BullMQ on PostgreSQL answers')];
  });
}

async function within(
  backend: BullBackend,
  look: (backend: BullBackend) => Promise<readonly Check[]>,
): Promise<readonly Check[]> {
  try {
    return await look(backend);
  } catch (error) {
    return [check('queue', 'unreachable', reasonOf(error))];
  } finally {
    await backend.close();
  }
}

async function redisChecks(backend: BullBackend): Promise<readonly Check[]> {
  await backend.ping();
  const client = await backend.queues().get('turn')?.getBackend().client;
  return redisFindings((await client?.info()) ?? '');
}

/** `info` is what Redis answers to INFO. */
export function redisFindings(info: string): readonly Check[] {
  const version = fieldOf(info, 'redis_version');
  const policy = fieldOf(info, 'maxmemory_policy');
  const major = Number.parseInt(version ?? '', 10);
  return [
    major >= OLDEST_REDIS_MAJOR
      ? check('queue', 'ok', `Redis ${version} answers`)
      : check(
          'queue',
          'fail',
          `Redis ${version ?? 'of unknown version'}; ${OLDEST_REDIS_MAJOR} or newer is needed`,
        ),
    policy === SAFE_POLICY
      ? check('maxmemory-policy', 'ok', policy)
      : check(
          'maxmemory-policy',
          'fail',
          `${policy ?? 'not told'}: under memory pressure Redis would drop jobs unseen; set it to ${SAFE_POLICY}`,
        ),
  ];
}

function fieldOf(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*)$`, 'm').exec(info)?.[1]?.trim();
}
