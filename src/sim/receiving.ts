/** From bytes to a call that can be answered: parsed, sized against its model, cut where it is cut silently. */
import type { ServerResponse } from 'node:http';
import { hash } from 'blake3';
import { canonicalJson } from '../ledger/json.ts';
import type { SimModel } from './contract.ts';
import type { Desk, ServedModel } from './desk.ts';
import type { Breakpoint } from './prefix-cache.ts';
import { promptTokens, type Segment, type SimPrompt, segmentsOf, stableSegments } from './prompt.ts';
import { truncateToContext } from './truncation.ts';
import { asObject, asString, type Untyped } from './untyped.ts';
import { type Wire, WireRefusal, type WireRequest } from './wires/contract.ts';

export interface Exchange {
  readonly wire: Wire;
  readonly raw: Buffer;
  readonly response: ServerResponse;
  /** Fires when the client left or the simulator closes. */
  readonly gone: AbortSignal;
}

export interface Accepted {
  readonly request: WireRequest;
  readonly served: ServedModel;
  readonly prompt: SimPrompt;
  readonly segments: readonly Segment[];
  /** The request's, as they stand in `segments`. */
  readonly breakpoints: readonly Breakpoint[] | null;
}

export type Received = {
  readonly modelName: string;
  readonly requestDigest: string;
  readonly sessionKey: string | null;
  readonly tokens: number;
  readonly bytes: number;
} & (
  | { readonly refusal: WireRefusal; readonly accepted: null }
  | { readonly refusal: null; readonly accepted: Accepted }
);

/** Of a body that is no JSON nothing more is known. */
const UNREAD = { modelName: '', sessionKey: null, tokens: 0, bytes: 0 };

export function receive(desk: Desk, { wire, raw }: Exchange): Received {
  const body = parseBody(raw);
  if (body === null) {
    const refusal = wire.badRequest('The request body is not a JSON object. Send application/json.');
    const requestDigest = hash(raw).toString('hex');
    return { ...UNREAD, requestDigest, refusal, accepted: null };
  }
  const seen = {
    ...UNREAD,
    modelName: asString(body.model) ?? '',
    requestDigest: hash(canonicalJson(body)).toString('hex'),
    sessionKey: asString(body.prompt_cache_key) ?? asString(body.session_id),
  };
  try {
    return { ...seen, ...measure(desk, wire, wire.parse(body)) };
  } catch (error) {
    if (error instanceof WireRefusal) return { ...seen, refusal: error, accepted: null };
    throw error;
  }
}

function measure(desk: Desk, wire: Wire, request: WireRequest): Pick<Received, 'tokens' | 'bytes'> & Outcome {
  const served = desk.models.get(request.model);
  if (served === undefined) {
    const context = { model: request.model, retryAfterMs: null, atMs: 0 };
    return { tokens: 0, bytes: 0, refusal: wire.failure('unknown_model', context), accepted: null };
  }
  const { model } = served;
  const sent = weigh(request.prompt, model);
  const read = silentlyCut(sent, request, model);
  const refusal = wire.overLength(request, read.tokens, model) ?? refuseImages(wire, request, model);
  if (refusal !== null)
    return { tokens: read.tokens, bytes: bytesOf(read.segments), refusal, accepted: null };
  const kept = cutTo(read, Math.min(request.context?.tokens ?? model.window, model.window), model);
  const dropped = sent.segments.length - kept.segments.length;
  const breakpoints =
    request.breakpoints === null ? null : moveBack(request.breakpoints, dropped, kept.prompt);
  const { prompt, segments, tokens } = kept;
  const accepted = { request, served, prompt, segments, breakpoints };
  return { tokens, bytes: bytesOf(segments), refusal: null, accepted };
}

function bytesOf(segments: readonly Segment[]): number {
  return segments.at(-1)?.endBytes ?? 0;
}

interface Weighed {
  readonly prompt: SimPrompt;
  readonly segments: readonly Segment[];
  readonly tokens: number;
}

function weigh(prompt: SimPrompt, model: SimModel): Weighed {
  const segments = segmentsOf(prompt);
  return { prompt, segments, tokens: promptTokens(segments, model) };
}

function cutTo(weighed: Weighed, limitTokens: number, model: SimModel): Weighed {
  if (weighed.tokens <= limitTokens) return weighed;
  return weigh(truncateToContext(weighed.prompt, limitTokens, model), model);
}

/** A server that refuses nothing leaves room for the reply, too. */
function silentlyCut(weighed: Weighed, request: WireRequest, model: SimModel): Weighed {
  if (model.silentWindow === undefined) return weighed;
  const room = model.window - (request.maxTokens ?? 0);
  return cutTo(weighed, Math.min(model.silentWindow, Math.max(1, room)), model);
}

/** Tools and system stay whole: only marks behind them move, and those of what was dropped are gone. */
function moveBack(marks: readonly Breakpoint[], dropped: number, prompt: SimPrompt) {
  const stable = stableSegments(prompt);
  if (dropped === 0) return marks;
  return marks.flatMap((mark) => {
    if (mark.segment < stable) return [mark];
    const segment = mark.segment - dropped;
    return segment < stable ? [] : [{ ...mark, segment }];
  });
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

function parseBody(raw: Buffer): Untyped | null {
  try {
    return asObject(JSON.parse(raw.toString('utf8')));
  } catch {
    return null;
  }
}
