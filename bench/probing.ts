/**
 * How often the ladder is right about a model that flips, and what a turn pays for a probe of its model: nothing but
 * the time to its own request, beside the same without a probe.
 */
import { createLogger } from '../src/app/logger.ts';
import { openServices, type Services } from '../src/app/services.ts';
import { startWorkers } from '../src/app/worker-host.ts';
import { ladderResult, nextSample, openLadder, takeSample } from '../src/context/capacity/ladder.ts';
import type { SessionRef } from '../src/db/contract.ts';
import type { Leg } from '../src/providers/contract.ts';
import { createProvider } from '../src/providers/index.ts';
import { acceptTurn } from '../src/runtime/accept.ts';
import { createSession } from '../src/runtime/sessions.ts';
import { type SimModel, type Simulator, startSimulator } from '../src/sim/index.ts';
import { draw } from '../src/sim/random.ts';
import { until } from '../test/support/await.ts';
import { openConversation } from '../test/support/conversation.ts';
import { memoryParts, openProcess } from '../test/support/one-process.ts';
import { one, times, two } from './cells.ts';
import { runSql, type Servers } from './servers.ts';
import { benchConfig, TURN_LIMIT_MS } from './settings.ts';
import { median, type Spread, spread } from './statistics.ts';
import type { Table } from './tables.ts';

const SEEDS = 100;
const HTTP_SEEDS = 6;
const FLIP_RATES = [0.03, 0.1] as const;
const SAMPLES = [1, 3, 7] as const;
/** What production plans a rung with: the one that is tried over HTTP, too. */
const USUAL_SAMPLES = 3;
const TOLERANCE = 0.25;
const WINDOW = 500_000;
const LEAST_HORIZON = 4_000;
const HORIZON_SPAN = 100;
/** A prompt over HTTP is really built: smaller truths keep it short. */
const HTTP_SPAN = 10;
const HTTP_WINDOW = 65_536;
const ROUNDS = 20;
const QUICK_ROUNDS = 4;
const NEVER_MS = 600_000;
const DRAIN_MS = 1_000;
const TENANT = '01890000-0000-7000-8000-0000000000ed';
const STEP_BUDGET = 4;

const MODEL: SimModel = {
  name: 'probed',
  window: HTTP_WINDOW,
  horizon: 13_000,
  tokensPerByte: 0.25,
  maxOutputTokens: 512,
  prefillTokensPerSecond: 5_000,
  decodeTokensPerSecond: 200,
  quantisation: 'Q4',
  supportsImages: false,
};

export interface LadderRow {
  readonly flipRate: number;
  readonly samples: number;
  readonly over: 'function' | 'http';
  readonly searches: number;
  /** Within a quarter of the truth; more than a quarter above it. */
  readonly right: number;
  readonly above: number;
  readonly meanRequests: number;
}

export interface ProbingResult {
  readonly ladders: readonly LadderRow[];
  /** From a turn's arrival to its request at the provider. */
  readonly latency: {
    readonly probed: Spread;
    readonly alone: Spread;
    readonly ratio: Spread;
    readonly samples: { readonly probedMs: readonly number[]; readonly aloneMs: readonly number[] };
  };
}

export async function probingBench(
  servers: Servers,
  { quick }: { readonly quick: boolean },
): Promise<ProbingResult> {
  const ladders: LadderRow[] = [];
  for (const flipRate of FLIP_RATES) {
    for (const samples of SAMPLES)
      ladders.push(rowOf({ flipRate, samples, over: 'function' }, pureSearches(flipRate, samples)));
    const found: Search[] = [];
    for (let seed = 0; seed < HTTP_SEEDS; seed += 1) found.push(await httpSearch(seed, flipRate));
    ladders.push(rowOf({ flipRate, samples: USUAL_SAMPLES, over: 'http' }, found));
  }
  return { ladders, latency: await latencies(servers, quick ? QUICK_ROUNDS : ROUNDS) };
}

interface Search {
  /** Of the horizon that was found, as a share of the true one. */
  readonly error: number;
  readonly requests: number;
}

function rowOf(of: Pick<LadderRow, 'flipRate' | 'samples' | 'over'>, found: readonly Search[]): LadderRow {
  return {
    ...of,
    searches: found.length,
    right: found.filter(({ error }) => Math.abs(error) <= TOLERANCE).length,
    above: found.filter(({ error }) => error > TOLERANCE).length,
    meanRequests: found.reduce((sum, { requests }) => sum + requests, 0) / found.length,
  };
}

function pureSearches(flipRate: number, samples: number): readonly Search[] {
  return Array.from({ length: SEEDS }, (_, seed) => {
    const truth = LEAST_HORIZON * HORIZON_SPAN ** draw(seed, 'horizon');
    let state = openLadder({ window: WINDOW, samples, prefillTokensPerSecond: 0 });
    let requests = 0;
    for (let next = nextSample(state); next !== null; next = nextSample(state)) {
      requests += 1;
      const follows = next.targetTokens <= truth !== draw(seed, 'flip', requests) < flipRate;
      state = takeSample(state, {
        verdict: follows ? 'followed' : 'not-followed',
        promptTokens: next.targetTokens,
      });
    }
    return { error: ladderResult(state).horizonTokens / truth - 1, requests };
  });
}

