/**
 * One completion call, from bytes to bytes, in named stages: receive, log, fault, refuse, think, send.
 * Everything up to the first byte sent runs in one piece, so calls are numbered and cached in order of arrival.
 */
import { hash as shortHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { hash } from 'blake3';
import { canonicalJson } from '../ledger/json.ts';
import type { CallLog } from './call-log.ts';
import type { Fault, SimModel, SimOutcome, SimWire } from './contract.ts';
import type { FaultPlan } from './faults.ts';
import { think } from './mind/mind.ts';
import type { SimReply } from './mind/reply.ts';
import { SIM_HEADERS } from './models.ts';
import type { CacheUse, PrefixCache } from './prefix-cache.ts';
import { promptTokens, type Segment, type SimPrompt, segmentsOf } from './prompt.ts';
import { breakArguments, fitReply, THINKING_ONLY } from './shape.ts';
import { pause, transmit } from './transmit.ts';
import { asObject, asString, type Untyped } from './untyped.ts';
import { type Answer, type Wire, WireRefusal, type WireRequest } from './wires/contract.ts';
import { truncateToContext } from './wires/ollama-request.ts';

const MS_PER_SECOND = 1_000;
const NO_CACHE: CacheUse = { readTokens: 0, writtenShortTokens: 0, writtenLongTokens: 0 };

export interface ServedModel {
  readonly model: SimModel;
  /** One a wire: each stands for a provider of its own. */
  readonly caches: Readonly<Record<SimWire, PrefixCache>>;
}

export interface Desk {
  readonly seed: number;
  readonly paced: boolean;
  readonly clock: () => number;
  readonly models: ReadonlyMap<string, ServedModel>;
  readonly faults: FaultPlan;
  readonly log: CallLog;
}

export interface Exchange {
  readonly wire: Wire;
  readonly raw: Buffer;
  readonly response: ServerResponse;
  /** Fires when the client left or the simulator closes. */
  readonly gone: AbortSignal;
}

export async function complete(desk: Desk, exchange: Exchange): Promise<void> {
  const { wire } = exchange;
  const atMs = desk.clock();
  const received = receive(desk, exchange);
  const { modelName, requestDigest, tokens } = received;
  const n = desk.log.open({
    at: atMs,
    wire: wire.name,
    model: modelName,
    promptTokens: tokens,
    cachedTokens: 0,
    requestDigest,
  });
  const call: Call = { desk, exchange, n, atMs, received };
  const fault = desk.faults.pick({ n, wire: wire.name, model: modelName });
  if (fault !== null && (await failByFault(call, fault))) return;
  if (received.refusal !== null) return refuse(call, received.refusal, 'rejected');
  await answer(call, received.accepted, fault);
}

interface Accepted {
  readonly request: WireRequest;
  readonly served: ServedModel;
  readonly prompt: SimPrompt;
  readonly segments: readonly Segment[];
}

type Received = {
  readonly modelName: string;
  readonly requestDigest: string;
  readonly tokens: number;
} & (
  | { readonly refusal: WireRefusal; readonly accepted: null }
  | { readonly refusal: null; readonly accepted: Accepted }
);

interface Call {
  readonly desk: Desk;
  readonly exchange: Exchange;
  readonly n: number;
  readonly atMs: number;
  readonly received: Received;
}

function receive(desk: Desk, { wire, raw }: Exchange): Received {
  const body = parseBody(raw);
  if (body === null) {
    const refusal = wire.badRequest('The request body is not a JSON object. Send application/json.');
    return { modelName: '', requestDigest: hash(raw).toString('hex'), tokens: 0, refusal, accepted: null };
  }
  const seen = {
    modelName: asString(body.model) ?? '',
    requestDigest: hash(canonicalJson(body)).toString('hex'),
    tokens: 0,
  };
  try {
    return { ...seen, ...measure(desk, wire, wire.parse(body)) };
  } catch (error) {
    if (error instanceof WireRefusal) return { ...seen, refusal: error, accepted: null };
    throw error;
  }
}

function measure(
  desk: Desk,
  wire: Wire,
  request: WireRequest,
): Omit<Received, 'modelName' | 'requestDigest'> & Outcome {
  const served = desk.models.get(request.model);
  if (served === undefined) {
    const context = { model: request.model, retryAfterMs: 0, atMs: 0 };
    return { tokens: 0, refusal: wire.failure('unknown_model', context), accepted: null };
  }
  const { model } = served;
  let prompt = request.prompt;
  let segments = segmentsOf(prompt);
  let tokens = promptTokens(segments, model);
  const refusal = wire.overLength(request, tokens, model) ?? refuseImages(wire, request, model);
  if (refusal !== null) return { tokens, refusal, accepted: null };
  const contextTokens = Math.min(request.context?.tokens ?? model.window, model.window);
  if (tokens > contextTokens) {
    prompt = truncateToContext(prompt, contextTokens, model);
    segments = segmentsOf(prompt);
    tokens = promptTokens(segments, model);
  }
  return { tokens, refusal: null, accepted: { request, served, prompt, segments } };
}

type Outcome =
  | { readonly refusal: WireRefusal; readonly accepted: null }
  | { readonly refusal: null; readonly accepted: Accepted };

function refuseImages(wire: Wire, request: WireRequest, model: SimModel): WireRefusal | null {
  if (model.supportsImages) return null;
  const blocks = request.prompt.messages.flatMap((message): readonly { type: string }[] => message.content);
  if (!blocks.some((block) => block.type === 'image')) return null;
  return wire.badRequest(`The model ${model.name} does not support image input.`);
}

/** true when the fault ended the call; the others shape the answer. */
async function failByFault(call: Call, fault: Fault): Promise<boolean> {
  const { wire, response, gone } = call.exchange;
  const outcome: SimOutcome = `fault:${fault.name}`;
  switch (fault.name) {
    case 'rate_limit':
    case 'overloaded':
    case 'server_error':
    case 'auth': {
      const retryAfterMs = fault.name === 'rate_limit' ? fault.retryAfterMs : 0;
      const context = { model: call.received.modelName, retryAfterMs, atMs: call.atMs };
      refuse(call, wire.failure(fault.name, context), outcome);
      return true;
    }
    case 'over_length': {
      const model = call.received.accepted?.served.model;
      if (model === undefined) return false;
      refuse(call, wire.pretendOverLength(call.received.tokens, model), outcome);
      return true;
    }
    case 'drop_connection':
      endCall(call, outcome, null, 0, 0);
      response.destroy();
      return true;
    case 'hang':
      await new Promise<void>((resolve) => {
        if (gone.aborted) resolve();
        else gone.addEventListener('abort', () => resolve(), { once: true });
      });
      endCall(call, outcome, null, 0, 0);
      return true;
    default:
      return false;
  }
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
  const { request, served, prompt, segments } = accepted;
  const { model } = served;
  const cache =
    prompt.messages.length === 0
      ? NO_CACHE
      : request.breakpoints === null
        ? served.caches[call.exchange.wire.name].implicit(segments, call.atMs)
        : served.caches[call.exchange.wire.name].explicit(segments, request.breakpoints, call.atMs);
  const thought: SimReply =
    fault?.name === 'empty'
      ? THINKING_ONLY
      : think({
          prompt,
          key: received.requestDigest,
          seed: desk.seed,
          beyondHorizon: received.tokens > model.horizon,
          toolChoice: request.toolChoice,
          parallelCalls: request.parallelCalls,
          thinksAloud: request.thinking,
          thinkingOnlyRate: model.thinkingOnlyRate ?? 0,
          driftRate: model.driftRate ?? 0,
        });
  const shaped = fault?.name === 'malformed_tool_args' ? breakArguments(thought, prompt.tools) : thought;
  const fitted = fitReply(shaped, replyLimit(request, received.tokens, model), model);
  return {
    id: shortHash('sha256', `${desk.seed}\u0000${call.n}\u0000${received.requestDigest}`, 'hex').slice(0, 24),
    atMs: call.atMs,
    model,
    request,
    strangeFinish: fault?.name === 'unknown_finish',
    promptTokens: received.tokens,
    cache,
    ...fitted,
  };
}

function replyLimit(request: WireRequest, tokens: number, model: SimModel): number {
  const limit = Math.min(request.maxTokens ?? model.maxOutputTokens, model.maxOutputTokens);
  if (request.context === null || request.context.mayShift) return limit;
  return Math.max(1, Math.min(limit, Math.min(request.context.tokens, model.window) - tokens));
}

function refuse(call: Call, refusal: WireRefusal, outcome: SimOutcome): void {
  endCall(call, outcome, refusal.status, 0, 0);
  call.exchange.response.writeHead(refusal.status, {
    ...SIM_HEADERS,
    ...refusal.headers,
    'content-type': 'application/json',
  });
  call.exchange.response.end(JSON.stringify(refusal.body));
}

function endCall(
  call: Call,
  outcome: SimOutcome,
  status: number | null,
  outputTokens: number,
  cachedTokens: number,
): void {
  call.desk.log.end(call.n, { outcome, status, outputTokens, cachedTokens });
}

function parseBody(raw: Buffer): Untyped | null {
  try {
    return asObject(JSON.parse(raw.toString('utf8')));
  } catch {
    return null;
  }
}
