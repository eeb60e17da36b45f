/**
 * One process over any store, with the handlers that production runs and a list in the place of the queue: what is
 * handed over waits until a test runs it. The model is a function of the request.
 */
import { randomUUID } from 'node:crypto';
import { weighMessages } from '../../src/context/assemble/weigh.ts';
import type { CapacityProfile } from '../../src/context/capacity/profile.ts';
import { BUILTIN_CARDS, createCards } from '../../src/context/cards/index.ts';
import type { ChatRequest } from '../../src/context/request.ts';
import type { SessionRef, Store, UpkeepStore } from '../../src/db/contract.ts';
import type { ProfileStore } from '../../src/db/profiles.ts';
import type { AssistantBlock } from '../../src/ledger/blocks.ts';
import { blake3Hex } from '../../src/ledger/chain.ts';
import type { Clock } from '../../src/ledger/clock.ts';
import { byteLength, canonicalJson } from '../../src/ledger/json.ts';
import type { TurnView } from '../../src/ledger/view.ts';
import { MACHINES } from '../../src/machines/registry.ts';
import type { CallOutcome, Leg, Provider, ProviderFailure } from '../../src/providers/contract.ts';
import type { JobRef, Pool } from '../../src/queues/contract.ts';
import { acceptTurn } from '../../src/runtime/accept.ts';
import { Admission } from '../../src/runtime/admission.ts';
import { Engine } from '../../src/runtime/engine.ts';
import { sessionMemory } from '../../src/runtime/memory.ts';
import { Planning } from '../../src/runtime/planning.ts';
import { Profiles } from '../../src/runtime/profiles.ts';
import { RateLimiter } from '../../src/runtime/rate-limiter.ts';
import { RequestBuilder } from '../../src/runtime/request.ts';
import { RunningCalls } from '../../src/runtime/running-calls.ts';
import { SummariesAhead } from '../../src/runtime/summaries-ahead.ts';
import { foldRecords, TurnCache } from '../../src/runtime/turn-cache.ts';
import { builtinTools } from '../../src/tools/builtins/index.ts';
import { cardTool } from '../../src/tools/cards.ts';
import type { Tool } from '../../src/tools/contract.ts';
import { createToolSurface } from '../../src/tools/surface.ts';
import { poolHandlers } from '../../src/workers/index.ts';
import { createMemoryDatabase } from '../simulation/memory/database.ts';
import { MemoryProbeFlights } from '../simulation/memory/probe-flights.ts';
import { Pauses } from '../simulation/world/rate-limits.ts';
import { callParts, UNLISTED } from './call-parts.ts';

/** What the scripted model bills for a byte of prompt: what a profile assumes before it knows. */
export const SCRIPTED_TOKENS_PER_BYTE = 0.25;
const STEP_BUDGET = 40;
const DEADLINE_MS = 600_000;
const CALL_TIMEOUT_MS = 60_000;
const LEASE_MS = 6_000;
/** Every clock reads later than the one before. */
const FIRST_MS = Date.UTC(2026, 0, 2, 3, 4, 5);
const TICK_MS = 1;

export type Scripted = readonly AssistantBlock[] | ProviderFailure;

export interface ProcessOptions {
  readonly store: Store;
  readonly upkeep: UpkeepStore;
  readonly profiles: ProfileStore;
  readonly tools?: readonly Tool[];
  /** The model's answer to a request; left out, the model answers that it is done. */
  readonly reply?: (request: ChatRequest, call: number) => Scripted;
  /** Stands in for the scripted model. */
  readonly provider?: Provider;
  readonly leg?: Partial<Leg>;
}

