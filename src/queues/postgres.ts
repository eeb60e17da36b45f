/** BullMQ on Postgres: workers wait on LISTEN, over one pool a process. */
import { PostgresQueueBackend } from 'bullmq';
import { createBullBackend } from './bull.ts';
import { paced } from './pacing.ts';
import { asBullError, passes, SharedConnection } from './postgres-connection.ts';
import { RetentionSweep } from './postgres-retention.ts';
import { createReporter, type Report } from './reporter.ts';
import {
  type BullBackend,
  type BullWorker,
  type Factory,
  type Transport,
  withoutCredentials,
} from './transport.ts';

export interface PostgresBackendOptions {
  readonly connectionString: string;
  /** BullMQ's own schema, created when missing: one a deployment, apart from the ledger's tables. */
  readonly schema: string;
  /** Connections of this process: one LISTEN client for all workers, the rest for short statements. */
  readonly poolSize?: number;
  readonly onError: (error: Error) => void;
}

/** Seven pools seldom finish jobs at the same instant, and a statement takes about a millisecond. */
const POOL_SIZE = 10;

/** Connects in the background: an unreachable database shows in the first call, not here. */
export function createPostgresQueueBackend(options: PostgresBackendOptions): BullBackend {
  const poolSize = options.poolSize ?? POOL_SIZE;
  if (!Number.isInteger(poolSize) || poolSize < 2) {
    throw new RangeError(`poolSize is ${poolSize}; it must be 2 or more: one connection only listens`);
  }
  const { report, mute } = createReporter(options.onError, () => performance.now());
  const connection = new SharedConnection(options.connectionString, options.schema, poolSize);
  const consumers = new Set<PostgresQueueBackend>();
  const sweep = new RetentionSweep(consumers, report);
  connection.on('error', report);
  connection.on('listenerinvalidated', () => {
    for (const backend of consumers) listenAgain(backend);
  });
  const build = (isConsumer: boolean): Factory =>
    asFactory((name, bullOptions) => {
      const backend = new PostgresQueueBackend(connection, name, bullOptions, false);
      if (!isConsumer) return backend;
      consumers.add(backend);
      sweep.start();
      return paced(withLossesNamed(backend, connection, report));
    });
  const [producing, consuming] = [build(false), build(true)];
  const transport: Transport = {
    kind: 'postgres',
    address: withoutCredentials(options.connectionString),
    retention: undefined,
    prefix: undefined,
    producer: () => ({ connection: {}, factory: producing }),
    consumer: () => ({ connection: {}, factory: consuming }),
    reach: () => connection.waitUntilReady(),
    ping: () => connection.ping(),
    // A pool may hand out a connection that died while idle.
    retry: (error) => connection.forgetIfGone(error) || passes(error),
    retire: (worker) => forget(consumers, worker),
    close: async () => {
      mute();
      await sweep.stop();
      await connection.close();
    },
  };
  return createBullBackend(transport, report);
}

type PostgresFactory = (
  name: string,
  options: ConstructorParameters<typeof PostgresQueueBackend>[2],
) => PostgresQueueBackend;

/** See `Factory`: BullMQ's queue types default to the Redis backend. */
function asFactory(factory: PostgresFactory): Factory {
  return factory as unknown as Factory;
}

/** Ends the wait parked on the dead LISTEN client; the worker then waits on a new one. */
function listenAgain(backend: PostgresQueueBackend): void {
  void backend.disconnectBlocking();
  void backend.reconnectBlocking();
}

function forget(consumers: Set<PostgresQueueBackend>, worker: BullWorker): void {
  for (const backend of consumers) {
    if ((backend as unknown) === worker.backend) consumers.delete(backend);
  }
}

/** BullMQ knows a lost connection by Redis' signs only, and would fail the job it could not complete. */
function withLossesNamed(
  backend: PostgresQueueBackend,
  connection: SharedConnection,
  report: Report,
): PostgresQueueBackend {
  const named = async <T>(call: Promise<T>): Promise<T> => {
    try {
      return await call;
    } catch (error) {
      connection.forgetIfGone(error);
      const known = asBullError(error);
      // BullMQ keeps quiet about what it takes for a lost connection.
      if (known !== error) report(error);
      throw known;
    }
  };
  const { moveToActive, moveToCompleted, moveToFailed, waitForJob } = backend;
  backend.moveToActive = (...args) => named(moveToActive.apply(backend, args));
  backend.moveToCompleted = (...args) => named(moveToCompleted.apply(backend, args));
  backend.moveToFailed = (...args) => named(moveToFailed.apply(backend, args));
  backend.waitForJob = (...args) => named(waitForJob.apply(backend, args));
  return backend;
}
