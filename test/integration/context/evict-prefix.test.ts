/** What a provider's prefix cache can keep of a long session that evicts, as the simulator counts it byte by byte. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ChatMessage } from '../../../src/context/request.ts';
import type { SessionRef } from '../../../src/db/contract.ts';
import { byteLength, canonicalJson } from '../../../src/ledger/json.ts';
import type { BodyOf } from '../../../src/ledger/kinds.ts';
import { createProvider } from '../../../src/providers/index.ts';
import { type SimCall, type SimModel, type Simulator, startSimulator } from '../../../src/sim/index.ts';
import { defineTool } from '../../../src/tools/define.ts';
import { openConversation } from '../../support/conversation.ts';
import { memoryParts, type OneProcess, openProcess } from '../../support/one-process.ts';

const TURNS = 300;
/** A bound against hanging. */
const LIMIT_MS = 300_000;
/** So large that the share of it that is kept free governs, not the floor. */
const WINDOW_TOKENS = 112_000;
/** Large tokens keep the prompts, and the test, short. */
const TOKENS_PER_BYTE = 4;
/** From what an eviction leaves to where the next is due, as a part of the window. */
const GROWTH_SHARE = 0.35;
/** Every so many turns the user has a span taken out of the middle of the history. */
const ORDER_EVERY = 50;
/** Items of a turn: its prompt, its call, its answer. */
const TURN_ITEMS = 3;
const MODEL: SimModel = {
  name: 'evicting',
  window: WINDOW_TOKENS,
  horizon: WINDOW_TOKENS,
  tokensPerByte: TOKENS_PER_BYTE,
  maxOutputTokens: 512,
  prefillTokensPerSecond: 100_000_000,
  decodeTokensPerSecond: 1_000_000,
  quantisation: 'Q8',
  supportsImages: false,
};
const LEG = {
  name: MODEL.name,
  provider: 'openai' as const,
  model: MODEL.name,
  window: MODEL.window,
  maxOutputTokens: MODEL.maxOutputTokens,
  timeoutMs: 60_000,
};
const PLANKS = 'Plank after plank was caulked and oiled.\n'.repeat(12);
const TENANT = '01890000-0000-7000-8000-0000000000cd';

type Evicted = BodyOf<'evicted'>;

/** An answered request of the session, and what left since the one before it. */
interface Asked {
  readonly call: SimCall;
  readonly messages: readonly string[];
  readonly evicted: readonly Evicted[];
}

/** Each with the one before it. */
function pairs(asked: readonly Asked[]): readonly (readonly [Asked, Asked])[] {
  return asked.slice(1).map((one, at) => [asked[at] ?? one, one] as const);
}

