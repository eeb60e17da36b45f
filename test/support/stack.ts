/** The whole of Turnwright in one test process: database, queue, simulator, a producer, any number of workers. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { systemClock } from '../../src/app/clock.ts';
import { createLogger } from '../../src/app/logger.ts';
import { openServices, type Services } from '../../src/app/services.ts';
import { startWorkers, type WorkerHost } from '../../src/app/worker-host.ts';
import { BUILTIN_CARDS, createCards } from '../../src/context/cards/index.ts';
import type { SessionRef } from '../../src/db/contract.ts';
import { migrate } from '../../src/db/index.ts';
import { ChainVerifier, type StoredRecord, type Verdict } from '../../src/ledger/verify.ts';
import { finalAnswer, foldTurn } from '../../src/ledger/view.ts';
import type { MachineRegistry } from '../../src/machines/registry.ts';
import { type JobRef, POOLS } from '../../src/queues/contract.ts';
import { prepareQueueSchema } from '../../src/queues/index.ts';
import { acceptTurn } from '../../src/runtime/accept.ts';
import { Engine } from '../../src/runtime/engine.ts';
import { Planning } from '../../src/runtime/planning.ts';
import { createSession } from '../../src/runtime/sessions.ts';
import { DEFAULT_SIM_MODELS, type Simulator, startSimulator } from '../../src/sim/index.ts';
import { until } from './await.ts';
import type {
  Applied,
  Backend,
  Data,
  SessionOptions,
  StackOptions,
  TestStack,
  TestWorker,
  TurnEnd,
  TurnOptions,
  WorkerOptions,
} from './stack-contract.ts';

export { BACKENDS, type Backend, type TestStack, type TestWorker } from './stack-contract.ts';

import { createDatabase, ensureTemplate } from './postgres.ts';
import { openRedis, type TestRedisDatabase } from './redis-database.ts';
import { type TestConfig, testConfig } from './stack-config.ts';

/** Fast takeover, slow enough for a busy machine of two cores. */
const LEASE_MS = 1_500;
const DRAIN_MS = 5_000;
const TURN_LIMIT_MS = 30_000;
const DEADLINE_MS = 600_000;
const STEP_BUDGET = 40;

export async function openTestStack(options: StackOptions): Promise<TestStack> {
  const template = await ensureTemplate('migrated', prepareTemplate);
  const [database, redis, root, sim] = await Promise.all([
    createDatabase({ template }),
    options.backend === 'redis' ? openRedis() : null,
    mkdtemp(join(tmpdir(), 'turnwright-stack-')),
    startSimulator({
      seed: 7,
      speed: options.simSpeed ?? 'instant',
      ...(options.models === undefined ? {} : { models: options.models }),
    }),
  ]);
  for (const [name, text] of Object.entries(options.files ?? {})) await writeFile(join(root, name), text);
  const admin = new pg.Pool({ connectionString: database.url, max: 3 });
  admin.on('error', () => {});
  const tenant = randomUUID();
  await admin.query('INSERT INTO turnwright.tenants (tenant_id, name) VALUES ($1, $2)', [tenant, 'test']);
  const base = await testConfig({
    databaseUrl: database.url,
    redisUrl: redis?.url ?? null,
    simUrl: sim.url,
    root,
    leaseMs: options.leaseMs ?? LEASE_MS,
    models: options.models ?? DEFAULT_SIM_MODELS,
    tools: options.tools ?? [],
  });
  return new Stack({ options, base, tenant, root, sim, admin, redis, dropDatabase: () => database.stop() });
}

interface Parts {
  readonly options: StackOptions;
  readonly base: TestConfig;
  readonly tenant: string;
  readonly root: string;
  readonly sim: Simulator;
  readonly admin: pg.Pool;
  readonly redis: TestRedisDatabase | null;
  readonly dropDatabase: () => Promise<void>;
}

class Stack implements TestStack {
  readonly backend: Backend;
  readonly tenant: string;
  readonly root: string;
  readonly sim: Simulator;
  readonly databaseUrl: string;
  readonly redisUrl: string | null;
  readonly applied: Applied[] = [];
  readonly admitted: JobRef[] = [];
  readonly producer: Services;
  readonly #parts: Parts;
  readonly #opened: Services[] = [];
  readonly #hosts: WorkerHost[] = [];

  constructor(parts: Parts) {
    this.#parts = parts;
    this.backend = parts.options.backend;
    this.tenant = parts.tenant;
    this.root = parts.root;
    this.sim = parts.sim;
    this.databaseUrl = parts.base.databaseUrl;
    this.redisUrl = parts.redis?.url ?? null;
    this.producer = this.open();
  }

  open(registry?: MachineRegistry): Services {
    const services = this.#open(this.#parts.base);
    return registry === undefined ? services : withRegistry(services, registry);
  }

  async session({ model, tools, system }: SessionOptions = {}): Promise<SessionRef> {
    const ref = { tenant: this.tenant, session: this.producer.newId() };
    await createSession(this.producer.engine, ref, this.producer.newId(), {
      leg: model ?? 'sim-large',
      policy: { name: 'plan', options: {} },
      tools: tools === undefined || tools === null ? null : [...tools],
      system: system ?? '',
      metadata: {},
    });
    return ref;
  }

  async accept(session: SessionRef, text: string, options: TurnOptions = {}): Promise<string> {
    const { services = this.producer, stepBudget, deadlineMs, escalate, ...rest } = options;
    const accepted = await acceptTurn(services.engine, session, {
      turn: services.newId(),
      input: [{ type: 'text', text }],
      mode: 'enqueue',
      priority: 0,
      idempotencyKey: null,
      ...rest,
      limits: {
        stepBudget: stepBudget ?? STEP_BUDGET,
        deadlineMs: deadlineMs ?? DEADLINE_MS,
        escalate: escalate ?? false,
      },
    });
    return accepted.turn;
  }

