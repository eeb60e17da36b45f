import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { Metrics } from '../../../src/api/metrics.ts';
import { createLegs } from '../../../src/app/legs.ts';
import { createLogger } from '../../../src/app/logger.ts';
import { openServices } from '../../../src/app/services.ts';
import { startWorkers, type WorkerOverrides } from '../../../src/app/worker-host.ts';
import type { SessionRef } from '../../../src/db/contract.ts';
import type { Provider } from '../../../src/providers/contract.ts';
import { createSession } from '../../../src/runtime/sessions.ts';
import { until } from '../../support/await.ts';
import { BACKENDS, openTestStack, type TestStack, type TestWorker } from '../../support/stack.ts';

const FLOOD = 5_000;
/** Accepted one by one; the rest of the flood are copies of one of them. */
const ACCEPTED = 60;
const SLOTS = 2;
const NEWCOMERS = 4;
const TEST_MS = 120_000;
const RUNNING_EACH = 2;
/** Long enough for calls to overlap. */
const ANSWER_MS = 120;

async function newTenant(stack: TestStack): Promise<string> {
  const tenant = randomUUID();
  await stack.sql('INSERT INTO turnwright.tenants (tenant_id, name) VALUES ($1, $2)', [tenant, 'other']);
  return tenant;
}

async function sessionOf(stack: TestStack, tenant: string): Promise<SessionRef> {
  const ref = { tenant, session: stack.producer.newId() };
  await createSession(stack.producer.engine, ref, stack.producer.newId(), {
    leg: 'sim-large',
    policy: { name: 'plan', options: {} },
    tools: [],
    system: '',
    metadata: {},
  });
  return ref;
}

describe.each(BACKENDS)('sharing a pool on %s', (backend) => {
  let stack: TestStack;
  const workers: TestWorker[] = [];
  beforeAll(async () => {
    stack = await openTestStack({ backend });
  });
  afterEach(() => Promise.all(workers.splice(0).map((worker) => worker.stop())));
  afterAll(() => stack.close());

  /** Turns of sessions of their own, all of them waiting for their first step. */
  async function flood(): Promise<void> {
    let turn = '';
    for (let n = 0; n < ACCEPTED; n++)
      turn = await stack.accept(await stack.session({ tools: [] }), 'Good morning, crew.');
    await copies(turn, FLOOD - ACCEPTED);
    const [row] = await stack.sql<{ waiting: number }>(
      'SELECT count(*)::integer AS waiting FROM turnwright.outbox',
    );
    expect(row?.waiting).toBe(FLOOD);
  }

  /** As if the same turn had been accepted in so many other sessions. */
  async function copies(turn: string, count: number): Promise<void> {
    const from = [turn];
    await stack.sql(
      `CREATE TABLE public.copy AS SELECT gen_random_uuid() AS session_id, gen_random_uuid() AS turn_id, gen_random_uuid() AS head_id
        FROM generate_series(1, ${count})`,
    );
    const tables = {
      sessions: `'live_head', c.head_id`,
      heads: `'head_id', c.head_id, 'open_turn', c.turn_id`,
      turns: `'head_id', c.head_id, 'turn_id', c.turn_id`,
      records: `'head_id', c.head_id, 'turn_id', CASE WHEN t.turn_id IS NOT NULL THEN c.turn_id END`,
      actors: `'actor_id', c.turn_id, 'turn_id', c.turn_id`,
      actor_events: `'actor_id', c.turn_id`,
      side_calls: `'actor_id', c.turn_id`,
      timers: `'actor_id', c.turn_id`,
      outbox: `'actor_id', c.turn_id, 'admitted_at', NULL, 'position', nextval('turnwright.outbox_position_seq')`,
    };
    for (const [table, changed] of Object.entries(tables))
      await stack.sql(
        `INSERT INTO turnwright.${table} SELECT n.* FROM turnwright.${table} t, public.copy c,
          jsonb_populate_record(NULL::turnwright.${table}, to_jsonb(t) || jsonb_build_object('session_id', c.session_id, ${changed})) n
          WHERE t.session_id = (SELECT u.session_id FROM turnwright.turns u WHERE u.turn_id = $1)
            AND t.session_id NOT IN (SELECT session_id FROM public.copy)`,
        from,
      );
    await stack.sql('DROP TABLE public.copy');
    await stack.sql('ANALYZE');
  }

  it(
    'RUN-10 of a flood of 5,000 turns no more start before another tenant’s turn than were in the queue when it came',
    async () => {
      await flood();
      const started: { readonly tenant: string; readonly actor: string }[] = [];
      workers.push(
        await stack.worker({
          pools: ['turn', 'step'],
          concurrency: SLOTS,
          between: (pool, handle) => async (ref) => {
            if (pool === 'step') started.push({ tenant: ref.tenant, actor: ref.actor });
            await handle(ref);
          },
        }),
      );
      await until('the flood is under way', () => started.length >= 20);
      const passed: number[] = [];
      for (let n = 0; n < NEWCOMERS; n++) {
        const session = await sessionOf(stack, await newTenant(stack));
        const turn = await stack.accept(session, 'Good evening.', { priority: 9 });
        const before = started.length;
        const at = await until('the newcomer’s turn starts', () => {
          const found = started.findIndex(({ actor }) => actor === turn);
          return found === -1 ? null : { found };
        });
        passed.push(at.found - before);
        expect(await stack.ended(session, turn)).toMatchObject({ outcome: 'completed' });
      }
      // The flood itself still goes on, and is no more than begun.
      expect(started.length).toBeLessThan(FLOOD / 2);
      for (const jobs of passed) expect(jobs).toBeLessThanOrEqual(2 * SLOTS);
      const queued = await stack.sql<{ jobs: number }>(
        `SELECT count(*)::integer AS jobs FROM turnwright.outbox WHERE pool = 'step' AND admitted_at IS NOT NULL`,
      );
      expect(queued[0]?.jobs).toBeLessThanOrEqual(2 * SLOTS + SLOTS);
    },
    TEST_MS,
  );

  it('RUN-11 the depth that is exported is the rows’ own: prioritised, waiting, delayed and handed over', async () => {
    await stack.sql(
      `UPDATE turnwright.outbox SET priority = position % 5, due_at = CASE WHEN position % 3 = 0 THEN now() + interval '1 hour' ELSE due_at END
        WHERE admitted_at IS NULL`,
    );
    const counts = await stack.sql<{ state: string; rows: number }>(
      `SELECT CASE WHEN admitted_at IS NOT NULL THEN 'handed' WHEN due_at > now() THEN 'delayed' ELSE 'waiting' END AS state,
          count(*)::integer AS rows FROM turnwright.outbox WHERE pool = 'step' GROUP BY 1`,
    );
    const rows = new Map(counts.map(({ state, rows: count }) => [state, count]));
    expect(rows.get('delayed')).toBeGreaterThan(100);
    expect(rows.get('waiting')).toBeGreaterThan(100);
    const metrics = new Metrics(stack.producer);
    try {
      const text = await metrics.render();
      const exported = (name: string) =>
        Number(new RegExp(`^${name}\\{pool="step"\\} (\\S+)$`, 'mu').exec(text)?.[1]);
      const all = [...rows.values()].reduce((sum, count) => sum + count, 0);
      expect(exported('turnwright_queue_depth')).toBe(all);
      expect(exported('turnwright_queue_delayed')).toBe(rows.get('delayed'));
    } finally {
      await metrics.close();
    }
  });
});