export interface OneProcess {
  readonly engine: Engine;
  readonly requests: RequestBuilder;
  readonly turns: TurnCache;
  readonly planning: Planning;
  readonly profiles: Profiles;
  readonly leg: Leg;
  readonly surface: ReturnType<typeof createToolSurface>;
  readonly memory: (ref: SessionRef, turn: string) => Promise<ReturnType<typeof sessionMemory>>;
  /** Every request sent to the model, in order. */
  readonly sent: readonly ChatRequest[];
  /** Jobs that wait, oldest first. */
  readonly waiting: readonly { readonly pool: Pool; readonly ref: JobRef }[];
  /** Errors a worker went on after. */
  readonly errors: readonly unknown[];
  accept(ref: SessionRef, text: string): Promise<string>;
  /** Runs one job that another process was handed. */
  perform(job: { readonly pool: Pool; readonly ref: JobRef }): Promise<void>;
  /** Runs the jobs that wait and those they hand over, except those kept back, until none is left. */
  run(keep?: (job: { readonly pool: Pool; readonly ref: JobRef }) => boolean): Promise<void>;
  /** Accepts a turn and runs everything it leads to. */
  ask(ref: SessionRef, text: string): Promise<TurnView>;
  view(ref: SessionRef, turn: string): Promise<TurnView>;
}

/** A database in memory, as several processes may share it. */
export function memoryParts(): Pick<ProcessOptions, 'store' | 'upkeep' | 'profiles'> {
  let nowMs = FIRST_MS;
  const database = createMemoryDatabase({
    nowMs: () => {
      nowMs += TICK_MS;
      return nowMs;
    },
  });
  return { store: database.store(), upkeep: database.upkeep(), profiles: database.profiles() };
}

export function openProcess(options: ProcessOptions): OneProcess {
  const { store, upkeep } = options;
  const errors: unknown[] = [];
  const onError = (error: unknown): void => void errors.push(error);
  const clock = tickingClock();
  const waiting: { pool: Pool; ref: JobRef }[] = [];
  const admission = new Admission({
    queue: listQueue(waiting),
    upkeep,
    leaseMs: LEASE_MS,
    clock,
    onError,
    wakeIn: () => {},
  });
  const turns = new TurnCache(store);
  const cards = createCards(BUILTIN_CARDS);
  const surface = createToolSurface([
    ...builtinTools(),
    ...cards.all.map(cardTool),
    ...(options.tools ?? []),
  ]);
  const engine = new Engine({
    store,
    registry: MACHINES,
    admission,
    clock,
    timezone: 'UTC',
    cards,
    surface,
    turns,
  });
  const planning = new Planning(engine.indexes, turns);
  const requests = new RequestBuilder(planning, turns);
  const profiles = new Profiles({ store: options.profiles, clock, ...UNLISTED, onError });
  const leg: Leg = {
    name: 'scripted',
    provider: 'openai',
    model: 'scripted',
    timeoutMs: CALL_TIMEOUT_MS,
    ...options.leg,
  };
  const sent: ChatRequest[] = [];
  const provider = noting(sent, options.provider ?? scriptedModel(options.reply ?? (() => DONE)));
  const host = {
    engine,
    workerId: randomUUID(),
    running: new RunningCalls(clock),
    random: Math.random,
    stopping: () => false,
    onError,
  };
  const limiter = new RateLimiter({
    store: new Pauses(
      () => clock.nowMs(),
      () => {},
    ),
    workerId: host.workerId,
    leaseMs: LEASE_MS,
    clock,
    onError,
  });
  const bound = () => ({ leg, provider });
  const flights = new MemoryProbeFlights(() => clock.nowMs());
  const deps = {
    host,
    ...callParts({ engine, clock, limiter, flights, newId: randomUUID, leg: bound, onError }),
    configs: engine.configs,
    profiles,
    requests,
    ahead: new SummariesAhead(engine, planning, randomUUID),
    memory: (loaded: Parameters<typeof sessionMemory>[1]) =>
      sessionMemory({ store, indexes: engine.indexes, turns, clock }, loaded),
    limiter,
    turns,
    surface,
    bus: SILENT_BUS,
    root: '/nowhere',
    newId: randomUUID,
    leg: bound,
  };
  const handlers = poolHandlers(deps, upkeep);
  const view = async (ref: SessionRef, turn: string) => foldRecords(await store.turnRecords(ref, turn));
  const accept = async (ref: SessionRef, text: string): Promise<string> => {
    const accepted = await acceptTurn(engine, ref, {
      turn: randomUUID(),
      input: [{ type: 'text', text }],
      mode: 'enqueue',
      priority: 0,
      idempotencyKey: null,
      limits: { stepBudget: STEP_BUDGET, deadlineMs: DEADLINE_MS, escalate: false },
    });
    return accepted.turn;
  };
  const run: OneProcess['run'] = async (keep = () => false) => {
    for (;;) {
      const at = waiting.findIndex((job) => !keep(job));
      const job = at === -1 ? undefined : waiting.splice(at, 1)[0];
      if (job === undefined) return;
      await handlers[job.pool](job.ref);
    }
  };
  return {
    engine,
    requests,
    turns,
    planning,
    profiles,
    leg,
    surface,
    sent,
    waiting,
    errors,
    accept,
    run,
    perform: async ({ pool, ref }) => {
      await handlers[pool](ref);
    },
    view,
    ask: async (ref, text) => {
      const turn = await accept(ref, text);
      await run();
      return view(ref, turn);
    },
    memory: async (ref, turn) => {
      const loaded = await store.load({ ...ref, actor: turn });
      if (loaded === null) throw new Error(`there is no turn ${turn}`);
      return deps.memory(loaded);
    },
  };
}

