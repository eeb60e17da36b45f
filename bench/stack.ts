/** A stack to measure: a real Postgres, a real queue, the real workers; only the model answers at once. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { loadConfig } from '../src/app/config.ts';
import { startEmbeddedPostgres } from '../src/app/embedded/postgres.ts';
import { createLogger } from '../src/app/logger.ts';
import { openServices, type Services } from '../src/app/services.ts';
import { startWorkers, type WorkerHost } from '../src/app/worker-host.ts';
import type { ChatReply, ChatRequest } from '../src/context/request.ts';
import { migrate } from '../src/db/index.ts';
import type { Leg, Provider } from '../src/providers/contract.ts';
import { POOLS } from '../src/queues/contract.ts';
import { acceptTurn } from '../src/runtime/accept.ts';
import { createSession } from '../src/runtime/sessions.ts';
import { defineTool } from '../src/tools/define.ts';

export type Backend = 'redis' | 'postgres';

/** The upkeep pool is left to the floor's queue trips. */
const MEASURED_POOLS = POOLS.filter((pool) => pool !== 'upkeep');
const RESULT_BYTES = 2_048;
const ANSWER_CHARS = 500;
const TOOL_STEPS = 2;
const TURN_LIMIT_MS = 60_000;

export interface BenchStack {
  readonly services: Services;
  /** Runs one standard turn and resolves with its milliseconds, acceptance to closing commit. */
  turn(session: SessionRef): Promise<number>;
  session(): Promise<SessionRef>;
  close(): Promise<void>;
}

export interface SessionRef {
  readonly tenant: string;
  readonly session: string;
}

export async function openBenchStack(backend: Backend, window: number): Promise<BenchStack> {
  const dataDir = await mkdtemp(join(tmpdir(), 'turnwright-bench-'));
  const postgres = process.env.DATABASE_URL === undefined ? await startEmbeddedPostgres({ dataDir }) : null;
  const databaseUrl = postgres?.url ?? process.env.DATABASE_URL ?? '';
  await migrate(databaseUrl);
  const redis = backend === 'redis' ? await startRedis() : null;
  const base = await loadConfig({ env: redis === null ? {} : { REDIS_URL: redis.url }, cwd: dataDir });
  const leg: Leg = {
    name: 'instant',
    provider: 'openai',
    model: 'instant',
    window,
    maxOutputTokens: 1_000,
    timeoutMs: TURN_LIMIT_MS,
  };
  const config = { ...base, databaseUrl, legs: [leg], tools: [lookup] };
  const services = openServices(config, createLogger({ level: 'error', secrets: [] }));
  const closings = watchClosings(services);
  const host = await startWorkers(services, MEASURED_POOLS, { leg: () => ({ leg, provider: instantModel }) });
  return {
    services,
    session: () => openSession(services),
    turn: (ref) => runTurn(services, closings, ref),
    close: () => closeAll(host, services, redis, postgres, dataDir),
  };
}

async function openSession(services: Services): Promise<SessionRef> {
  const ref = { tenant: services.newId(), session: services.newId() };
  await createSession(services.engine, ref, services.newId(), {
    leg: 'instant',
    policy: { name: 'plan', options: {} },
    tools: ['lookup'],
    system: '',
    metadata: {},
  });
  return ref;
}

async function runTurn(
  services: Services,
  closings: Map<string, () => void>,
  ref: SessionRef,
): Promise<number> {
  const turn = services.newId();
  const closed = new Promise<void>((resolve) => closings.set(turn, resolve));
  const startedMs = performance.now();
  await acceptTurn(services.engine, ref, {
    turn,
    input: [{ type: 'text', text: 'Look up both parts of the standard turn and say what they hold.' }],
    mode: 'enqueue',
    priority: 0,
    idempotencyKey: null,
    limits: { stepBudget: 40, deadlineMs: TURN_LIMIT_MS, escalate: false },
  });
  await closed;
  return performance.now() - startedMs;
}

/** Resolves a turn when the commit that closes it returns. */
function watchClosings(services: Services): Map<string, () => void> {
  const closings = new Map<string, () => void>();
  const { store } = services;
  const apply = store.apply.bind(store);
  store.apply = async (commit) => {
    const result = await apply(commit);
    for (const change of commit.turnChanges) {
      if (result !== 'applied' || change.status !== 'closed') continue;
      closings.get(change.turn)?.();
      closings.delete(change.turn);
    }
    return result;
  };
  return closings;
}

const lookup = defineTool({
  name: 'lookup',
  description: 'Looks one part up.',
  input: z.object({ part: z.number() }),
  effect: 'read',
  run: ({ part }) => Promise.resolve(`part ${part}\n`.padEnd(RESULT_BYTES, 'x')),
});

/** Calls the tool twice, then answers; takes no time of its own. */
const instantModel: Provider = {
  call: (request) => Promise.resolve({ ok: true, reply: replyTo(request) }),
  describe: () =>
    Promise.resolve({
      ok: true,
      metadata: { declaredWindow: null, maxOutputTokens: null, quantisation: null },
    }),
};

function replyTo(request: ChatRequest): ChatReply {
  const last = request.messages.at(-1);
  const step = stepsSoFar(request);
  const usage = { inputTokens: 1_000, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 50 };
  const common = { usage, model: 'instant', firstTokenMs: 0, totalMs: 0 };
  if (last === undefined || step < TOOL_STEPS) {
    const call = { type: 'tool_call', id: `c${step}`, name: 'lookup', args: { part: step } } as const;
    return { ...common, content: [call], finish: 'tool_calls' };
  }
  return { ...common, content: [{ type: 'text', text: 'a'.repeat(ANSWER_CHARS) }], finish: 'stop' };
}

/** Tool results since the last directive. */
function stepsSoFar(request: ChatRequest): number {
  let steps = 0;
  for (const message of request.messages.toReversed()) {
    if (message.role !== 'user') continue;
    if (!message.content.some((block) => block.type === 'tool_result')) return steps;
    steps += 1;
  }
  return steps;
}

async function startRedis(): Promise<{ url: string; stop: () => Promise<void> }> {
  if (process.env.REDIS_URL !== undefined) return { url: process.env.REDIS_URL, stop: async () => {} };
  const port = await freePort();
  const child = spawn(
    'redis-server',
    ['--port', String(port), '--save', '', '--maxmemory-policy', 'noeviction'],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  for await (const chunk of child.stdout) if (String(chunk).includes('Ready to accept')) break;
  child.stdout.resume();
  return {
    url: `redis://127.0.0.1:${port}`,
    stop: async () => {
      child.kill();
      await once(child, 'exit');
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

async function closeAll(
  host: WorkerHost,
  services: Services,
  redis: { stop: () => Promise<void> } | null,
  postgres: { stop(): Promise<void> } | null,
  dataDir: string,
): Promise<void> {
  await host.drain(1_000);
  await services.close();
  await redis?.stop();
  await postgres?.stop();
  await rm(dataDir, { recursive: true, force: true });
}
