/** What each provider says of a model when asked: the bodies of the metadata routes. */
import type { ModelInfo } from '@anthropic-ai/sdk/resources/models';
import type { ListResponse, ModelDetails, ShowResponse, VersionResponse } from 'ollama';
import type { Model } from 'openai/resources/models';
import type { SimModel } from './contract.ts';
import { SIM_DESCRIPTION } from './models.ts';

/** Simulated models were never released; the epoch says so. */
const RELEASED_AT = '1970-01-01T00:00:00Z';
const MAX_PAGE = 1_000;

export function openaiModel(model: SimModel): Model & { readonly description: string } {
  return {
    id: model.name,
    object: 'model',
    created: 0,
    owned_by: 'simulation',
    description: SIM_DESCRIPTION,
  };
}

export function openaiModels(models: readonly SimModel[]) {
  return { object: 'list', data: models.map(openaiModel) };
}

export function anthropicModel(model: SimModel): ModelInfo {
  return {
    id: model.name,
    type: 'model',
    display_name: `${model.name} (${SIM_DESCRIPTION})`,
    created_at: RELEASED_AT,
    capabilities: null,
    deprecated_at: null,
    lifecycle: 'active',
    line: null,
    max_input_tokens: model.window,
    max_tokens: model.maxOutputTokens,
    retires_at: null,
  };
}

export function anthropicModels(models: readonly SimModel[]) {
  const data = models.slice(0, MAX_PAGE).map(anthropicModel);
  return { data, has_more: false, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
}

/** Maps travel as objects and dates as text. */
type OnWire<T> = {
  [K in keyof T]: T[K] extends Date
    ? string
    : T[K] extends Map<string, unknown>
      ? Record<string, unknown>
      : T[K];
};

/** The window stands under the architecture's name in `model_info`; https://docs.ollama.com/api-reference/show-model-details */
export function ollamaShow(model: SimModel) {
  return {
    license: '',
    modelfile: `# ${SIM_DESCRIPTION}`,
    parameters: '',
    template: '{{ .Prompt }}',
    system: '',
    details: ollamaDetails(model),
    messages: [],
    modified_at: RELEASED_AT,
    model_info: {
      'general.architecture': 'simulated',
      'general.description': SIM_DESCRIPTION,
      'simulated.context_length': model.window,
    },
    capabilities: ['completion', 'tools', 'thinking', ...(model.supportsImages ? ['vision'] : [])],
  } satisfies Omit<OnWire<ShowResponse>, 'projector_info'>;
}

export function ollamaTags(models: readonly SimModel[]) {
  return {
    models: models.map((model) => ({
      name: model.name,
      model: model.name,
      modified_at: RELEASED_AT,
      size: 0,
      size_vram: 0,
      expires_at: RELEASED_AT,
      digest: '0'.repeat(64),
      details: ollamaDetails(model),
    })),
  } satisfies { models: OnWire<ListResponse['models'][number]>[] };
}

/** A version no release of Ollama has. */
export const OLLAMA_VERSION = { version: '0.0.0-simulated' } satisfies VersionResponse;

function ollamaDetails(model: SimModel): ModelDetails {
  return {
    parent_model: '',
    format: 'simulated',
    family: 'simulated',
    families: ['simulated'],
    parameter_size: '0',
    quantization_level: model.quantisation,
  };
}
