import type { CatalogueModel } from './row.ts';

const LOOKED_UP = '2026-11-30';

/** Charges by the hour of the day, which no row can say: the window only. */
const DEEPSEEK = 'https://api-docs.deepseek.com/quick_start/pricing?model_version=DeepSeek-V4-Pro-0813';

export const OPEN_WEIGHTS: readonly CatalogueModel[] = [
  {
    family: 'openai',
    model: 'gpt-oss-120b',
    aliases: ['gpt-oss:120b'],
    window: 131_072,
    maxOutput: 131_072,
    sources: ['https://developers.openai.com/api/docs/models/gpt-oss-120b.md'],
    lookedUp: LOOKED_UP,
    prices: [],
  },
  {
    family: 'openai',
    model: 'gpt-oss-20b',
    aliases: ['gpt-oss:20b'],
    window: 131_072,
    maxOutput: 131_072,
    sources: ['https://github.com/BerriAI/litellm/pull/15008.diff'],
    lookedUp: LOOKED_UP,
    prices: [],
  },
  {
    family: 'deepseek',
    model: 'deepseek-v4-pro',
    window: 1_000_000,
    maxOutput: 384_000,
    sources: [DEEPSEEK],
    lookedUp: LOOKED_UP,
    prices: [],
  },
  {
    family: 'deepseek',
    model: 'deepseek-v4-flash',
    window: 1_000_000,
    maxOutput: 384_000,
    sources: [DEEPSEEK],
    lookedUp: LOOKED_UP,
    prices: [],
  },
  {
    family: 'meta',
    model: 'Llama-3.3-70B-Instruct',
    window: 131_072,
    maxOutput: null,
    sources: ['https://inference.readthedocs.io/en/v1.9.0/models/builtin/llm/llama-3.3-instruct.html'],
    lookedUp: LOOKED_UP,
    prices: [],
  },
  {
    family: 'mistral',
    model: 'mistral-large-3',
    window: 262_144,
    maxOutput: 256_000,
    sources: ['https://vercel.com/ai-gateway/models/mistral-large-3.md'],
    lookedUp: LOOKED_UP,
    prices: [
      {
        effectiveFrom: '2025-12-02',
        sources: ['https://vercel.com/ai-gateway/models/mistral-large-3.md'],
        lookedUp: LOOKED_UP,
        price: { inputPerMillion: 0.5, outputPerMillion: 1.5 },
      },
    ],
  },
  {
    family: 'qwen',
    model: 'Qwen3-30B-A3B-Instruct-2507',
    window: 262_144,
    maxOutput: null,
    sources: ['https://huggingface.co/Qwen/Qwen3-30B-A3B-Instruct-2507'],
    lookedUp: LOOKED_UP,
    prices: [],
  },
  {
    family: 'qwen',
    model: 'Qwen3-Coder-30B-A3B-Instruct',
    window: 262_144,
    maxOutput: null,
    sources: ['https://huggingface.co/unsloth/Qwen3-Coder-30B-A3B-Instruct-1M-GGUF'],
    lookedUp: LOOKED_UP,
    prices: [],
  },
];
