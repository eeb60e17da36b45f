/** The environment's part of the configuration. It wins over the file. */
import { POOLS } from '../../queues/contract.ts';
import { checkInput, configInvalid, suggestion } from './refusal.ts';
import type { ConfigInput } from './schema.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

const PREFIX = 'TURNWRIGHT_';

/** Which key each variable sets, and how its text is read. Whatever cannot be read is left for the schema to refuse. */
const VARIABLES = {
  DATABASE_URL: { key: 'databaseUrl', read: text },
  REDIS_URL: { key: 'redisUrl', read: text },
  TURNWRIGHT_OWNER_URL: { key: 'ownerUrl', read: text },
  TURNWRIGHT_QUEUE_NAMESPACE: { key: 'queueNamespace', read: text },
  TURNWRIGHT_PORT: { key: 'port', read: wholeNumber },
  TURNWRIGHT_HOST: { key: 'host', read: text },
  TURNWRIGHT_DATA_DIR: { key: 'dataDir', read: text },
  TURNWRIGHT_ROOT: { key: 'root', read: text },
  TURNWRIGHT_LEASE_MS: { key: 'leaseMs', read: wholeNumber },
  TURNWRIGHT_HEARTBEAT_MS: { key: 'heartbeatMs', read: wholeNumber },
  TURNWRIGHT_LOG_LEVEL: { key: 'logLevel', read: text },
  TURNWRIGHT_CONCURRENCY: { key: 'pools', read: concurrency },
  TURNWRIGHT_START_HERE: { key: 'calls', read: startHere },
} as const satisfies Record<string, { key: keyof ConfigInput; read: (value: string) => unknown }>;

/** Read by the client's commands, which need no configuration. */
const CLIENT_VARIABLES = ['TURNWRIGHT_URL', 'TURNWRIGHT_KEY'];

/** A variable that is set to nothing counts as not set, as compose files pass it. */
export function configFromEnvironment(env: Environment): ConfigInput {
  refuseUnknown(env);
  const input: Record<string, unknown> = {};
  const sources = new Map<PropertyKey, string>();
  for (const [variable, { key, read }] of Object.entries(VARIABLES)) {
    const value = env[variable]?.trim();
    if (value === undefined || value === '') continue;
    input[key] = read(value);
    sources.set(key, variable);
  }
  return checkInput(input, (path) => sources.get(path[0] ?? '') ?? 'the environment');
}

/** `step=16,tool=8`, as the variable and the command line's `--concurrency` spell it. */
export function parseConcurrency(value: string, source: string): NonNullable<ConfigInput['pools']> {
  return checkInput({ pools: concurrency(value) }, () => source).pools ?? {};
}

function refuseUnknown(env: Environment): void {
  const known = [...Object.keys(VARIABLES), ...CLIENT_VARIABLES].filter((name) => name.startsWith(PREFIX));
  const unknown = Object.keys(env).filter((name) => name.startsWith(PREFIX) && !known.includes(name));
  if (unknown.length === 0) return;
  throw configInvalid(
    unknown.map(
      (name) =>
        `The environment variable ${name} is unknown; allowed is ${known.join(', ')}.${suggestion(name, known)}`,
    ),
  );
}

function text(value: string): unknown {
  return value;
}

function startHere(value: string) {
  return { startHere: /^(?:true|false)$/.test(value) ? value === 'true' : value };
}

function wholeNumber(value: string): unknown {
  return /^\d{1,15}$/.test(value) ? Number(value) : value;
}

function concurrency(value: string): unknown {
  const entries = value.split(',').map((part) => {
    const [pool, count, ...rest] = part.split('=').map((piece) => piece.trim());
    if (pool === undefined || pool === '' || count === undefined || rest.length > 0) {
      throw configInvalid([
        `The concurrency "${value}" cannot be read at "${part.trim()}"; allowed is a list like step=16,tool=8 of the pools ${POOLS.join(', ')}.`,
      ]);
    }
    return [pool, { concurrency: wholeNumber(count) }] as const;
  });
  return Object.fromEntries(entries);
}
