/** Ollama's native chat over the `ollama` SDK. */
import { Ollama } from 'ollama';
import type { ChatReply, ChatRequest } from '../../context/request.ts';
import type {
  CallOptions,
  CallOutcome,
  EmbedOutcome,
  Leg,
  MetadataOutcome,
  ModelMetadata,
  Provider,
} from '../contract.ts';
import { type ExchangeSettings, exchange, type Wire } from '../exchange.ts';
import { MalformedReply } from '../malformed-reply.ts';
import { firstLimit, list, record, text, tokenCount } from '../reading.ts';
import { readVectors } from '../vectors.ts';
import { ChatWatch, OllamaReply } from './read.ts';
import { KEEP_ALIVE, renderOllama } from './render.ts';

const DEFAULT_BASE_URL = 'http://127.0.0.1:11434';
const CONTEXT_SUFFIX = '.context_length';

interface Settings {
  readonly baseUrl: string;
  readonly secret: string | undefined;
}

interface Deadline {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

export function ollamaProvider(leg: Leg, secret: string | undefined): Provider {
  const settings = { baseUrl: leg.baseUrl ?? DEFAULT_BASE_URL, secret };
  return {
    call: (request, options) => call(leg, settings, request, options),
    searchesTools: false,
    embed: (texts, options) => embed(leg, settings, texts, options),
    describe: (options) => describe(leg, settings, options),
  };
}

async function call(
  leg: Leg,
  settings: Settings,
  request: ChatRequest,
  options: CallOptions,
): Promise<CallOutcome> {
  const watch = new ChatWatch();
  const exchangeSettings: ExchangeSettings = { ...settings, watch, streamError: () => watch.error };
  const outcome = await exchange(options, exchangeSettings, (wire) => converse(leg, settings, request, wire));
  return outcome.ok ? { ok: true, reply: outcome.value } : outcome;
}

async function converse(leg: Leg, settings: Settings, request: ChatRequest, wire: Wire): Promise<ChatReply> {
  const maxTokens = Math.min(request.maxTokens, leg.maxOutputTokens ?? request.maxTokens);
  const body = renderOllama(request, { model: leg.model, maxTokens, window: leg.window });
  const reply = new OllamaReply(wire);
  for await (const chunk of await client(settings, wire).chat(body)) {
    const finished = reply.take(chunk, leg.model);
    if (finished !== null) return finished;
  }
  throw new MalformedReply('The stream ended before its terminal event.');
}

/** https://docs.ollama.com/api/embed: unless `truncate` is false a long text is cut silently. */
async function embed(
  leg: Leg,
  settings: Settings,
  texts: readonly string[],
  options: Deadline,
): Promise<EmbedOutcome> {
  const watch = { framing: 'document' } as const;
  const exchangeSettings: ExchangeSettings = { ...settings, watch, streamError: () => undefined };
  const outcome = await exchange(options, exchangeSettings, async (wire) => {
    const body = { model: leg.model, input: [...texts], truncate: false, keep_alive: KEEP_ALIVE };
    const fields = record(await client(settings, wire).embed(body));
    return {
      vectors: readVectors(list(fields?.embeddings), texts.length),
      inputTokens: tokenCount(fields?.prompt_eval_count),
    };
  });
  return outcome.ok ? { ok: true, ...outcome.value } : outcome;
}

async function describe(leg: Leg, settings: Settings, options: Deadline): Promise<MetadataOutcome> {
  const watch = { framing: 'document' } as const;
  const exchangeSettings: ExchangeSettings = { ...settings, watch, streamError: () => undefined };
  const outcome = await exchange(options, exchangeSettings, async (wire) =>
    metadataOf(await client(settings, wire).show({ model: leg.model })),
  );
  return outcome.ok ? { ok: true, metadata: outcome.value } : outcome;
}

/** https://docs.ollama.com/api-reference/show-model-details */
function metadataOf(shown: unknown): ModelMetadata {
  const fields = record(shown);
  if (fields === null) throw new MalformedReply('The description of the model is not an object.');
  return {
    declaredWindow: parameterNumCtx(fields.parameters) ?? trainedWindow(fields.model_info),
    maxOutputTokens: null,
    quantisation: text(record(fields.details)?.quantization_level),
  };
}

/** `parameters` is the model file's text, a name and a value a line: its `num_ctx` overrides what was trained. */
function parameterNumCtx(parameters: unknown): number | null {
  const value = /^\s*num_ctx\s+(\d{1,9})\s*$/m.exec(text(parameters) ?? '')?.[1];
  return firstLimit({ value: Number(value) }, ['value']);
}

/** The key is named after the architecture; a multimodal model may state one for each of its parts. */
function trainedWindow(info: unknown): number | null {
  const fields = record(info) ?? {};
  const keys = Object.keys(fields).filter((key) => key.endsWith(CONTEXT_SUFFIX));
  return firstLimit(fields, [`${text(fields['general.architecture']) ?? ''}${CONTEXT_SUFFIX}`, ...keys]);
}

/** A client each call, since the SDK's own abort ends every request of a client. */
function client({ baseUrl, secret }: Settings, wire: Wire): Ollama {
  return new Ollama({
    host: baseUrl,
    fetch: wire.fetch,
    ...(secret === undefined ? {} : { headers: { Authorization: `Bearer ${secret}` } }),
  });
}