describe('the prefix of a session that evicts', () => {
  let sim: Simulator;
  let asked: readonly Asked[] = [];
  let told = 0;
  /** The smallest prompt that a turn was planned to fill, in tokens. */
  let limitTokens = Number.POSITIVE_INFINITY;

  beforeAll(async () => {
    sim = await startSimulator({ seed: 7, models: [MODEL] });
    const leg = { ...LEG, baseUrl: `${sim.url}/v1` };
    const provider = createProvider(leg, () => undefined);
    let boat = 0;
    const survey = defineTool({
      name: 'survey',
      description: 'Looks at the next boat.',
      input: z.strictObject({}),
      effect: 'read',
      run: async () => `Boat ${boat} is called the Wigeon ${boat}.\n${PLANKS}`,
    });
    const process = openProcess({ ...memoryParts(), leg, provider, tools: [survey] });
    const { ref } = await openConversation(process.engine, TENANT, {
      leg: leg.name,
      policy: { name: 'evict', options: {} },
      tools: ['survey'],
    });
    for (let turn = 1; turn <= TURNS; turn++) {
      boat = turn;
      const view = await process.ask(ref, await directive(process, ref, turn));
      expect(view.closed?.outcome, `turn ${turn}`).toBe('completed');
      limitTokens = Math.min(limitTokens, view.plan?.limitTokens ?? 0);
    }
    expect(process.errors).toEqual([]);
    const calls = sim.calls().filter(({ sessionKey }) => sessionKey === ref.session);
    const sent = process.sent.filter(({ cache }) => cache?.key === ref.session);
    const between = await evictedBefore(process, ref);
    expect([calls.length, sent.length]).toEqual([between.length, between.length]);
    asked = calls.map((call, at) => ({
      call,
      messages: (sent[at]?.messages ?? []).map(canonicalJson),
      evicted: between[at] ?? [],
    }));
    for await (const { kind } of process.engine.store.records(ref)) if (kind === 'pressure-told') told += 1;
  }, LIMIT_MS);
  afterAll(() => sim.close());

  it('LIN-03 between evictions each request begins with every byte of the one before it', () => {
    const still = pairs(asked).filter(([, { evicted }]) => evicted.length === 0);
    expect(still.length).toBeGreaterThan(TURNS);
    const parted = still.filter(([before, { call }]) => call.sharedBytes < before.call.promptBytes);
    expect(parted.map(([, { call }]) => call)).toEqual([]);
    console.info(`${asked.length} requests, ${told} reminders`);
  });

  it('LIN-03 what stands before a cut keeps its bytes, and only what stands behind it is sent anew', () => {
    const cuts = pairs(asked).filter(([, { evicted }]) => evicted.length > 0);
    expect(cuts.length).toBeGreaterThan(TURNS / ORDER_EVERY);
    for (const [before, after] of cuts) {
      const [from] = after.evicted.map((span) => span.from).toSorted((one, other) => one - other);
      const at = after.messages.findIndex((message) => message.includes(`[evicted #${from}–`));
      expect(at).toBeGreaterThanOrEqual(0);
      expect(after.messages.slice(0, at)).toEqual(before.messages.slice(0, at));
      expect(after.call.sharedBytes).toBeLessThan(before.call.promptBytes);
      expect(after.call.sharedBytes).toBeGreaterThan(textBytes(after.messages.slice(0, at)));
    }
  });

  it('LIN-03 an eviction by the model in the middle of the history changes nothing before it', () => {
    const own = asked.filter(({ evicted }) => evicted.some(({ author }) => author === 'model'));
    expect(own).toHaveLength(Math.floor(TURNS / ORDER_EVERY));
    for (const { call, messages, evicted } of own) {
      const at = messages.findIndex((message) => message.includes(`[evicted #${evicted[0]?.from}–`));
      expect(at).toBeGreaterThan(messages.length / 3);
      expect(call.sharedBytes).toBeGreaterThan(call.promptBytes / 3);
    }
  });

  it('LIN-03 the survivor is sent anew at most once for each 35 % of the window that the history grew by', () => {
    const forced = asked.flatMap(({ evicted }, at) =>
      evicted.some(({ author }) => author === 'harness') ? [at] : [],
    );
    expect(forced.length).toBeGreaterThan(5);
    expect(limitTokens).toBeGreaterThan(WINDOW_TOKENS / 2);
    // A turn too heavy to be halved, or a model that takes something out, moves one of them: together they hold.
    const grown = pairs(asked).map(([before, { call }]) =>
      Math.max(0, call.promptTokens - before.call.promptTokens),
    );
    const grownTokens = grown.reduce((sum, tokens) => sum + tokens, 0);
    console.info(`${forced.length} evictions by force, ${grownTokens} tokens grown, of ${limitTokens}`);
    expect(forced.length).toBeLessThanOrEqual(1 + grownTokens / (GROWTH_SHARE * limitTokens));
    for (const [place, at] of forced.entries()) expect(at - (forced[place - 1] ?? -2)).toBeGreaterThan(1);
  });
});

async function directive(process: OneProcess, ref: SessionRef, turn: number): Promise<string> {
  if (turn % ORDER_EVERY !== 0) return `Call the survey tool and tell me what boat ${turn} is called.`;
  const next = (await process.engine.store.loadSession(ref, null))?.session.nextItem ?? 0;
  // The two turns before the newest: whole, and with most of the history before them.
  const to = next - TURN_ITEMS - 1;
  return `Call the context tool to evict #${to - 2 * TURN_ITEMS + 1} to #${to}, noting "boats before ${turn} are sound".`;
}

/** For each answered step of the session, in order, what left since the one before it. */
async function evictedBefore(
  { engine }: OneProcess,
  ref: SessionRef,
): Promise<readonly (readonly Evicted[])[]> {
  const steps: (readonly Evicted[])[] = [];
  let left: Evicted[] = [];
  for await (const { kind, body } of engine.store.records(ref)) {
    if (kind === 'evicted') left.push(JSON.parse(body ?? 'null') as Evicted);
    if (kind !== 'assistant-message') continue;
    steps.push(left);
    left = [];
  }
  return steps;
}

/** At least so many bytes of text are in messages. */
function textBytes(messages: readonly string[]): number {
  let bytes = 0;
  for (const message of messages)
    for (const block of (JSON.parse(message) as ChatMessage).content)
      if (block.type === 'text') bytes += byteLength(block.text);
  return bytes;
}
