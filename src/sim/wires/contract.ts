/** What one provider's wire must know: reading its requests, its refusals, and rendering a reply. */
import type { ChatMessage } from '../../context/request.ts';
import type { Json } from '../../ledger/json.ts';
import type { SimModel, SimWire } from '../contract.ts';
import type { SimReply } from '../mind/reply.ts';
import type { Breakpoint, CacheUse } from '../prefix-cache.ts';
import type { SimPrompt, ToolChoice } from '../prompt.ts';
import type { Untyped } from '../untyped.ts';
import type { ResponsesExchange } from './responses-items.ts';

export interface WireRequest {
  readonly model: string;
  readonly stream: boolean;
  readonly prompt: SimPrompt;
  /** Marked prefixes; null where the provider caches by itself. */
  readonly breakpoints: readonly Breakpoint[] | null;
  /** null when the caller set no limit. */
  readonly maxTokens: number | null;
  readonly toolChoice: ToolChoice;
  readonly parallelCalls: boolean;
  /** The caller asked to see thinking. */
  readonly thinking: boolean;
  /** OpenAI streams report usage only when asked. */
  readonly streamUsage: boolean;
  /**
   * Ollama: tokens of context the caller reserved, whether a longer prompt may be cut silently, and whether
   * a reply that fills the context goes on over what was forgotten.
   */
  readonly context: {
    readonly tokens: number;
    readonly mayTruncate: boolean;
    readonly mayShift: boolean;
  } | null;
  /** OpenAI's Responses: what the reply is told of its request, and what is kept of both. */
  readonly exchange: ResponsesExchange | null;
}

/** How the ids of a reply's calls come out: two alike, or empty, under a fault only. */
export type CallIds = 'unique' | 'duplicate' | 'missing';

export type Finish = 'stop' | 'tool_calls' | 'length';

/** A finished reply with everything a wire reports beside it. */
export interface Answer {
  /** Unique per call; call ids and message ids are made from it. */
  readonly id: string;
  readonly atMs: number;
  readonly model: SimModel;
  readonly request: WireRequest;
  readonly reply: SimReply;
  readonly finish: Finish;
  /** A fault: report a finish reason that no SDK lists. */
  readonly strangeFinish: boolean;
  readonly callIds: CallIds;
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly thinkingTokens: number;
  readonly cache: CacheUse;
}

/** One write of a stream; `tokens` paces it. */
export interface Frame {
  readonly text: string;
  readonly tokens: number;
}

export interface WireBody {
  readonly contentType: string;
  readonly frames: readonly Frame[];
}

export type FailureKind = 'rate_limit' | 'overloaded' | 'server_error' | 'auth' | 'unknown_model';

export interface FailureContext {
  readonly model: string;
  /** null: nothing is said of when to come back. */
  readonly retryAfterMs: number | null;
  readonly atMs: number;
}

export interface Wire {
  readonly name: SimWire;
  /** @throws WireRefusal with the provider's own body when the request breaks a rule of the wire. */
  parse(body: Untyped): WireRequest;
  failure(kind: FailureKind, context: FailureContext): WireRefusal;
  /** null when prompt and reply fit the model. */
  overLength(request: WireRequest, promptTokens: number, model: SimModel): WireRefusal | null;
  /** The same refusal without a cause, for the fault that pretends one. */
  pretendOverLength(request: WireRequest, promptTokens: number, model: SimModel): WireRefusal;
  badRequest(message: string): WireRefusal;
  render(answer: Answer): WireBody;
  /** A body this wire's client cannot parse. */
  garble(body: WireBody, stream: boolean): WireBody;
}

export class WireRefusal extends Error {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
  readonly headers: Readonly<Record<string, string>>;

  /** @param events sent in place of the body where the refusal comes inside a stream. */
  constructor(
    status: number,
    message: string,
    body: Json,
    headers: Readonly<Record<string, string>> = {},
    events: string | null = null,
  ) {
    super(message);
    this.name = 'WireRefusal';
    this.status = status;
    this.contentType = events === null ? 'application/json' : EVENT_STREAM;
    this.text = events ?? JSON.stringify(body);
    this.headers = headers;
  }
}

/** Finish reason of the `unknown_finish` fault, on every wire. */
export const STRANGE_FINISH = 'simulated_unlisted_reason';

export const EVENT_STREAM = 'text/event-stream; charset=utf-8';

/** Bytes of text in one delta: about a phrase, so that a short answer takes several. */
const PIECE_BYTES = 24;

/** Cuts a text into deltas, none of which splits a code point. */
export function pieces(text: string): readonly string[] {
  const found: string[] = [];
  let piece = '';
  for (const part of text.match(/\s*\S+|\s+/gu) ?? []) {
    if (piece !== '' && piece.length + part.length > PIECE_BYTES) {
      found.push(piece);
      piece = '';
    }
    piece += part;
  }
  if (piece !== '') found.push(piece);
  return found;
}

/**
 * One id for each call of a reply. Providers have sent two alike, https://github.com/langchain-ai/langchainjs/pull/10170,
 * and empty ones, https://github.com/camel-ai/camel/issues/3027.
 */
export function callIdsOf(answer: Answer, prefix: string): readonly string[] {
  const { calls } = answer.reply;
  const unique = (index: number) => `${prefix}${answer.id}${index}`;
  if (answer.callIds === 'missing') return calls.map(() => '');
  if (answer.callIds === 'unique') return calls.map((_, index) => unique(index));
  if (calls.length === 1) return [lastCallId(answer.request.prompt) ?? 'call_0'];
  return calls.map((_, index) => unique(Math.max(0, index - 1)));
}

function lastCallId(prompt: SimPrompt): string | null {
  const blocks = prompt.messages.flatMap(
    (message): readonly ChatMessage['content'][number][] => message.content,
  );
  return blocks.findLast((block) => block.type === 'tool_call')?.id ?? null;
}

/** null where the model's usage hides what its cache did. */
export function reportedCache({ model, cache }: Answer): CacheUse | null {
  return model.reportsCache === false ? null : cache;
}

/** A model's arguments as data; null when the text is no JSON. */
export function parseArguments(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return null;
  }
}

/** A later system message, kept in its place; the tag tells the mind that no person wrote it. */
export function systemNote(text: string): string {
  return `<system>${text}</system>`;
}

/** An unfinished JSON text: what a reader gets of a body that broke. */
export function halfOf(text: string): string {
  return text.slice(0, Math.ceil(text.length / 2));
}
