import type { CatalogueModel } from './row.ts';

const LOOKED_UP = '2026-11-30';

/** The pages give the long prompt's prices as factors: twice the input and the caches, one and a half times the output. */
const LONG_PROMPT_TOKENS = 272_000;

export const GPT: readonly CatalogueModel[] = [
  {
    family: 'openai',
    model: 'gpt-6.2-sol',
    window: 1_050_000,
    maxOutput: 128_000,
    sources: ['https://developers.openai.com/api/docs/models/gpt-6.2-sol.md'],
    lookedUp: LOOKED_UP,
    prices: [
      {
        effectiveFrom: '2026-11-30',
        sources: [
          'https://developers.openai.com/api/docs/models/gpt-6.2-sol?site_locale=en',
          'https://github.com/iyulab/TokenMeter/releases/tag/v0.17.0',
        ],
        lookedUp: LOOKED_UP,
        price: {
          inputPerMillion: 2,
          cachedInputPerMillion: 0.1,
          cacheWritePerMillion: 2.5,
          outputPerMillion: 10,
          longPrompt: {
            aboveTokens: LONG_PROMPT_TOKENS,
            inputPerMillion: 4,
            cachedInputPerMillion: 0.2,
            cacheWritePerMillion: 5,
            outputPerMillion: 15,
          },
        },
      },
    ],
  },
  {
    family: 'openai',
    model: 'gpt-6-astra',
    window: 1_050_000,
    maxOutput: 128_000,
    sources: ['https://github.com/BerriAI/litellm/discussions/39633'],
    lookedUp: LOOKED_UP,
    prices: [
      {
        effectiveFrom: '2026-09-03',
        sources: [
          'https://github.com/BerriAI/litellm/discussions/39633',
          'https://github.com/TheKrush/PromptFuel/releases/tag/v1.0.19',
        ],
        lookedUp: LOOKED_UP,
        price: {
          inputPerMillion: 10,
          cachedInputPerMillion: 1,
          cacheWritePerMillion: 12.5,
          outputPerMillion: 50,
          longPrompt: {
            aboveTokens: LONG_PROMPT_TOKENS,
            inputPerMillion: 20,
            cachedInputPerMillion: 2,
            cacheWritePerMillion: 25,
            outputPerMillion: 75,
          },
        },
      },
    ],
  },
  {
    family: 'openai',
    model: 'gpt-6-sol',
    window: 1_050_000,
    maxOutput: 128_000,
    sources: ['https://developers.openai.com/api/docs/models/gpt-6-sol.md'],
    lookedUp: LOOKED_UP,
    prices: [
      {
        effectiveFrom: '2026-09-22',
        sources: [
          'https://developers.openai.com/api/docs/models/gpt-6-sol.md',
          'https://github.com/BerriAI/litellm/discussions/42523',
          'https://github.com/merefield/codexometer/releases/tag/v0.18.4',
        ],
        lookedUp: LOOKED_UP,
        price: {
          inputPerMillion: 2,
          cachedInputPerMillion: 0.2,
          cacheWritePerMillion: 2.5,
          outputPerMillion: 10,
          longPrompt: {
            aboveTokens: LONG_PROMPT_TOKENS,
            inputPerMillion: 4,
            cachedInputPerMillion: 0.4,
            cacheWritePerMillion: 5,
            outputPerMillion: 15,
          },
        },
      },
    ],
  },
  {
    family: 'openai',
    model: 'gpt-6-luna',
    window: 1_050_000,
    maxOutput: 128_000,
    sources: ['https://github.com/BerriAI/litellm/discussions/42523'],
    lookedUp: LOOKED_UP,
    prices: [
      {
        effectiveFrom: '2026-09-22',
        sources: [
          'https://github.com/BerriAI/litellm/discussions/42523',
          'https://github.com/merefield/codexometer/releases/tag/v0.18.4',
        ],
        lookedUp: LOOKED_UP,
        price: {
          inputPerMillion: 0.1,
          cachedInputPerMillion: 0.01,
          cacheWritePerMillion: 0.125,
          outputPerMillion: 0.5,
          longPrompt: {
            aboveTokens: LONG_PROMPT_TOKENS,
            inputPerMillion: 0.2,
            cachedInputPerMillion: 0.02,
            cacheWritePerMillion: 0.25,
            outputPerMillion: 0.75,
          },
        },
      },
    ],
  },
  {
    family: 'openai',
    model: 'gpt-5.5',
    aliases: ['gpt-5.5-2026-04-23'],
    window: 1_050_000,
    maxOutput: 128_000,
    sources: ['https://docs.oxen.ai/inference-api/reference/models/gpt-5-5-2026-04-23.md'],
    lookedUp: LOOKED_UP,
    prices: [],
  },
  {
    family: 'openai',
    model: 'gpt-5.4',
    aliases: ['gpt-5.4-2026-03-05'],
    window: 1_050_000,
    maxOutput: 128_000,
    sources: ['https://vercel.com/ai-gateway/models/gpt-5.4.md'],
    lookedUp: LOOKED_UP,
    prices: [],
  },
  {
    family: 'openai',
    model: 'gpt-5.4-mini',
    window: 400_000,
    maxOutput: 128_000,
    sources: ['https://vercel.com/ai-gateway/models/openai/gpt-5.4-mini.md'],
    lookedUp: LOOKED_UP,
    prices: [
      {
        effectiveFrom: '2026-03-17',
        sources: [
          'https://vercel.com/ai-gateway/models/openai/gpt-5.4-mini.md',
          'https://www.morphllm.com/openai-api-pricing',
        ],
        lookedUp: LOOKED_UP,
        price: { inputPerMillion: 0.75, cachedInputPerMillion: 0.075, outputPerMillion: 4.5 },
      },
    ],
  },
  {
    family: 'openai',
    model: 'gpt-5',
    aliases: ['gpt-5-2025-08-07'],
    window: 400_000,
    maxOutput: 128_000,
    sources: [
      'https://docs.oxen.ai/inference-api/reference/models/gpt-5-2025-08-07.md',
      'https://vercel.com/ai-gateway/models/gpt-5-fast.md',
    ],
    lookedUp: LOOKED_UP,
    prices: [
      {
        effectiveFrom: '2026-11-30',
        sources: [
          'https://docs.rs/crate/openai-cost/latest/source/src/pricing.rs',
          'https://docs.rs/crate/adk-model/latest/source/src/openai/pricing.rs',
        ],
        lookedUp: LOOKED_UP,
        price: { inputPerMillion: 1.25, cachedInputPerMillion: 0.125, outputPerMillion: 10 },
      },
    ],
  },
  {
    family: 'openai',
    model: 'gpt-5-mini',
    aliases: ['gpt-5-mini-2025-08-07'],
    window: 400_000,
    maxOutput: 128_000,
    sources: ['https://developers.openai.com/ko-KR/api/docs/models/gpt-5-mini'],
    lookedUp: LOOKED_UP,
    prices: [
      {
        effectiveFrom: '2025-08-07',
        sources: [
          'https://developers.openai.com/ko-KR/api/docs/models/gpt-5-mini',
          'https://openrouter.ai/openai/gpt-5-mini',
        ],
        lookedUp: LOOKED_UP,
        price: { inputPerMillion: 0.25, cachedInputPerMillion: 0.025, outputPerMillion: 2 },
      },
    ],
  },
  {
    family: 'openai',
    model: 'gpt-4.1',
    aliases: ['gpt-4.1-2025-04-14'],
    window: 1_047_576,
    maxOutput: 32_768,
    sources: ['https://vercel.com/ai-gateway/models/gpt-4.1-fast.md'],
    lookedUp: LOOKED_UP,
    prices: [
      {
        effectiveFrom: '2025-04-14',
        sources: [
          'https://www.helicone.ai/model/gpt-4.1',
          'https://vercel.com/ai-gateway/models/gpt-4.1/providers',
        ],
        lookedUp: LOOKED_UP,
        price: { inputPerMillion: 2, cachedInputPerMillion: 0.5, outputPerMillion: 8 },
      },
    ],
  },
  {
    family: 'openai',
    model: 'gpt-4.1-mini',
    aliases: ['gpt-4.1-mini-2025-04-14'],
    window: 1_047_576,
    maxOutput: 32_768,
    sources: ['https://vercel.com/ai-gateway/models/gpt-4.1-mini-fast.md'],
    lookedUp: LOOKED_UP,
    prices: [
      {
        effectiveFrom: '2026-11-30',
        sources: ['https://vercel.com/ai-gateway/models/gpt-4.1-mini/api'],
        lookedUp: LOOKED_UP,
        price: { inputPerMillion: 0.4, cachedInputPerMillion: 0.1, outputPerMillion: 1.6 },
      },
    ],
  },
  {
    family: 'openai',
    model: 'gpt-4o',
    window: 128_000,
    maxOutput: 16_384,
    sources: ['https://vercel.com/ai-gateway/models/gpt-4o.md'],
    lookedUp: LOOKED_UP,
    prices: [
      {
        effectiveFrom: '2026-05-27',
        sources: ['https://github.com/CommitBrief/commitbrief/wiki/Provider-OpenAI'],
        lookedUp: LOOKED_UP,
        price: { inputPerMillion: 2.5, cachedInputPerMillion: 1.25, outputPerMillion: 10 },
      },
    ],
  },
  {
    family: 'openai',
    model: 'gpt-4o-mini',
    aliases: ['gpt-4o-mini-2024-07-18'],
    window: 128_000,
    maxOutput: 16_384,
    sources: ['https://vercel.com/ai-gateway/models/gpt-4o-mini-fast.md'],
    lookedUp: LOOKED_UP,
    prices: [
      {
        effectiveFrom: '2026-05-27',
        sources: ['https://github.com/CommitBrief/commitbrief/wiki/Provider-OpenAI'],
        lookedUp: LOOKED_UP,
        price: { inputPerMillion: 0.15, cachedInputPerMillion: 0.075, outputPerMillion: 0.6 },
      },
    ],
  },
];
