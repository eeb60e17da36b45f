/**
 * A fact said in turn 3 and asked for in turn 200, on a model that follows instructions up to 13,000 tokens of prompt.
 * The first 199 turns are written by the functions of the runtime; the last one runs through the workers' handlers
 * over a store in memory, and the simulator is asked over HTTP. Beside it, two assemblers of this bench alone: the whole
 * history, and its newest part as far as it fits.
 */

import { renderOpen } from '../src/context/assemble/open-turn.ts';
import { rendered } from '../src/context/assemble/weigh.ts';
import { metadataProfile } from '../src/context/capacity/metadata.ts';
import type { ChatMessage, ChatRequest } from '../src/context/request.ts';
import { byteLength, canonicalJson, type JsonObject } from '../src/ledger/json.ts';
import { finalAnswer, visibleText } from '../src/ledger/view.ts';
import type { Leg, Provider } from '../src/providers/contract.ts';
import { createProvider } from '../src/providers/index.ts';
import { sessionPrefix } from '../src/runtime/session-prefix.ts';
import { type SimModel, startSimulator } from '../src/sim/index.ts';
import { openConversation, SIMPLE_CONFIG } from '../test/support/conversation.ts';
import { measure, memoryParts, openProcess } from '../test/support/one-process.ts';
import { factOf, turnOf } from './long-session.ts';
import { median } from './statistics.ts';

const SESSIONS = 100;
const QUICK_SESSIONS = 10;
const TURNS = 200;
const PLANTED = 3;
const MOST_EXTRA_STEPS = 2;
const TIMEOUT_MS = 60_000;
const TENANT = '01890000-0000-7000-8000-0000000000ee';
const TOKENS_PER_BYTE = 0.25;
const MODEL: SimModel = {
  name: 'sim-13k',
  window: 32_768,
  horizon: 13_000,
  tokensPerByte: TOKENS_PER_BYTE,
  maxOutputTokens: 512,
  prefillTokensPerSecond: 5_000,
  decodeTokensPerSecond: 200,
  quantisation: 'Q4',
  supportsImages: false,
};

export const RECALL_POLICIES = ['plan', 'recall alone', 'full history', 'truncation'] as const;
export type RecallPolicy = (typeof RECALL_POLICIES)[number];

interface Asked {
  readonly answered: boolean;
  readonly steps: number;
  readonly promptTokens: number;
  readonly refused: boolean;
}

export interface RecallRow {
  readonly policy: RecallPolicy;
  readonly sessions: number;
  /** Answers that hold the fact, within two steps beyond the first. */
  readonly answered: number;
  /** Of them, those where the fact had been said by the user, and where a tool had found it. */
  readonly said: { readonly answered: number; readonly of: number };
  readonly found: { readonly answered: number; readonly of: number };
  /** Prompts that the model refused as too long. */
  readonly refused: number;
  readonly extraStepsMost: number;
  readonly promptTokensMedian: number;
}

export async function recall({ quick }: { readonly quick: boolean }): Promise<readonly RecallRow[]> {
  const sim = await startSimulator({ seed: 3, models: [MODEL] });
  const leg: Leg = {
    name: MODEL.name,
    provider: 'openai',
    model: MODEL.name,
    baseUrl: `${sim.url}/v1`,
    window: MODEL.window,
    maxOutputTokens: MODEL.maxOutputTokens,
    timeoutMs: TIMEOUT_MS,
  };
  const provider = createProvider(leg, () => undefined);
  try {
    const sessions = quick ? QUICK_SESSIONS : SESSIONS;
    const byPolicy = new Map<RecallPolicy, { readonly found: boolean; readonly asked: Asked }[]>();
    for (let seed = 1; seed <= sessions; seed++)
      for (const [policy, asked] of await askOnce(seed, leg, provider))
        byPolicy.set(policy, [...(byPolicy.get(policy) ?? []), { found: isFound(seed), asked }]);
    return RECALL_POLICIES.map((policy) => rowOf(policy, byPolicy.get(policy) ?? []));
  } finally {
    await sim.close();
  }
}

/** In every other session a tool found the fact; else the user said it. */
const isFound = (seed: number): boolean => seed % 2 === 0;