  async ended(session: SessionRef, turn: string, limitMs = TURN_LIMIT_MS): Promise<TurnEnd> {
    const row = await until(
      `turn ${turn} has ended`,
      async () => {
        const rows = await this.sql<{ outcome: string; reason: string; steps: number }>(
          `SELECT outcome, reason, steps FROM turnwright.turns
            WHERE tenant_id = $1 AND session_id = $2 AND turn_id = $3 AND status = 'closed'`,
          [session.tenant, session.session, turn],
        );
        return rows[0];
      },
      limitMs,
    );
    const records = await this.producer.store.turnRecords(session, turn);
    const view = foldTurn(records.map((record) => ({ ...record, body: JSON.parse(record.body) as unknown })));
    return { ...row, answer: finalAnswer(view) };
  }

  async ask(session: SessionRef, text: string, options: TurnOptions = {}) {
    const turn = await this.accept(session, text, options);
    return { turn, ...(await this.ended(session, turn)) };
  }

  cancel(session: SessionRef, turn: string): Promise<string> {
    const event = { id: `cancel.${randomUUID()}`, event: { type: 'turn.cancel' } };
    return this.producer.engine.deliver({ ...session, actor: turn }, event);
  }

  async records(session: SessionRef, turn?: string) {
    const found: (StoredRecord & { readonly data: Data })[] = [];
    for await (const record of this.producer.store.records(session)) {
      if (turn === undefined || record.turnId === turn)
        found.push({ ...record, data: JSON.parse(record.body ?? '{}') as Data });
    }
    return found;
  }

  async verify(session: SessionRef): Promise<Verdict> {
    const end = async () => (await this.producer.store.loadSession(session, null))?.session;
    for (;;) {
      const before = await end();
      if (before === undefined) throw new Error(`there is no session ${session.session}`);
      const verifier = new ChainVerifier(session.session);
      for await (const record of this.producer.store.records(session)) if (!verifier.next(record)) break;
      // A probe may append while the records are read: then they are read again.
      if ((await end())?.nextSeq === before.nextSeq) return verifier.end(before);
    }
  }

  async worker(options: WorkerOptions = {}): Promise<TestWorker> {
    const { base } = this.#parts;
    const leaseMs = options.leaseMs ?? base.leaseMs;
    const pools = { ...base.pools };
    for (const pool of POOLS)
      if (options.concurrency !== undefined) pools[pool] = { concurrency: options.concurrency };
    const heartbeatMs = options.heartbeatMs ?? Math.floor(leaseMs / 3);
    const calls = { startHere: options.startHere ?? base.calls.startHere };
    const opened = this.#open({ ...base, pools, leaseMs, heartbeatMs, calls });
    const services = options.registry === undefined ? opened : withRegistry(opened, options.registry);
    if (options.between !== undefined) standBetween(services, options.between);
    if (options.sweeps === false) services.sweeper.start = () => {};
    const host = await startWorkers(services, options.pools ?? POOLS);
    this.#hosts.push(host);
    return {
      id: host.workerId,
      services,
      drain: (graceMs = DRAIN_MS) => host.drain(graceMs),
      stop: async () => {
        await host.drain(0);
        const at = this.#opened.indexOf(opened);
        if (at !== -1) await this.#opened.splice(at, 1)[0]?.close();
      },
    };
  }

  async sql<Row extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) {
    return (await this.#parts.admin.query<Row>(text, [...values])).rows;
  }

  async loseQueue(): Promise<void> {
    const { redis } = this.#parts;
    if (redis !== null) return redis.flush();
    await this.sql('DROP SCHEMA turnwright_queue CASCADE');
  }

  async close(): Promise<void> {
    await Promise.all(this.#hosts.map((host) => host.drain(0)));
    await Promise.all(this.#opened.map((services) => services.close()));
    await this.#parts.admin.end();
    await Promise.all([this.sim.close(), this.#parts.redis?.stop(), this.#parts.dropDatabase()]);
    await rm(this.root, { recursive: true, force: true });
  }

  #open(config: TestConfig): Services {
    const services = openServices(config, createLogger({ level: config.logLevel, secrets: [] }));
    this.#opened.push(services);
    const apply = services.store.apply.bind(services.store);
    services.store.apply = async (commit) => {
      const result = await apply(commit);
      this.applied.push({ commit, result });
      return result;
    };
    const admit = services.queue.admit.bind(services.queue);
    services.queue.admit = async (pool, rows) => {
      await admit(pool, rows);
      this.admitted.push(...rows.map((row) => row.ref));
    };
    return services;
  }
}

async function prepareTemplate(url: string): Promise<void> {
  await migrate(url);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await prepareQueueSchema(client, 'turnwright_queue');
  } finally {
    await client.end();
  }
}

function withRegistry(services: Services, registry: MachineRegistry): Services {
  const { store, engine } = services;
  const known = new Engine({
    store,
    registry,
    admission: engine.admission,
    clock: systemClock,
    timezone: 'UTC',
    cards: createCards([...BUILTIN_CARDS, ...services.config.cards]),
    surface: services.surface,
    turns: services.turns,
  });
  const planning = new Planning(known.indexes, services.turns);
  return { ...services, engine: known, planning };
}

function standBetween(services: Services, between: NonNullable<WorkerOptions['between']>): void {
  const work = services.queue.work.bind(services.queue);
  services.queue.work = (pool, options) => work(pool, { ...options, handle: between(pool, options.handle) });
}