/** Every process of a deployment is given the same limits; here none has others. */
describe.each(BACKENDS)('a hard limit on %s', (backend) => {
  let stack: TestStack;
  beforeAll(async () => {
    stack = await openTestStack({ backend });
  });
  afterAll(() => stack.close());

  it(
    'RUN-10 a hard limit holds for turns that would be handed over at once, keeps nobody else, and loses no turn',
    async () => {
      let open = 0;
      let most = 0;
      const { config } = stack.producer;
      const services = openServices(
        {
          ...config,
          databaseUrl: stack.databaseUrl,
          pools: { ...config.pools, step: { concurrency: 3 * RUNNING_EACH } },
          limits: { ...config.limits, tenantRunning: RUNNING_EACH },
        },
        createLogger({ level: 'silent', secrets: [] }),
      );
      const legs = createLegs(config.legs, () => undefined);
      const counted: WorkerOverrides['leg'] = (name) => {
        const bound = legs(name);
        if (bound === null) return null;
        const call: Provider['call'] = async (request, options) => {
          open += 1;
          most = Math.max(most, open);
          await delay(ANSWER_MS);
          return bound.provider.call(request, options).finally(() => {
            open -= 1;
          });
        };
        return { ...bound, provider: { ...bound.provider, call } };
      };
      const tenants = [await newTenant(stack), await newTenant(stack)];
      const turns: { readonly session: SessionRef; readonly turn: string }[] = [];
      for (let n = 0; n < 12; n++)
        for (const tenant of tenants) {
          const session = await sessionOf(stack, tenant);
          turns.push({ session, turn: await stack.accept(session, `Good morning, ${n}.`, { services }) });
        }
      const handed = await stack.sql('SELECT FROM turnwright.outbox WHERE admitted_at IS NOT NULL');
      expect(handed).toEqual([]);
      const host = await startWorkers(services, ['turn', 'step'], { leg: counted });
      try {
        for (const { session, turn } of turns)
          expect(await stack.ended(session, turn, TEST_MS)).toMatchObject({ outcome: 'completed' });
        expect(most).toBeLessThanOrEqual(tenants.length * RUNNING_EACH);
        expect(most).toBeGreaterThanOrEqual(RUNNING_EACH);
      } finally {
        await host.drain(0);
        await services.close();
      }
    },
    TEST_MS,
  );
});
