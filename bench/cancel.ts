/** From a cancel request to the aborted call, across processes: an API here, the call in a worker process. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type RunningApi, startApi } from '../src/api/app.ts';
import type { Services } from '../src/app/services.ts';
import { createPool } from '../src/db/index.ts';
import { createKey, ensureTenant } from '../src/db/keys.ts';
import type { Leg } from '../src/providers/contract.ts';
import { type SimModel, startSimulator } from '../src/sim/index.ts';
import { openDeployment } from './deployment.ts';
import { HOLD_TOOL, HOLDING_LEG } from './held-calls.ts';
import type { Backend, Servers } from './servers.ts';
import { TURN_LIMIT_MS } from './settings.ts';
import { median, quantile } from './statistics.ts';
import type { BenchWorker } from './worker-process.ts';

const SAMPLES = 60;
const QUICK_SAMPLES = 10;
const WARM_UP = 5;
const P95 = 0.95;
const NS_PER_MS = 1_000_000;
const WINDOW_TOKENS = 32_000;
/** Calls are cancelled at any moment of a stream, not always right after its first text. */
const LONGEST_PAUSE_MS = 60;

const STREAMING_LEG = 'streaming';
/** Slow enough that its answer never ends before the cancel. */
const STREAMING_MODEL: SimModel = {
  name: 'sim-slow',
  window: WINDOW_TOKENS,
  horizon: WINDOW_TOKENS,
  tokensPerByte: 0.25,
  maxOutputTokens: 1_024,
  prefillTokensPerSecond: 50_000,
  decodeTokensPerSecond: 10,
  quantisation: 'F16',
  supportsImages: false,
};

const CALLS = [
  { call: 'streaming model call', session: { leg: STREAMING_LEG, tools: [] } },
  { call: 'running tool', session: { leg: HOLDING_LEG, tools: [HOLD_TOOL] } },
] as const;

export interface CancelRow {
  readonly backend: Backend;
  readonly call: string;
  /** From before the HTTP request is sent to the signal in the worker. */
  readonly abortedP50Ms: number;
  readonly abortedP95Ms: number;
  readonly abortedMostMs: number;
  /** To the return of the provider's or the tool's function. */
  readonly returnedP95Ms: number;
  readonly samples: readonly Sample[];
}

interface Sample {
  readonly abortedMs: number;
  readonly returnedMs: number;
}

export async function cancel(
  servers: Servers,
  backend: Backend,
  { quick }: { readonly quick: boolean },
): Promise<readonly CancelRow[]> {
  const sim = await startSimulator({ seed: 7, models: [STREAMING_MODEL], speed: 'real' });
  const legs = [
    leg(STREAMING_LEG, { model: STREAMING_MODEL.name, baseUrl: `${sim.url}/v1` }),
    leg(HOLDING_LEG, { model: HOLDING_LEG }),
  ];
  const deployment = await openDeployment(servers, backend, { windowTokens: WINDOW_TOKENS, legs });
  const rows: CancelRow[] = [];
  let api: Api | null = null;
  try {
    api = await openApi(deployment.services);
    const worker = await deployment.addWorker();
    for (const { call, session } of CALLS) {
      const samples: Sample[] = [];
      for (let n = 0; n < WARM_UP; n++) await cancelOne(api, worker, session);
      while (samples.length < (quick ? QUICK_SAMPLES : SAMPLES))
        samples.push(await cancelOne(api, worker, session));
      rows.push(row(backend, call, samples));
    }
  } finally {
    await api?.close();
    await deployment.close();
    await sim.close();
  }
  return rows;
}

function row(backend: Backend, call: string, samples: readonly Sample[]): CancelRow {
  const aborted = samples.map(({ abortedMs }) => abortedMs);
  return {
    backend,
    call,
    abortedP50Ms: median(aborted),
    abortedP95Ms: quantile(aborted, P95),
    abortedMostMs: Math.max(...aborted),
    returnedP95Ms: quantile(
      samples.map(({ returnedMs }) => returnedMs),
      P95,
    ),
    samples,
  };
}

async function cancelOne(api: Api, worker: BenchWorker, session: object): Promise<Sample> {
  const { session: opened } = await api.post<{ session: { id: string } }>('/v1/sessions', session);
  const running = worker.next('running');
  const { turn } = await api.post<{ turn: { id: string } }>(`/v1/sessions/${opened.id}/turns`, {
    input: 'Tell me everything you know about the harbour, at length.',
  });
  await running;
  await delay(Math.random() * LONGEST_PAUSE_MS);
  const told = Promise.all([worker.next('aborted'), worker.next('returned')]);
  const startedNs = process.hrtime.bigint();
  await api.post(`/v1/turns/${turn.id}/cancel`, undefined);
  const [aborted, returned] = await told;
  const since = (atNs: bigint) => Number(atNs - startedNs) / NS_PER_MS;
  return { abortedMs: since(aborted.atNs), returnedMs: since(returned.atNs) };
}

function leg(name: string, way: Pick<Leg, 'model' | 'baseUrl'>): Leg {
  return {
    name,
    provider: 'openai',
    window: WINDOW_TOKENS,
    maxOutputTokens: STREAMING_MODEL.maxOutputTokens,
    timeoutMs: TURN_LIMIT_MS,
    ...way,
  };
}

interface Api {
  post<Answer>(path: string, body: unknown): Promise<Answer>;
  close(): Promise<void>;
}

async function openApi(services: Services): Promise<Api> {
  const tenant = { tenant: randomUUID(), name: 'bench' };
  const upkeepPool = createPool({
    url: services.databaseUrl,
    role: 'turnwright_upkeep',
    max: 1,
    applicationName: 'turnwright bench',
    onError: () => {},
  });
  await ensureTenant(upkeepPool, tenant);
  await upkeepPool.end();
  const { key } = await createKey(services.pool, tenant.tenant, { name: 'bench', scopes: ['turns:write'] });
  const api: RunningApi = await startApi(services, { host: '127.0.0.1', port: 0 });
  return {
    post: async <Answer>(path: string, body: unknown) => {
      const response = await fetch(`${api.url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const answer = await response.text();
      if (!response.ok) throw new Error(`POST ${path} was answered with ${response.status}: ${answer}`);
      return JSON.parse(answer) as Answer;
    },
    close: () => api.close(),
  };
}
