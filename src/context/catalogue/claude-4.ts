import type { TieredPrice } from '../pricing/rate.ts';
import type { CatalogueModel } from './row.ts';

const LOOKED_UP = '2026-11-30';

const PRICING = 'https://platform.claude.com/docs/en/about-claude/pricing?ref=optimizesmart.com';
const EARLIER_PRICING = 'https://platform.claude.com/docs/en/docs/about-claude/pricing';

/** One price from Opus 4.5 to 4.8. */
const OPUS: TieredPrice = {
  inputPerMillion: 5,
  cachedInputPerMillion: 0.5,
  cacheWritePerMillion: 6.25,
  outputPerMillion: 25,
};

export const CLAUDE_4: readonly CatalogueModel[] = [
  {
    family: 'anthropic',
    model: 'claude-opus-4-8',
    aliases: ['claude-opus-4.8'],
    window: 1_000_000,
    maxOutput: 128_000,
    sources: ['https://platform.claude.com/docs/de/models/opus-4-8/overview.md'],
    lookedUp: LOOKED_UP,
    prices: [{ effectiveFrom: '2026-05-28', sources: [PRICING], lookedUp: LOOKED_UP, price: OPUS }],
  },
  {
    family: 'anthropic',
    model: 'claude-opus-4-7',
    aliases: ['claude-opus-4.7'],
    window: 1_000_000,
    maxOutput: 128_000,
    sources: [
      'https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/partner-models/claude/opus-4-7',
    ],
    lookedUp: LOOKED_UP,
    prices: [
      {
        effectiveFrom: '2026-04-16',
        sources: [
          PRICING,
          'https://docs.aws.amazon.com/bedrock/latest/userguide/model-card-anthropic-claude-opus-4-7.md',
        ],
        lookedUp: LOOKED_UP,
        price: OPUS,
      },
    ],
  },
  {
    family: 'anthropic',
    model: 'claude-opus-4-6',
    aliases: ['claude-opus-4.6'],
    window: 1_000_000,
    maxOutput: 128_000,
    sources: ['https://platform.claude.com/docs/en/models/opus-4-6/overview.md'],
    lookedUp: LOOKED_UP,
    prices: [{ effectiveFrom: '2026-02-05', sources: [PRICING], lookedUp: LOOKED_UP, price: OPUS }],
  },
  {
    family: 'anthropic',
    model: 'claude-opus-4-5',
    aliases: ['claude-opus-4.5'],
    window: 200_000,
    maxOutput: 64_000,
    sources: ['https://platform.claude.com/docs/pt-BR/models/opus-4-5/overview.md'],
    lookedUp: LOOKED_UP,
    prices: [{ effectiveFrom: '2025-11-24', sources: [PRICING], lookedUp: LOOKED_UP, price: OPUS }],
  },
  {
    family: 'anthropic',
    model: 'claude-sonnet-4-6',
    aliases: ['claude-sonnet-4.6'],
    window: 1_000_000,
    maxOutput: 128_000,
    sources: ['https://platform.claude.com/docs/zh-CN/models/sonnet-4-6/overview.md'],
    lookedUp: LOOKED_UP,
    prices: [
      {
        effectiveFrom: '2026-02-17',
        sources: [EARLIER_PRICING],
        lookedUp: LOOKED_UP,
        price: {
          inputPerMillion: 3,
          cachedInputPerMillion: 0.3,
          cacheWritePerMillion: 3.75,
          outputPerMillion: 15,
        },
      },
    ],
  },
  {
    family: 'anthropic',
    model: 'claude-sonnet-4-5',
    aliases: ['claude-sonnet-4.5'],
    window: 200_000,
    maxOutput: 64_000,
    sources: ['https://platform.claude.com/docs/zh-CN/models/sonnet-4-5/overview.md'],
    lookedUp: LOOKED_UP,
    prices: [
      {
        effectiveFrom: '2025-09-29',
        sources: [EARLIER_PRICING],
        lookedUp: LOOKED_UP,
        price: {
          inputPerMillion: 3,
          cachedInputPerMillion: 0.3,
          cacheWritePerMillion: 3.75,
          outputPerMillion: 15,
        },
      },
    ],
  },
  {
    family: 'anthropic',
    model: 'claude-haiku-4-5',
    aliases: ['claude-haiku-4.5'],
    window: 200_000,
    maxOutput: 64_000,
    sources: ['https://platform.claude.com/docs/zh-CN/models/haiku-4-5/overview.md'],
    lookedUp: LOOKED_UP,
    prices: [
      {
        effectiveFrom: '2025-10-15',
        sources: [EARLIER_PRICING],
        lookedUp: LOOKED_UP,
        price: {
          inputPerMillion: 1,
          cachedInputPerMillion: 0.1,
          cacheWritePerMillion: 1.25,
          outputPerMillion: 5,
        },
      },
    ],
  },
];
