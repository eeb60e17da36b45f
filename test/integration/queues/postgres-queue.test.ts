import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { jobId, POOLS } from '../../../src/queues/contract.ts';
import { type BullBackend, createPostgresQueueBackend, POOL_QUEUE_NAMES } from '../../../src/queues/index.ts';
import { queueBackendSuite } from '../../contract/queue.suite.ts';
import { startPostgres } from '../../support/postgres.ts';
import { underTest } from './bull-under-test.ts';
import { eventually, gate } from './waiting.ts';

const DEAD_URL = 'postgres://nobody:nothing@127.0.0.1:1/nowhere';
const POOL_SIZE = 6;

describe('Postgres', () => {
  let database: Awaited<ReturnType<typeof startPostgres>>;
  let client: pg.Client;
  beforeAll(async () => {
    database = await startPostgres();
    client = new pg.Client({ connectionString: database.url, application_name: 'inspector' });
    await client.connect();
  }, 60_000);
  afterAll(async () => {
    await client.end();
    await database.stop();
  });

  queueBackendSuite('Postgres', async () => {
    const schema = newSchema();
    return underTest(
      (onError) => createPostgresQueueBackend({ connectionString: database.url, schema, onError }),
      () => createPostgresQueueBackend({ connectionString: DEAD_URL, schema, onError: () => undefined }),
      () => dropSchema(schema),
    );
  });

  describe('Postgres alone', { timeout: 60_000 }, () => {
    const opened: BullBackend[] = [];
    const errors: Error[] = [];
    let schema: string;
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((each) => each.close()));
      await dropSchema(schema);
      errors.length = 0;
    });

    function open(): BullBackend {
      schema = newSchema();
      const backend = createPostgresQueueBackend({
        connectionString: database.url,
        schema,
        poolSize: POOL_SIZE,
        onError: (error) => errors.push(error),
      });
      opened.push(backend);
      return backend;
    }

    async function workAll(backend: BullBackend, concurrency = 2): Promise<Set<string>> {
      const handled = new Set<string>();
      for (const pool of POOLS) {
        await backend.work(pool, {
          concurrency,
          handle: async (ref) => {
            handled.add(jobId(ref));
          },
          onError: (error) => errors.push(error),
        });
      }
      return handled;
    }

    async function admitOne(backend: BullBackend, pool: (typeof POOLS)[number]): Promise<string> {
      const ref = newRef();
      await backend.admit(pool, [{ ref, priority: 0 }]);
      return jobId(ref);
    }

    it('RUN-13 drains every pool without a restart after all its connections were killed', async () => {
      const backend = open();
      const handled = await workAll(backend);
      const before = await admitOne(backend, 'step');
      await eventually('the first job is handled', () => handled.has(before));
      await killConnections();
      const ids: string[] = [];
      for (const pool of POOLS) {
        ids.push(
          await eventually('the admission is taken', () => admitOne(backend, pool).catch(() => undefined)),
        );
      }
      await eventually('all pools drained', () => ids.every((id) => handled.has(id)));
    });

    it('RUN-13 completes a job whose connections were killed just before its end', async () => {
      const backend = open();
      const refs = Array.from({ length: 12 }, newRef);
      const started: string[] = [];
      const killed = gate();
      await backend.work('step', {
        concurrency: refs.length,
        handle: async (ref) => {
          started.push(jobId(ref));
          await killed.opened;
        },
        onError: (error) => errors.push(error),
      });
      await backend.admit(
        'step',
        refs.map((ref) => ({ ref, priority: 0 })),
      );
      await eventually('all run', () => started.length === refs.length);
      await killConnections();
      killed.open();
      await eventually('all are ended', async () => (await states()).active === undefined);
      expect(await states()).toEqual({ completed: refs.length });
    });

    it('RUN-13 builds its schema again after it was dropped, and goes on', async () => {
      const backend = open();
      const handled = await workAll(backend);
      const before = await admitOne(backend, 'step');
      await eventually('the first job is handled', () => handled.has(before));
      await dropSchema(schema);
      const after = await admitOne(backend, 'step');
      await eventually('the next job is handled', () => handled.has(after));
      expect(await backend.presence('step', before)).toBe('absent');
    });

    it('RUN-13 stays within its pool under a thousand producer calls and seven workers, and leaves no connection', async () => {
      const backend = open();
      const handled = await workAll(backend);
      await backend.admit(
        'tool',
        Array.from({ length: 500 }, () => ({ ref: newRef(), priority: 0 })),
      );
      for (let n = 0; n < 500; n += 50) {
        await Promise.all(Array.from({ length: 50 }, () => admitOne(backend, 'tool')));
      }
      await eventually('all are handled', () => handled.size === 1_000, 30_000);
      expect(await connections()).toBeLessThanOrEqual(POOL_SIZE);
      const listening = await client.query(
        `select count(*)::int as n from pg_stat_activity
          where application_name = 'turnwright-queue' and datname = current_database()
            and query ilike '%listen bullmq_jobs%'`,
      );
      expect(listening.rows).toEqual([{ n: 1 }]);
      await backend.close();
      await eventually('none is left', async () => (await connections()) === 0);
    });

    it('RUN-13 fails no job when twenty end at the same instant, past what is kept of them', async () => {
      const backend = open();
      const handled = await workAll(backend, 20);
      for (let n = 0; n < 1_500; n += 300) {
        await backend.admit(
          'step',
          Array.from({ length: 300 }, () => ({ ref: newRef(), priority: 0 })),
        );
      }
      await eventually('all are handled', () => handled.size === 1_500, 30_000);
      await eventually(
        'the sweep leaves the newest',
        async () => JSON.stringify(await states()) === '{"completed":1000}',
        30_000,
      );
      expect(errors).toEqual([]);
      const events = await client.query(`select count(*)::int as n from ${schema}.event`);
      // Trimmed in steps of 256; a bulk add trims nothing itself.
      expect(events.rows[0].n).toBeLessThan(2_000);
    });

    it('RUN-13 leaves a current schema alone, so that a user without the right to create may work', async () => {
      const first = open();
      await first.ping();
      const role = `worker_${randomUUID().replaceAll('-', '')}`;
      const name = schema;
      await client.query(`create role ${role} login password 'secret'`);
      await client.query(`grant usage on schema ${name} to ${role}`);
      await client.query(`grant all on all tables in schema ${name} to ${role}`);
      await client.query(`grant all on all sequences in schema ${name} to ${role}`);
      const url = new URL(database.url);
      [url.username, url.password] = [role, 'secret'];
      const limited = createPostgresQueueBackend({
        connectionString: url.href,
        schema: name,
        onError: (error) => errors.push(error),
      });
      opened.push(limited);
      await limited.ping();
      await limited.close();
      await client.query(`drop owned by ${role}`);
      await client.query(`drop role ${role}`);
    });

    it('RUN-13 refuses a pool too small to listen and to work', () => {
      const make = () =>
        createPostgresQueueBackend({
          connectionString: database.url,
          schema: 'any',
          poolSize: 1,
          onError: () => undefined,
        });
      expect(make).toThrow(/poolSize is 1; it must be 2 or more/);
    });

    it('RUN-13 shows the queue of every pool for the board', async () => {
      const queues = open().queues();
      expect([...queues].map(([pool, queue]) => [pool, queue.name])).toEqual(
        Object.entries(POOL_QUEUE_NAMES),
      );
      await Promise.all([...queues.values()].map((queue) => queue.waitUntilReady()));
      expect(await queues.get('step')?.getJobCounts('waiting')).toEqual({ waiting: 0 });
    });

    async function states(): Promise<Record<string, number>> {
      const { rows } = await client.query(
        `select state::text, count(*)::int as n from ${schema}.job group by state`,
      );
      return Object.fromEntries(rows.map(({ state, n }) => [state, n]));
    }

    async function killConnections(): Promise<void> {
      const killed = await client.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where application_name = 'turnwright-queue' and datname = current_database()`,
      );
      expect(killed.rowCount).toBeGreaterThan(0);
    }

    async function connections(): Promise<number> {
      const { rows } = await client.query(
        `select count(*)::int as n from pg_stat_activity where application_name = 'turnwright-queue'
            and datname = current_database()`,
      );
      return rows[0].n;
    }
  });

  /** Dropping under running workers may deadlock with them; then it is simply done again. */
  async function dropSchema(name: string): Promise<void> {
    await eventually('the schema is dropped', async () => {
      try {
        await client.query(`drop schema if exists ${name} cascade`);
        return true;
      } catch (error) {
        if (error instanceof pg.DatabaseError && error.code === '40P01') return false;
        throw error;
      }
    });
  }
});

function newSchema(): string {
  return `q_${randomUUID().replaceAll('-', '')}`;
}

function newRef() {
  return {
    tenant: randomUUID(),
    session: randomUUID(),
    actor: randomUUID(),
    child: 'tool-1-0',
    dispatch: 0,
  };
}
