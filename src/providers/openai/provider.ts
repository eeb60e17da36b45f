/** OpenAI chat completions, and every server that speaks them, over the `openai` SDK. */
import OpenAI from 'openai';
import type { ChatRequest } from '../../context/request.ts';
import type { CallOptions, CallOutcome, Leg, MetadataOutcome, ModelMetadata, Provider } from '../contract.ts';
import { type ExchangeSettings, exchange, type Wire } from '../exchange.ts';
import { MalformedReply } from '../malformed-reply.ts';
import { firstLimit, record, text } from '../reading.ts';
import { DoneWatch, OpenAiReply } from './read.ts';
import { renderOpenAi } from './render.ts';

const DEFAULT_BASE_URL = 'https://api.openai.com/v1';
/** The SDK insists on a key; the header made of it is removed for legs that have none. */
const NO_KEY = 'none';

/** OpenAI states no limits here; servers beside it do, each under its own name. */
const WINDOW_FIELDS = [
  'context_window', // https://console.groq.com/docs/api-reference#models
  'max_model_len', // https://docs.vllm.ai/en/stable/serving/openai_compatible_server
  'max_context_length', // https://docs.mistral.ai/api/endpoint/models
  'context_length', // https://openrouter.ai/docs/api-reference/models/get-models
] as const;
const OUTPUT_FIELDS = ['max_completion_tokens', 'max_output_tokens'] as const;

export function openAiProvider(leg: Leg, secret: string | undefined): Provider {
  const baseUrl = leg.baseUrl ?? DEFAULT_BASE_URL;
  const settings = { baseUrl, secret, streamError };
  return {
    call: (request, options) => call(leg, settings, request, options),
    describe: (options) => describe(leg, settings, options),
  };
}

type Settings = Omit<ExchangeSettings, 'watch'>;

async function call(
  leg: Leg,
  settings: Settings,
  request: ChatRequest,
  options: CallOptions,
): Promise<CallOutcome> {
  const watch = new DoneWatch();
  const outcome = await exchange(options, { ...settings, watch }, async (wire) => {
    const maxTokens = Math.min(request.maxTokens, leg.maxOutputTokens ?? request.maxTokens);
    const body = renderOpenAi(request, { model: leg.model, baseUrl: settings.baseUrl, maxTokens });
    const reply = new OpenAiReply(wire);
    for await (const chunk of await client(settings, wire).chat.completions.create(body)) reply.take(chunk);
    return reply.finish(watch.done, leg.model);
  });
  return outcome.ok ? { ok: true, reply: outcome.value } : outcome;
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

function metadataOf(model: unknown): ModelMetadata {
  const fields = record(model);
  if (fields === null) throw new MalformedReply('The description of the model is not an object.');
  return {
    declaredWindow: firstLimit(fields, WINDOW_FIELDS) ?? firstLimit(fields.meta, ['n_ctx', 'n_ctx_train']),
    maxOutputTokens: firstLimit(fields, OUTPUT_FIELDS) ?? firstLimit(fields.top_provider, OUTPUT_FIELDS),
    quantisation: text(fields.quantization),
  };
}

/** Everything the SDK would read from the environment is stated: a leg uses the key it names, or none. */
function client({ baseUrl, secret }: Settings, wire: Wire): OpenAI {
  return new OpenAI({
    baseURL: baseUrl,
    apiKey: secret ?? NO_KEY,
    adminAPIKey: null,
    organization: null,
    project: null,
    maxRetries: 0,
    timeout: wire.sdkTimeoutMs,
    logLevel: 'off',
    fetch: wire.fetch,
    ...(secret === undefined ? { defaultHeaders: { Authorization: null } } : {}),
  });
}

function streamError(error: unknown): unknown {
  return error instanceof OpenAI.APIError && error.error !== undefined ? { error: error.error } : undefined;
}
