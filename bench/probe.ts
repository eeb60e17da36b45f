/**
 * What a probe finds out of models whose truth is known, and what a plan makes of it for one session of many turns. The
 * simulator is asked over HTTP; the workers' handlers run over a store in memory.
 */
import type { CapacityProfile } from '../src/context/capacity/profile.ts';
import type { TurnView } from '../src/ledger/view.ts';
import type { Leg } from '../src/providers/contract.ts';
import { createProvider } from '../src/providers/index.ts';
import { type SimModel, startSimulator } from '../src/sim/index.ts';
import { openConversation } from '../test/support/conversation.ts';
import { memoryParts, openProcess } from '../test/support/one-process.ts';
import { count, two } from './cells.ts';
import { factOf, turnOf } from './long-session.ts';
import type { Table } from './tables.ts';

const TENANT = '01890000-0000-7000-8000-0000000000ef';
const TIMEOUT_MS = 60_000;
const TURNS = 60;
const SEED = 11;
const MOST_REPLY_TOKENS = 512;

const BASE: SimModel = {
  name: '',
  window: 131_072,
  horizon: 60_000,
  tokensPerByte: 0.25,
  maxOutputTokens: 4_096,
  prefillTokensPerSecond: 5_000,
  decodeTokensPerSecond: 200,
  quantisation: 'Q4',
  supportsImages: false,
};

/** A horizon far below the window, one at it, a window that is not what it says, and one that keeps nothing visibly. */
export const PROBED_MODELS: readonly SimModel[] = [
  { ...BASE, name: 'sim-13k', horizon: 13_000, window: 131_072, tokensPerByte: 0.31 },
  { ...BASE, name: 'sim-8k', horizon: 7_300, window: 8_192, tokensPerByte: 0.27 },
  { ...BASE, name: 'sim-silent', horizon: 120_000, silentWindow: 16_384 },
  { ...BASE, name: 'sim-uncounted', horizon: 90_000, tokensPerByte: 0.22, reportsCache: false },
];

export interface ProbeRow {
  readonly truth: SimModel;
  readonly profile: CapacityProfile;
  /** Requests of the probe. */
  readonly requests: number;
  readonly plan: {
    readonly budgetTokens: number;
    /** Turns by how they stand in the request; `without`: those that do not. */
    readonly full: number;
    readonly card: number;
    readonly packet: number;
    readonly without: number;
    /** Of the whole request, as the model counted it. */
    readonly promptTokens: number;
  };
}

export async function probeReport(models: readonly SimModel[] = PROBED_MODELS): Promise<readonly ProbeRow[]> {
  const rows: ProbeRow[] = [];
  for (const model of models) rows.push(await probeOne(model));
  return rows;
}

async function probeOne(truth: SimModel): Promise<ProbeRow> {
  const sim = await startSimulator({ seed: SEED, models: [truth] });
  const leg: Leg = {
    name: truth.name,
    provider: 'ollama',
    model: truth.name,
    baseUrl: sim.url,
    maxOutputTokens: MOST_REPLY_TOKENS,
    timeoutMs: TIMEOUT_MS,
  };
  try {
    const process = openProcess({ ...memoryParts(), leg, provider: createProvider(leg, () => undefined) });
    const config = { leg: leg.name, tools: ['recall'] };
    const first = await openConversation(process.engine, TENANT, config);
    await process.ask(first.ref, 'Good morning.');
    const requests = sim.calls().length - 1;
    const { ref, write } = await openConversation(process.engine, TENANT, config);
    await write(Array.from({ length: TURNS }, (_, at) => turnOf(SEED, at + 1)));
    const asked = sim.calls().length;
    const view = await process.ask(ref, factOf(SEED, TURNS - 1).question);
    if (process.errors.length > 0) throw process.errors[0];
    const promptTokens = sim.calls()[asked]?.promptTokens ?? 0;
    return { truth, profile: await process.profiles.bind(leg), requests, plan: planned(view, promptTokens) };
  } finally {
    await sim.close();
  }
}

/** @throws Error where the plan splits a turn, or holds one twice. */
function planned({ plan }: TurnView, promptTokens: number): ProbeRow['plan'] {
  if (plan === null) throw new Error('the turn was not planned');
  const { runs, packet, leftOut, budgetTokens } = plan;
  const turns = (fidelity: 'full' | 'card' | 'packet') =>
    runs.filter((run) => run.fidelity === fidelity).reduce((sum, { from, to }) => sum + to - from + 1, 0);
  const whole = { full: turns('full'), card: turns('card'), packet: turns('packet') };
  const standing = whole.full + whole.card + whole.packet;
  const ordered = runs.every(({ from, to }, at) => from <= to && from > (runs[at - 1]?.to ?? 0));
  if (!ordered || standing + leftOut !== TURNS)
    throw new Error(
      `${standing} turns stand in the plan and ${leftOut} do not, of ${TURNS}: ${JSON.stringify([runs, packet])}`,
    );
  return { ...whole, budgetTokens, without: leftOut, promptTokens };
}

export function probeTable(rows: readonly ProbeRow[]): Table {
  return {
    title: 'What a probe finds, and what a plan makes of it',
    target: 'horizon within a quarter of the truth; no plan beyond it, no turn split',
    method: `Simulated models over HTTP, each probed after one turn; then one session of ${TURNS} turns is planned. Tokens.`,
    head: [
      'model',
      'true horizon',
      'measured',
      'true window',
      'measured',
      'true tokens/byte',
      'measured',
      'cache',
      'requests',
      'budget',
      'full',
      'card',
      'packet',
      'prompt',
    ],
    rows: rows.map(({ truth, profile, requests, plan }) => [
      truth.name,
      count(Math.min(truth.horizon, truth.silentWindow ?? truth.horizon)),
      `**${count(profile.horizon.tokens)}**`,
      count(truth.silentWindow ?? truth.window),
      count(profile.verifiedWindow ?? profile.declaredWindow),
      two(truth.tokensPerByte),
      two(profile.tokensPerByte.value),
      profile.cache,
      `${requests}`,
      count(Math.round(plan.budgetTokens)),
      `${plan.full}`,
      `${plan.card}`,
      `${plan.packet}`,
      `**${count(plan.promptTokens)}**`,
    ]),
    notes: [],
  };
}