async function httpSearch(seed: number, flipRate: number): Promise<Search> {
  const horizon = Math.round(LEAST_HORIZON * HTTP_SPAN ** draw(seed, 'horizon'));
  const sim = await startSimulator({ seed, models: [{ ...MODEL, horizon, flipRate }] });
  const leg = legTo(sim);
  try {
    const process = openProcess({ ...memoryParts(), leg, provider: createProvider(leg, () => undefined) });
    const { ref } = await openConversation(process.engine, TENANT, { leg: leg.name, tools: [] });
    const before = sim.calls().length;
    await process.ask(ref, 'Good morning.');
    const { tokens } = (await process.profiles.bind(leg)).horizon;
    return { error: tokens / horizon - 1, requests: sim.calls().length - before - 1 };
  } finally {
    await sim.close();
  }
}

function legTo({ url }: Simulator): Leg {
  return { name: MODEL.name, provider: 'ollama', model: MODEL.name, baseUrl: url, timeoutMs: TURN_LIMIT_MS };
}

async function latencies(servers: Servers, rounds: number): Promise<ProbingResult['latency']> {
  const place = await servers.place('postgres', HTTP_WINDOW);
  const sim = await startSimulator({ seed: 1, models: [MODEL], clock: () => performance.now() });
  const leg = legTo(sim);
  const config = await benchConfig(place.settings, [], [leg]);
  const services = openServices(
    { ...config, probe: { ...config.probe, local: 'off' } },
    createLogger({ level: config.logLevel, secrets: [] }),
  );
  const host = await startWorkers(services);
  try {
    await runSql(
      place.settings.databaseUrl,
      `INSERT INTO turnwright.tenants (tenant_id, name) VALUES ('${TENANT}', 'bench')`,
    );
    const ref = { tenant: TENANT, session: services.newId() };
    await createSession(services.engine, ref, services.newId(), {
      leg: leg.name,
      policy: { name: 'plan', options: {} },
      tools: [],
      system: '',
      metadata: {},
    });
    // The first turn of a process reads what the others find read.
    await arrival(services, sim, ref);
    const asked = async () => (await services.legProfiles.current(leg)).provenance.rungs.length > 0;
    await until('the model was asked what it is', asked);
    const [probedMs, aloneMs]: [number[], number[]] = [[], []];
    for (let round = 0; round < rounds; round += 1) {
      await openSample(services, sim, ref, leg);
      probedMs.push(await arrival(services, sim, ref));
      aloneMs.push(await arrival(services, sim, ref));
    }
    const ratio = spread(probedMs.map((ms, at) => ms / (aloneMs[at] ?? ms)));
    return { probed: spread(probedMs), alone: spread(aloneMs), ratio, samples: { probedMs, aloneMs } };
  } finally {
    await host.drain(DRAIN_MS);
    await services.close();
    await sim.close();
    await place.drop();
  }
}

/** Begins a probe, and waits until its first sample is at the provider, which never answers it. */
async function openSample(
  { probes, flights }: Services,
  sim: Simulator,
  ref: SessionRef,
  leg: Leg,
): Promise<void> {
  await until('no probe is under way', async () => (await flights.held(NEVER_MS)).length === 0);
  const sample = sim.calls().length + 2;
  sim.setFaults([{ match: { fromCall: sample, count: 1 }, fault: { name: 'slow', delayMs: NEVER_MS } }]);
  await probes.begin(ref, leg, { ladder: true, delayMs: 0, forced: true });
  await until('a sample is open', () => sim.calls()[sample - 1]?.state === 'open');
}

/** Milliseconds from the request of a turn to its call at the provider. */
async function arrival({ engine, newId, store }: Services, sim: Simulator, ref: SessionRef): Promise<number> {
  const before = sim.calls().length;
  const startedMs = performance.now();
  const { turn } = await acceptTurn(engine, ref, {
    turn: newId(),
    input: [{ type: 'text', text: 'Good morning.' }],
    mode: 'enqueue',
    priority: 0,
    idempotencyKey: null,
    limits: { stepBudget: STEP_BUDGET, deadlineMs: TURN_LIMIT_MS, escalate: false },
  });
  const closed = async () => (await store.turnRecords(ref, turn)).some(({ kind }) => kind === 'turn-closed');
  await until('the turn ended', closed);
  const call = sim.calls()[before];
  if (call === undefined) throw new Error('the turn made no call');
  return call.at - startedMs;
}

export function probingTables({ ladders, latency }: ProbingResult): readonly Table[] {
  return [
    {
      title: 'The horizon ladder on models that flip',
      target: 'with three samples right in at least 80 of 100 at one flip in ten, 95 at three in a hundred',
      method: `True horizons from ${LEAST_HORIZON} tokens on, a factor of ${HORIZON_SPAN} wide (${HTTP_SPAN} over HTTP). Right: within a quarter. Far above: more than a quarter too high.`,
      head: ['flips', 'samples', 'over', 'searches', 'right', 'far above', 'requests, mean'],
      rows: ladders.map((row) => [
        two(row.flipRate),
        `${row.samples}`,
        row.over === 'http' ? 'HTTP' : 'the function alone',
        `${row.searches}`,
        `**${row.right}**`,
        `${row.above}`,
        one(row.meanRequests),
      ]),
      notes: [],
    },
    {
      title: 'A turn on a model under probe',
      target: 'no slower than without one',
      method:
        'From the turn’s arrival to its call at the provider, one process on PostgreSQL, a sample of the probe open, in alternation with the same and no probe. Milliseconds.',
      head: ['', 'median', 'most'],
      rows: [
        ['under probe', two(latency.probed.median), two(latency.probed.most)],
        ['alone', two(latency.alone.median), two(latency.alone.most)],
        [
          'ratio',
          times(latency.ratio),
          two(median(latency.samples.probedMs) / median(latency.samples.aloneMs)),
        ],
      ],
      notes: [],
    },
  ];
}
