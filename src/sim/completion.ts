/**
 * One completion call, from bytes to bytes, in named stages: receive, log, fault, refuse, think, send.
 * Everything up to the first byte sent runs in one piece, so calls are numbered and cached in order of arrival.
 */
import { hash as shortHash } from 'node:crypto';
import type { Fault, SimModel, SimOutcome } from './contract.ts';
import type { Desk } from './desk.ts';
import { think } from './mind/mind.ts';
import type { SimReply } from './mind/reply.ts';
import { SIM_HEADERS } from './models.ts';
import type { CacheUse } from './prefix-cache.ts';
import type { SimPrompt } from './prompt.ts';
import { draw } from './random.ts';
import { type Accepted, type Exchange, receive } from './receiving.ts';
import { type Call, endCall, failByFault, refuse } from './refusing.ts';
import { breakArguments, fitReply, THINKING_ONLY } from './shape.ts';
import { pause, transmit } from './transmit.ts';
import type { Answer, CallIds, WireRequest } from './wires/contract.ts';

const MS_PER_SECOND = 1_000;
const NO_CACHE: CacheUse = { readTokens: 0, writtenShortTokens: 0, writtenLongTokens: 0 };

export async function complete(desk: Desk, exchange: Exchange): Promise<void> {
  const { wire } = exchange;
  const atMs = desk.clock();
  const received = receive(desk, exchange);
  const { modelName, requestDigest, sessionKey, tokens, bytes, accepted } = received;
  const series = [wire.name, modelName, sessionKey].join('\u0000');
  const n = desk.log.open({
    at: atMs,
    wire: wire.name,
    model: modelName,
    promptTokens: tokens,
    cachedTokens: 0,
    sessionKey,
    promptBytes: bytes,
    sharedBytes: accepted === null ? 0 : desk.prefixes.sharedBytes(series, accepted.segments),
    requestDigest,
  });
  const call: Call = { desk, exchange, n, atMs, received };
  const fault = desk.faults.pick({ n, wire: wire.name, model: modelName });
  if (fault !== null && (await failByFault(call, fault))) return;
  if (received.refusal !== null) return refuse(call, received.refusal, 'rejected');
  desk.prefixes.add(series, received.accepted.segments);
  await answer(call, received.accepted, fault);
}

async function answer(call: Call, accepted: Accepted, fault: Fault | null): Promise<void> {
  const { desk, exchange } = call;
  const { served, request } = accepted;
  const made = compose(call, accepted, fault);
  const rendered = exchange.wire.render(made);
  const body = fault?.name === 'bad_json' ? exchange.wire.garble(rendered, request.stream) : rendered;
  const outcome: SimOutcome = fault === null ? 'answered' : `fault:${fault.name}`;
  const cachedTokens = made.cache.readTokens;
  const freshTokens = made.promptTokens - cachedTokens;
  const prefillMs = desk.paced ? (freshTokens / served.model.prefillTokensPerSecond) * MS_PER_SECOND : 0;
  if (fault?.name === 'slow' && !(await pause(fault.delayMs, exchange.gone))) {
    return endCall(call, 'aborted', null, 0, cachedTokens);
  }
  const sent = await transmit({
    response: exchange.response,
    body,
    headers: SIM_HEADERS,
    leadMs: prefillMs,
    msPerToken: desk.paced ? MS_PER_SECOND / served.model.decodeTokensPerSecond : 0,
    cutAfterBytes: fault?.name === 'cut_stream' ? fault.afterBytes : null,
    gone: exchange.gone,
    onComplete: () => endCall(call, outcome, 200, made.outputTokens, cachedTokens),
  });
  if (!sent) endCall(call, 'aborted', exchange.response.headersSent ? 200 : null, 0, cachedTokens);
}

function compose(call: Call, accepted: Accepted, fault: Fault | null): Answer {
  const { desk, received } = call;
  const { request, served, prompt, segments, breakpoints } = accepted;
  const { model } = served;
  const cache =
    prompt.messages.length === 0
      ? NO_CACHE
      : breakpoints === null
        ? served.caches[call.exchange.wire.name].implicit(segments, call.atMs)
        : served.caches[call.exchange.wire.name].explicit(segments, breakpoints, call.atMs);
  const thought: SimReply =
    fault?.name === 'empty'
      ? THINKING_ONLY
      : think({
          prompt: withFindable(prompt),
          key: received.requestDigest,
          seed: desk.seed,
          beyondHorizon: ignoresInstructions(call, model),
          toolChoice: request.toolChoice,
          parallelCalls: request.parallelCalls,
          thinksAloud: request.thinking,
          habits: model.habits ?? {},
        });
  const shaped = fault?.name === 'malformed_tool_args' ? breakArguments(thought, prompt.tools) : thought;
  const fitted = fitReply(shaped, replyLimit(request, received.tokens, model), model);
  return {
    id: shortHash('sha256', `${desk.seed}\u0000${call.n}\u0000${received.requestDigest}`, 'hex').slice(0, 24),
    atMs: call.atMs,
    model,
    request,
    strangeFinish: fault?.name === 'unknown_finish',
    callIds: callIdsUnder(fault),
    promptTokens: received.tokens,
    cache,
    ...fitted,
  };
}

/** What a search would find is as good as offered: where it was not found yet, the wire shows the search. */
function withFindable(prompt: SimPrompt): SimPrompt {
  return { ...prompt, tools: [...prompt.tools, ...(prompt.search?.deferred ?? [])] };
}

/** A flip turns the horizon's verdict round for this call alone. */
function ignoresInstructions({ desk, n, received }: Call, model: SimModel): boolean {
  const beyond = received.tokens > model.horizon;
  return draw(desk.seed, 'flip', n) < (model.flipRate ?? 0) ? !beyond : beyond;
}

function callIdsUnder(fault: Fault | null): CallIds {
  if (fault?.name === 'duplicate_call_ids') return 'duplicate';
  return fault?.name === 'missing_call_ids' ? 'missing' : 'unique';
}

function replyLimit(request: WireRequest, tokens: number, model: SimModel): number {
  const limit = Math.min(request.maxTokens ?? model.maxOutputTokens, model.maxOutputTokens);
  if (request.context === null || request.context.mayShift) return limit;
  return Math.max(1, Math.min(limit, Math.min(request.context.tokens, model.window) - tokens));
}
