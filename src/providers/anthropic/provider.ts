/** Anthropic messages over the `@anthropic-ai/sdk` SDK. */
import Anthropic from '@anthropic-ai/sdk';
import type { ChatReply, ChatRequest } from '../../context/request.ts';
import type { CallOptions, CallOutcome, Leg, MetadataOutcome, ModelMetadata, Provider } from '../contract.ts';
import { type ExchangeSettings, exchange, type Wire } from '../exchange.ts';
import { MalformedReply } from '../malformed-reply.ts';
import { firstLimit, record } from '../reading.ts';
import { AnthropicReply } from './read.ts';
import { renderAnthropic } from './render.ts';
import { searchesTools } from './tool-search.ts';

const DEFAULT_BASE_URL = 'https://api.anthropic.com';
/** The SDK insists on a key; the headers made of it are removed for legs that have none. */
const NO_KEY = 'none';

type Settings = Omit<ExchangeSettings, 'watch'>;

export function anthropicProvider(leg: Leg, secret: string | undefined): Provider {
  const settings = { baseUrl: leg.baseUrl ?? DEFAULT_BASE_URL, secret, streamError };
  return {
    call: (request, options) => call(leg, settings, request, options),
    searchesTools: searchesTools(leg.model),
    // https://docs.claude.com/en/docs/build-with-claude/embeddings: there is no model of its own for them.
    embed: null,
    describe: (options) => describe(leg, settings, options),
  };
}

async function call(
  leg: Leg,
  settings: Settings,
  request: ChatRequest,
  options: CallOptions,
): Promise<CallOutcome> {
  const watch = { framing: 'sse' } as const;
  const outcome = await exchange(options, { ...settings, watch }, (wire) =>
    converse(leg, settings, request, wire),
  );
  return outcome.ok ? { ok: true, reply: outcome.value } : outcome;
}

async function converse(leg: Leg, settings: Settings, request: ChatRequest, wire: Wire): Promise<ChatReply> {
  const maxTokens = Math.min(request.maxTokens, leg.maxOutputTokens ?? request.maxTokens);
  const target = { model: leg.model, maxTokens, searchesTools: searchesTools(leg.model) };
  const body = renderAnthropic(request, target);
  const reply = new AnthropicReply(wire);
  for await (const event of await client(settings, wire).messages.create(body)) {
    if (reply.take(event)) return reply.finish(leg.model);
  }
  throw new MalformedReply('The stream ended before its terminal event.');
}

async function describe(
  leg: Leg,
  settings: Settings,
  options: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<MetadataOutcome> {
  const watch = { framing: 'document' } as const;
  const outcome = await exchange(options, { ...settings, watch }, async (wire) =>
    metadataOf(await client(settings, wire).models.retrieve(leg.model)),
  );
  return outcome.ok ? { ok: true, metadata: outcome.value } : outcome;
}

/** https://docs.claude.com/en/api/models: limits stand here for models that state them. */
function metadataOf(model: unknown): ModelMetadata {
  const fields = record(model);
  if (fields === null) throw new MalformedReply('The description of the model is not an object.');
  return {
    declaredWindow: firstLimit(fields, ['max_input_tokens']),
    maxOutputTokens: firstLimit(fields, ['max_tokens']),
    quantisation: null,
  };
}

/** Everything the SDK would read from the environment or a profile is stated; spans are our own tracer's. */
function client({ baseUrl, secret }: Settings, wire: Wire): Anthropic {
  return new Anthropic({
    baseURL: baseUrl,
    apiKey: secret ?? NO_KEY,
    maxRetries: 0,
    timeout: wire.sdkTimeoutMs,
    logLevel: 'off',
    openTelemetry: false,
    fetch: wire.fetch,
    ...(secret === undefined ? { defaultHeaders: { Authorization: null, 'X-Api-Key': null } } : {}),
  });
}

function streamError(error: unknown): unknown {
  return error instanceof Anthropic.APIError && error.error !== undefined ? error.error : undefined;
}