/** Stored as the measured profile of the process's model, where every process of the store reads it. */
export async function measure(
  { profiles }: Pick<ProcessOptions, 'profiles'>,
  { leg }: Pick<OneProcess, 'leg'>,
  profile: CapacityProfile,
): Promise<void> {
  const key = {
    provider: leg.provider,
    endpointDigest: blake3Hex(leg.baseUrl ?? ''),
    model: leg.model,
    quantisation: '',
  };
  const known = await profiles.read(key);
  await profiles.write(key, canonicalJson(profile), known?.version ?? 0);
}

const DONE: readonly AssistantBlock[] = [{ type: 'text', text: 'That is done.' }];

const SILENT_BUS = {
  publish: () => Promise.resolve(),
  watch: () => Promise.resolve(() => Promise.resolve()),
  drop: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

function listQueue(waiting: { pool: Pool; ref: JobRef }[]) {
  return {
    kind: 'postgres' as const,
    admit: (pool: Pool, admissions: readonly { readonly ref: JobRef }[]) => {
      waiting.push(...admissions.map(({ ref }) => ({ pool, ref })));
      return Promise.resolve();
    },
    presence: () => Promise.resolve('absent' as const),
    work: () => Promise.reject(new Error('nothing works here by itself')),
    ping: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}

function tickingClock(): Clock {
  let nowMs = FIRST_MS;
  const tick = (): number => {
    nowMs += TICK_MS;
    return nowMs;
  };
  return {
    nowMs: tick,
    monotonicMs: () => tick() - FIRST_MS,
    sleep: () => Promise.resolve(),
    after: () => () => {},
  };
}

function noting(sent: ChatRequest[], provider: Provider): Provider {
  return {
    searchesTools: provider.searchesTools,
    embed: null,
    describe: (options) => provider.describe(options),
    call: (request, options) => {
      sent.push(request);
      return provider.call(request, options);
    },
  };
}

function scriptedModel(reply: NonNullable<ProcessOptions['reply']>): Provider {
  let calls = 0;
  return {
    searchesTools: false,
    embed: null,
    describe: () =>
      Promise.resolve({
        ok: true,
        metadata: { declaredWindow: null, maxOutputTokens: null, quantisation: null },
      }),
    call: (request): Promise<CallOutcome> => {
      calls += 1;
      const said = reply(request, calls);
      if (!isBlocks(said)) return Promise.resolve({ ok: false, failure: said });
      return Promise.resolve({ ok: true, reply: replyOf(request, said) });
    },
  };
}

function isBlocks(said: Scripted): said is readonly AssistantBlock[] {
  return Array.isArray(said);
}

function replyOf(request: ChatRequest, content: readonly AssistantBlock[]) {
  const { system, tools, messages } = request;
  const bytes = byteLength(canonicalJson({ system, tools })) + weighMessages(messages);
  const finish = content.some(({ type }) => type === 'tool_call') ? 'tool_calls' : 'stop';
  return {
    content,
    finish,
    usage: {
      inputTokens: Math.ceil(bytes * SCRIPTED_TOKENS_PER_BYTE),
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      outputTokens: 10,
    },
    model: 'scripted',
    firstTokenMs: 1,
    totalMs: 1,
  } as const;
}
