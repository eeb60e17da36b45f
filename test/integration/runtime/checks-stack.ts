/** A whole stack with models that have one fault each, and all that a turn left behind of its checks. */
import { expect } from 'vitest';
import { z } from 'zod';
import type { ChatRequest } from '../../../src/context/request.ts';
import type { SessionRef } from '../../../src/db/contract.ts';
import { visibleText } from '../../../src/ledger/view.ts';
import { MACHINES } from '../../../src/machines/registry.ts';
import { rebuildSession } from '../../../src/runtime/rebuild.ts';
import { RequestBuilder } from '../../../src/runtime/request.ts';
import { rebuildSent } from '../../../src/runtime/sent-request.ts';
import { SessionConfigs } from '../../../src/runtime/sessions.ts';
import { verifySession } from '../../../src/runtime/verify-session.ts';
import { SIM_HABITS, type SimHabit, type SimModel } from '../../../src/sim/contract.ts';
import type { Tool } from '../../../src/tools/contract.ts';
import { defineTool } from '../../../src/tools/define.ts';
import { until } from '../../support/await.ts';
import { openTestStack, type TestStack, type TestWorker } from '../../support/stack.ts';
import type { Data, TurnEnd } from '../../support/stack-contract.ts';

/** It makes no fault. */
export const SOUND: SimModel = {
  name: 'sound',
  window: 131_072,
  horizon: 120_000,
  tokensPerByte: 0.25,
  maxOutputTokens: 8_192,
  prefillTokensPerSecond: 8_000,
  decodeTokensPerSecond: 120,
  quantisation: 'F16',
  supportsImages: false,
};

/** `slips-…` does the right thing once it is told, `stubborn-…` never. */
export const FAULTY: readonly SimModel[] = SIM_HABITS.flatMap((habit) => [
  { ...SOUND, name: slips(habit), habits: { [habit]: 1 } },
  { ...SOUND, name: stubborn(habit), habits: { [habit]: 1, stubbornness: 1 } },
]);

export function slips(habit: SimHabit): string {
  return `slips-${habit}`;
}

export function stubborn(habit: SimHabit): string {
  return `stubborn-${habit}`;
}

/** The world outside: what a look-up finds of zinc changes when a test says so. */
export interface Market {
  price: number;
  readonly tool: Tool;
}

export const SOURCE = 'https://metals.tarvo.example/zinc';
const FOG = 'The fog at Melrin is 88 yards deep, say the keepers.';

export function market(name = 'look_up'): Market {
  const opened: Market = {
    price: 4127,
    tool: defineTool({
      name,
      description: 'Searches the web and returns what it says now.',
      input: z.strictObject({ query: z.string() }),
      serves: ['web', 'live-data'],
      effect: 'read',
      run: async ({ query }) =>
        /fog|melrin/iu.test(query)
          ? FOG
          : `The zinc price at Tarvo is ${opened.price} marks, says ${SOURCE} today.`,
    }),
  };
  return opened;
}

export const writeNote = defineTool({
  name: 'write_note',
  description: 'Writes a note into the records.',
  input: z.strictObject({ subject: z.string(), body: z.string() }),
  serves: ['documents'],
  effect: 'once',
  run: async () => 'Stored.',
});

/** What a turn left behind. */
export interface Seen extends TurnEnd {
  readonly turn: string;
  readonly fired: readonly Data[];
  readonly nudges: readonly Data[];
  readonly statements: readonly Data[];
  readonly results: readonly Data[];
  readonly cards: readonly Data[];
  readonly feedback: readonly Data[];
  /** Texts of the model's replies, by step: whether they stood or not. */
  readonly said: readonly string[];
  /** When the turn began, as its requests say. */
  readonly utc: string;
  /** By step, made again of the records and equal to the bytes that were sent. */
  readonly requests: readonly ChatRequest[];
}

