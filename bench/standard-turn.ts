/** The standard turn: one directive, three model steps, two of them call a tool with a 2 KB result, an answer of 500 characters. */
import { z } from 'zod';
import type { Services } from '../src/app/services.ts';
import type { ChatReply, ChatRequest } from '../src/context/request.ts';
import type { SessionRef } from '../src/db/contract.ts';
import type { BodyOf } from '../src/ledger/kinds.ts';
import type { Provider } from '../src/providers/contract.ts';
import { POOLS } from '../src/queues/contract.ts';
import { acceptTurn } from '../src/runtime/accept.ts';
import { createSession } from '../src/runtime/sessions.ts';
import { defineTool } from '../src/tools/define.ts';
import type { Closings } from './closings.ts';
import { ANSWER_CHARS, DIRECTIVE, RESULT_CHARS, TOOL_STEPS, text } from './content.ts';
import { INSTANT_LEG, TURN_LIMIT_MS } from './settings.ts';

/** A turn that needs no second reading never uses it: it is left to the floor's queue trips. */
export const FLOOR_POOL = 'intent';
export const MEASURED_POOLS = POOLS.filter((pool) => pool !== FLOOR_POOL);

const STEP_BUDGET = 40;
/** As billed by the instant model, near what a real tokenizer makes of English. */
const TOKENS_PER_CHAR = 0.25;
const OUTPUT_TOKENS = 50;

export const lookup = defineTool({
  name: 'lookup',
  description: 'Looks one part up.',
  input: z.object({ part: z.number() }),
  effect: 'read',
  run: () => Promise.resolve(text(RESULT_CHARS)),
});

/** What drives standard turns, wherever the workers are. */
export interface TurnDriver {
  session(): Promise<SessionRef>;
  /** Resolves with the milliseconds from acceptance to the closing commit; rejects unless it completed. */
  turn(session: SessionRef): Promise<number>;
}

/** Looks the first turn over: a turn cut short would be fast. */
export function turnDriver(services: Services, closings: Closings): TurnDriver {
  let checked = false;
  return {
    session: () => openSession(services),
    turn: async (session) => {
      const turn = services.newId();
      const closed = closings.of(turn);
      const startedMs = performance.now();
      await acceptTurn(services.engine, session, {
        turn,
        input: [{ type: 'text', text: DIRECTIVE }],
        mode: 'enqueue',
        priority: 0,
        idempotencyKey: null,
        limits: { stepBudget: STEP_BUDGET, deadlineMs: TURN_LIMIT_MS, escalate: false },
      });
      const outcome = await closed;
      const tookMs = performance.now() - startedMs;
      if (outcome !== 'completed') throw new Error(`a standard turn ended ${outcome}`);
      if (!checked) await checkWhole(services, session, turn);
      checked = true;
      return tookMs;
    },
  };
}

async function checkWhole({ store }: Services, session: SessionRef, turn: string): Promise<void> {
  const records = await store.turnRecords(session, turn);
  const steps = records.filter(({ kind }) => kind === 'assistant-message').length;
  const results = records
    .filter(({ kind }) => kind === 'tool-result')
    .map(({ body }) => JSON.parse(body) as BodyOf<'tool-result'>);
  const good = results.filter(({ status, content }) => status === 'ok' && content.length === RESULT_CHARS);
  if (steps !== TOOL_STEPS + 1 || good.length !== TOOL_STEPS)
    throw new Error(
      `a standard turn took ${steps} steps and ${good.length} of its ${results.length} results are whole`,
    );
}

async function openSession(services: Services): Promise<SessionRef> {
  const ref = { tenant: services.newId(), session: services.newId() };
  await createSession(services.engine, ref, services.newId(), {
    leg: INSTANT_LEG,
    policy: { name: 'plan', options: {} },
    tools: [lookup.name],
    system: '',
    metadata: {},
  });
  return ref;
}

/** Calls the tool twice, then answers; takes no time of its own. */
export function instantModel(tool: string): Provider {
  return {
    searchesTools: false,
    embed: null,
    call: (request) => Promise.resolve({ ok: true, reply: replyTo(request, tool) }),
    describe: () =>
      Promise.resolve({
        ok: true,
        metadata: { declaredWindow: null, maxOutputTokens: null, quantisation: null },
      }),
  };
}

function replyTo(request: ChatRequest, tool: string): ChatReply {
  const step = stepsSoFar(request);
  const inputTokens = Math.ceil(charsOf(request) * TOKENS_PER_CHAR);
  const usage = { inputTokens, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: OUTPUT_TOKENS };
  const common = { usage, model: INSTANT_LEG, firstTokenMs: 0, totalMs: 0 };
  if (step < TOOL_STEPS) {
    const call = { type: 'tool_call', id: `c${step}`, name: tool, args: { part: step } } as const;
    return { ...common, content: [call], finish: 'tool_calls' };
  }
  return { ...common, content: [{ type: 'text', text: text(ANSWER_CHARS) }], finish: 'stop' };
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

/** Sums lengths only: reading a long request anew at every step would be measured as the engine's work. */
function charsOf({ system, messages }: ChatRequest): number {
  let chars = system.length;
  for (const { content } of messages)
    for (const block of content) {
      if (block.type === 'text') chars += block.text.length;
      else if (block.type === 'tool_result') chars += block.content.length;
    }
  return chars;
}