async function askOnce(
  seed: number,
  leg: Leg,
  provider: Provider,
): Promise<readonly (readonly [RecallPolicy, Asked])[]> {
  const said = Array.from({ length: TURNS - 1 }, (_, at) =>
    at + 1 === PLANTED ? turnOf(seed, PLANTED, isFound(seed)) : turnOf(seed, at + 1),
  );
  const ours = async (policy: RecallPolicy, options: JsonObject) => {
    const parts = memoryParts();
    const process = openProcess({ ...parts, leg, provider });
    await measure(parts, process, profile());
    const config = {
      ...SIMPLE_CONFIG,
      leg: leg.name,
      tools: ['recall'],
      policy: { name: 'plan' as const, options },
    };
    const { ref, head, write } = await openConversation(process.engine, TENANT, config);
    await write(said);
    const view = await process.ask(ref, factOf(seed, PLANTED).question);
    if (process.errors.length > 0) throw process.errors[0];
    const records = await parts.store.turnRecords(ref, view.turnId);
    const steps = records.filter(({ kind }) => kind === 'assistant-message').length;
    const promptTokens = tokensIn(process.sent.find(({ tools }) => tools.length > 0));
    const asked = { ...judged(seed, finalAnswer(view), steps), promptTokens, refused: false };
    const views = await Promise.all(
      said.map(async (_, at) => process.view(ref, (await parts.store.turnAt(ref, head, at + 1))?.turn ?? '')),
    );
    return { asked, policy, views, prefix: sessionPrefix({ ...config, tools: [] }, process.surface) };
  };
  const planned = await ours('plan', {});
  const alone = await ours('recall alone', { signals: 'minimal' });
  const history = planned.views.map((view) => renderOpen(view, null));
  const bare = async (kept: readonly (readonly ChatMessage[])[]): Promise<Asked> => {
    const { system, tools } = planned.prefix;
    const question: ChatMessage = {
      role: 'user',
      content: [{ type: 'text', text: factOf(seed, PLANTED).question }],
    };
    const request = { system, tools, messages: [...kept.flat(), question], maxTokens: MODEL.maxOutputTokens };
    const { signal } = new AbortController();
    const outcome = await provider.call(request, { signal, timeoutMs: TIMEOUT_MS });
    const answer = outcome.ok ? visibleText(outcome.reply.content) : null;
    return { ...judged(seed, answer, 1), promptTokens: tokensIn(request), refused: !outcome.ok };
  };
  return [
    ['plan', planned.asked],
    ['recall alone', alone.asked],
    ['full history', await bare(history)],
    ['truncation', await bare(newestWithin(history, MODEL.horizon - MODEL.maxOutputTokens - 512))],
  ];
}

function judged(seed: number, answer: string | null, steps: number): Pick<Asked, 'answered' | 'steps'> {
  const holds = answer?.includes(factOf(seed, PLANTED).value) ?? false;
  return { answered: holds && steps - 1 <= MOST_EXTRA_STEPS, steps };
}

function newestWithin(
  history: readonly (readonly ChatMessage[])[],
  tokens: number,
): readonly (readonly ChatMessage[])[] {
  let left = tokens / TOKENS_PER_BYTE;
  const kept: (readonly ChatMessage[])[] = [];
  for (const messages of history.toReversed()) {
    left -= rendered(messages).bytes;
    if (left < 0) break;
    kept.unshift(messages);
  }
  return kept;
}

function tokensIn(request: ChatRequest | undefined): number {
  if (request === undefined) return 0;
  const { system, tools, messages } = request;
  const bytes = byteLength(canonicalJson({ system, tools })) + rendered(messages).bytes;
  return Math.ceil(bytes * TOKENS_PER_BYTE);
}

function profile() {
  const base = metadataProfile({
    operatorWindow: MODEL.window,
    operatorMaxOutput: MODEL.maxOutputTokens,
    providerWindow: null,
    providerMaxOutput: null,
    catalogueWindow: null,
    catalogueMaxOutput: null,
    metadataDigest: null,
    probedAtMs: 1,
  });
  return {
    ...base,
    horizon: { tokens: MODEL.horizon, confidence: 0.9, lastConfirmedMs: 1 },
    tokensPerByte: { value: TOKENS_PER_BYTE, samples: 3 },
  };
}

function rowOf(
  policy: RecallPolicy,
  all: readonly { readonly found: boolean; readonly asked: Asked }[],
): RecallRow {
  const count = (of: typeof all) => of.filter(({ asked }) => asked.answered).length;
  const split = (found: boolean) => {
    const of = all.filter((one) => one.found === found);
    return { answered: count(of), of: of.length };
  };
  return {
    policy,
    sessions: all.length,
    answered: count(all),
    said: split(false),
    found: split(true),
    refused: all.filter(({ asked }) => asked.refused).length,
    extraStepsMost: Math.max(...all.map(({ asked }) => asked.steps - 1)),
    promptTokensMedian: median(all.map(({ asked }) => asked.promptTokens)),
  };
}
