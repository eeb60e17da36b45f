/** What a server says of one model, at OpenAI and at those that speak its API. */
import type { Leg, MetadataOutcome, ModelMetadata } from '../contract.ts';
import { type ExchangeSettings, exchange } from '../exchange.ts';
import { MalformedReply } from '../malformed-reply.ts';
import { firstLimit, record, text } from '../reading.ts';
import { openAiClient } from './client.ts';

/** OpenAI states no limits here; servers beside it do, each under its own name. */
const WINDOW_FIELDS = [
  'context_window', // https://console.groq.com/docs/api-reference#models
  'max_model_len', // https://docs.vllm.ai/en/stable/serving/openai_compatible_server
  'max_context_length', // https://docs.mistral.ai/api/endpoint/models
  'context_length', // https://openrouter.ai/docs/api/api-reference/models/get-a-model-by-its-slug
] as const;
const OUTPUT_FIELDS = ['max_completion_tokens', 'max_output_tokens'] as const;

export async function describeOpenAi(
  leg: Leg,
  settings: Omit<ExchangeSettings, 'watch'>,
  options: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<MetadataOutcome> {
  const watch = { framing: 'document' } as const;
  const outcome = await exchange(options, { ...settings, watch }, async (wire) => {
    const client = openAiClient(settings, wire);
    // https://openrouter.ai/docs/api/api-reference/models/get-a-model-by-its-slug: not where OpenAI has it, and wrapped.
    if (leg.provider === 'openrouter' || leg.provider === 'openrouter-responses') {
      const answer = record(await client.get(`/model/${leg.model}`));
      return metadataOf(answer?.data ?? answer);
    }
    return metadataOf(await client.models.retrieve(leg.model));
  });
  return outcome.ok ? { ok: true, metadata: outcome.value } : outcome;
}

function metadataOf(model: unknown): ModelMetadata {
  const fields = record(model);
  if (fields === null) throw new MalformedReply('The description of the model is not an object.');
  return {
    // OpenRouter's own figure is the largest among its upstreams: https://github.com/earendil-works/pi/issues/6378
    declaredWindow:
      firstLimit(fields.top_provider, WINDOW_FIELDS) ??
      firstLimit(fields, WINDOW_FIELDS) ??
      firstLimit(fields.meta, ['n_ctx', 'n_ctx_train']),
    maxOutputTokens: firstLimit(fields, OUTPUT_FIELDS) ?? firstLimit(fields.top_provider, OUTPUT_FIELDS),
    quantisation: text(fields.quantization),
  };
}
