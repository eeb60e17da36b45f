import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createLegs } from '../../../src/app/legs.ts';
import { createLogger } from '../../../src/app/logger.ts';
import { openServices, type Services } from '../../../src/app/services.ts';
import { startWorkers, type WorkerHost } from '../../../src/app/worker-host.ts';
import type { Commit, SessionRef } from '../../../src/db/contract.ts';
import type { LegLimits } from '../../../src/providers/contract.ts';
import { until } from '../../support/await.ts';
import { BACKENDS, openTestStack, type TestStack } from '../../support/stack.ts';
import { type LimitedProvider, limitedProvider } from './limited-provider.ts';

const MODEL = 'sim-large';
const HOSTS = 3;
const CONCURRENCY = 3;
const DRAIN_MS = 10_000;
/** A notice crosses processes in a millisecond; a busy machine takes its time. */
const NOTICE_MS = 2_500;
const CLOSED_MS = 6_000;
const TEST_MS = 120_000;

describe.each(BACKENDS)('a provider with limits, on %s', (backend) => {
  let stack: TestStack;
  let provider: LimitedProvider;
  const hosts: { readonly host: WorkerHost; readonly services: Services }[] = [];
  /** Calls that were given back to wait for a limit. */
  let delays: Commit[] = [];

  beforeAll(async () => {
    stack = await openTestStack({ backend });
    provider = await limitedProvider(stack.sim.url);
  });
  beforeEach(() => {
    delays = [];
  });
  afterEach(stopHosts);
  afterAll(async () => {
    await provider.close();
    await stack.close();
  });

  async function stopHosts(): Promise<void> {
    for (const { host, services } of hosts.splice(0)) {
      await host.drain(DRAIN_MS);
      await services.close();
    }
  }

  /** Worker processes whose one leg goes to the limited provider. Each test has a key, and so limits, of its own. */
  async function work(apiKeyEnv: string, limits?: LegLimits, count = HOSTS): Promise<readonly Services[]> {
    const { config } = stack.producer;
    const found = config.legs.find(({ name }) => name === MODEL);
    if (found === undefined) throw new Error(`no leg is called ${MODEL}`);
    const leg = {
      ...found,
      baseUrl: `${provider.url}/v1`,
      apiKeyEnv,
      ...(limits === undefined ? {} : { limits }),
    };
    const pools = { ...config.pools, step: { concurrency: CONCURRENCY } };
    const made: Services[] = [];
    for (let n = 0; n < count; n++) {
      const services = openServices(
        { ...config, databaseUrl: stack.databaseUrl, pools },
        createLogger({ level: 'silent', secrets: [] }),
      );
      const host = await startWorkers(services, ['turn', 'step', 'tool'], {
        leg: createLegs([leg], () => 'key'),
      });
      const apply = services.store.apply.bind(services.store);
      services.store.apply = async (commit) => {
        const result = await apply(commit);
        const { settle } = commit;
        if (result !== 'applied' || settle?.status !== 'queued') return result;
        if (settle.error?.startsWith('rate_limited: ') === true) delays.push(commit);
        return result;
      };
      hosts.push({ host, services });
      made.push(services);
    }
    return made;
  }

  async function accept(count: number) {
    const turns: { readonly session: SessionRef; readonly turn: string }[] = [];
    for (let n = 0; n < count; n++) {
      const session = await stack.session({ model: MODEL, tools: [] });
      turns.push({ session, turn: await stack.accept(session, `Good morning, crew ${n}.`) });
    }
    return turns;
  }

  async function allCompleted(turns: Awaited<ReturnType<typeof accept>>): Promise<void> {
    for (const { session, turn } of turns)
      expect(await stack.ended(session, turn, TEST_MS)).toMatchObject({ outcome: 'completed', steps: 1 });
  }

  const refusals = () => provider.arrivals.filter(({ refused }) => refused);
  const taken = () => provider.arrivals.filter(({ refused }) => !refused);
  it(
    'RUN-07 is left alone for as long as it asked, by every process, and then called one after the other',
    async () => {
      provider.limit({ closesAfter: { calls: 9, forMs: CLOSED_MS }, bucket: { size: 9, everyMs: 50 } });
      await work(`CLOSED_${backend}`);
      const turns = await accept(20);
      await allCompleted(turns);
      const [first] = refusals();
      if (first === undefined) throw new Error('nobody was refused');
      // What was under way when it closed; nobody after that, and nobody too fast once it was open again.
      expect(refusals().length).toBeLessThanOrEqual(HOSTS * CONCURRENCY + 2);
      const opensMs = first.atMs + first.retryAfterMs;
      const early = provider.arrivals.filter(
        ({ atMs }) => atMs > first.atMs + NOTICE_MS && atMs < opensMs - 1,
      );
      expect(early).toEqual([]);
      const after = taken().filter(({ atMs }) => atMs >= opensMs);
      expect(after.length).toBeGreaterThanOrEqual(10);
      const herd = after.filter(({ atMs }) => atMs < opensMs + 100);
      expect(herd.length).toBeLessThanOrEqual(4);
      expect(delays.length).toBeGreaterThan(0);
    },
    TEST_MS,
  );

  it(
    'RUN-07 refuses nobody whose limits are configured; who waits holds no slot and counts no attempt',
    async () => {
      provider.limit({ bucket: { size: 12, everyMs: 500 } });
      await work(`CONFIGURED_${backend}`, { requestsPerMinute: 120 });
      const turns = await accept(26);
      await allCompleted(turns);
      expect(refusals()).toEqual([]);
      expect(delays.length).toBeGreaterThan(0);
      expect(delays.map(({ settle }) => settle?.attemptBy)).toEqual(delays.map(() => 0));
      for (const { session, turn } of turns.slice(-5)) {
        const receipts = (await stack.records(session, turn)).filter(({ kind }) => kind === 'work-receipt');
        expect(receipts.map(({ data }) => [data.attempt, data.settlement])).toEqual([[1, 'answered']]);
      }
    },
    TEST_MS,
  );

  it(
    'RUN-07 RUN-11 a wait outlives the processes, and says what it waits for and until when',
    async () => {
      provider.limit({});
      const perMinute = 12;
      await work(`OUTLIVES_${backend}`, { requestsPerMinute: perMinute }, 1);
      const turns = await accept(3);
      const waits = () =>
        stack.sql<{ error: string; due: number; attempt: number }>(
          `SELECT s.last_error AS error, extract(epoch FROM o.due_at - clock_timestamp())::float8 AS due, s.attempt
          FROM turnwright.outbox o JOIN turnwright.side_calls s USING (tenant_id, session_id, actor_id, child_id)
          WHERE o.admitted_at IS NULL AND s.last_error LIKE 'rate_limited:%' ORDER BY o.due_at`,
        );
      const found = await until('two calls wait', async () => {
        const rows = await waits();
        return rows.length === 2 ? rows : null;
      });
      for (const { error, due, attempt } of found) {
        expect(error).toBe(`rate_limited: leg "${MODEL}" waits: its requests per minute are used up`);
        expect(due).toBeGreaterThan(0);
        expect(attempt).toBe(1);
      }
      await stopHosts();
      await work(`OUTLIVES_${backend}`, { requestsPerMinute: perMinute }, 1);
      await allCompleted(turns);
      expect(refusals()).toEqual([]);
      const [one, two, three] = taken().map(({ atMs }) => atMs);
      const paceMs = 60_000 / perMinute;
      expect((two ?? 0) - (one ?? 0)).toBeGreaterThanOrEqual(paceMs * 0.9);
      expect((three ?? 0) - (two ?? 0)).toBeGreaterThanOrEqual(paceMs * 0.9);
    },
    TEST_MS,
  );

  it(
    'RUN-10 answers no more calls at once than its leg says, over all processes',
    async () => {
      provider.limit({ answerMs: 120 });
      await work(`CONCURRENT_${backend}`, { concurrent: 2 });
      await allCompleted(await accept(16));
      expect(taken().length).toBeGreaterThanOrEqual(16);
      expect(provider.mostAtOnce).toBe(2);
      await stopHosts();
      expect(await stack.sql('SELECT FROM turnwright.rate_slots')).toEqual([]);
    },
    TEST_MS,
  );

  it(
    'costs no statement while nobody is refused and nothing is configured',
    async () => {
      provider.limit({});
      const [services] = await work(`FREE_${backend}`, undefined, 1);
      if (services === undefined) throw new Error('no worker was started');
      const asked: string[] = [];
      for (const pool of [services.pool]) {
        const query = pool.query.bind(pool) as (...args: readonly unknown[]) => unknown;
        Object.assign(pool, {
          query: (...args: readonly unknown[]) => {
            asked.push(JSON.stringify(args[0]));
            return query(...args);
          },
        });
      }
      await allCompleted(await accept(6));
      expect(asked.length).toBeGreaterThan(6);
      expect(asked.filter((statement) => statement.includes('rate_'))).toEqual([]);
    },
    TEST_MS,
  );
});
