/** Which queue the demo runs on. */
import { connect } from 'node:net';
import type { Config } from '../../app/config.ts';
import { TurnwrightError } from '../../ledger/errors.ts';
import { UsageError } from '../exit.ts';

/** A database number of its own: somebody's deployment may use the first one of a Redis found by chance. */
const FOUND_REDIS_URL = 'redis://127.0.0.1:6379/13';
const LOCAL = { host: '127.0.0.1', port: 6379 } as const;
const CONNECT_MS = 1_000;

export interface DemoBackend {
  readonly kind: 'postgres' | 'redis';
  /** undefined: BullMQ lives in the database. */
  readonly redisUrl: string | undefined;
  /** Nobody else uses these queues, so they are emptied at the end. */
  readonly ours: boolean;
}

/** @throws UsageError for another word, TurnwrightError `queue_unreachable` when no Redis is found. */
export async function demoBackend(
  wanted: string | undefined,
  { redisUrl }: Pick<Config, 'redisUrl'>,
): Promise<DemoBackend> {
  const kind = wanted ?? (redisUrl === undefined ? 'postgres' : 'redis');
  if (kind === 'postgres') return { kind, redisUrl: undefined, ours: false };
  if (kind !== 'redis') throw new UsageError(`--backend is "${kind}"; allowed is postgres, redis.`);
  if (redisUrl !== undefined) return { kind, redisUrl, ours: false };
  if (await localAnswers()) return { kind, redisUrl: FOUND_REDIS_URL, ours: true };
  throw new TurnwrightError(
    'queue_unreachable',
    `--backend redis: REDIS_URL is not set, and no Redis answers on ${LOCAL.host}:${LOCAL.port}. Start one (\`redis-server --maxmemory-policy noeviction\`), set REDIS_URL, or leave --backend out to run on the embedded database.`,
  );
}

function localAnswers(): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(LOCAL);
    const answer = (yes: boolean): void => {
      socket.destroy();
      resolve(yes);
    };
    socket.setTimeout(CONNECT_MS, () => answer(false));
    socket.once('error', () => answer(false));
    socket.once('connect', () => answer(true));
  });
}