export interface ChecksStack {
  readonly stack: TestStack;
  /** The one process that runs turns. */
  readonly worker: TestWorker;
  session(model: string, tools: readonly string[] | null): Promise<SessionRef>;
  ask(session: SessionRef, text: string): Promise<Seen>;
  /** Asks in a session of its own, whose first turns are `before`; then holds the ledger to its laws. */
  see(model: string, tools: readonly string[], directives: readonly string[]): Promise<Seen>;
  /** The chain holds, and the tables are those that the records give. */
  isSound(session: SessionRef): Promise<void>;
  close(): Promise<void>;
}

export async function openChecks(
  tools: readonly Tool[],
  files: Readonly<Record<string, string>> = {},
  models: readonly SimModel[] = [SOUND, ...FAULTY],
): Promise<ChecksStack> {
  const stack = await openTestStack({ backend: 'postgres', models, tools, files });
  const worker = await stack.worker();
  const opened: ChecksStack = {
    stack,
    worker,
    session: (model, names) => stack.session({ model, tools: names }),
    ask: (session, text) => ask(stack, session, text),
    see: async (model, names, directives) => {
      const session = await opened.session(model, names);
      const seen: Seen[] = [];
      for (const directive of directives) seen.push(await opened.ask(session, directive));
      await opened.isSound(session);
      const last = seen.at(-1);
      if (last === undefined) throw new Error('nothing was asked');
      return last;
    },
    isSound: (session) => isSound(stack, session),
    close: () => stack.close(),
  };
  return opened;
}

/** The last text of a request that the model must answer to: a nudge, or the results of its calls. */
export function lastOf(request: ChatRequest | undefined): string {
  const blocks = request?.messages.at(-1)?.content ?? [];
  return blocks
    .map((block) => (block.type === 'text' ? block.text : block.type === 'tool_result' ? block.content : ''))
    .join('\n');
}

/** Everything a request says, in one text. */
export function wholeOf(request: ChatRequest | undefined): string {
  return JSON.stringify(request ?? null);
}

export function times(text: string, part: string): number {
  return text.split(part).length - 1;
}

async function ask(stack: TestStack, session: SessionRef, text: string): Promise<Seen> {
  const end = await stack.ask(session, text);
  const records = await stack.records(session, end.turn);
  const of = (kind: string): readonly Data[] =>
    records.filter((record) => record.kind === kind).map(({ data }) => data);
  const steps = of('work-receipt').filter(({ purpose }) => purpose === 'step');
  const requests = await sentBy(stack, session, end.turn, steps);
  return {
    ...end,
    fired: of('check-fired'),
    nudges: of('nudge'),
    statements: of('statement'),
    results: of('tool-result'),
    cards: of('presentation'),
    feedback: of('capacity-feedback'),
    said: of('assistant-message').map(({ content }) => visibleText(content as never)),
    utc: /UTC: (\S+?)\\n/u.exec(wholeOf(requests.at(0)))?.[1] ?? '',
    requests,
  };
}

/** By a process that sent none of them. */
async function sentBy(
  stack: TestStack,
  session: SessionRef,
  turn: string,
  steps: readonly Data[],
): Promise<readonly ChatRequest[]> {
  const { store, planning, turns } = stack.producer;
  const deps = { store, requests: new RequestBuilder(planning, turns), configs: new SessionConfigs(store) };
  const head = (await store.loadSession(session, null))?.session.liveHead ?? '';
  const made: ChatRequest[] = [];
  for (const { step } of steps) {
    const sent = await rebuildSent(deps, session, { turn, head }, Number(step));
    expect(sent, `step ${String(step)}`).toMatchObject({ same: true, notice: null });
    if (sent?.rebuilt != null) made.push(sent.rebuilt.request);
  }
  expect(made).toHaveLength(steps.length);
  return made;
}

async function isSound(stack: TestStack, session: SessionRef): Promise<void> {
  const { store, upkeep } = stack.producer;
  await until('nothing of the session runs', async () =>
    (await store.sessionState(session))?.actors.every(({ status }) => status === 'done'),
  );
  const verified = await verifySession({ store, registry: MACHINES }, session);
  expect(verified).toMatchObject({ chain: { ok: true }, broken: null });
  const rebuilt = await rebuildSession({ store, upkeep, registry: MACHINES }, session);
  expect(rebuilt).toEqual({ differences: [], restored: false });
}
