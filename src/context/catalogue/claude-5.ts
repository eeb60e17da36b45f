import type { CatalogueModel } from './row.ts';

const LOOKED_UP = '2026-11-30';

const PRICING = 'https://platform.claude.com/docs/en/about-claude/pricing?ref=optimizesmart.com';

export const CLAUDE_5: readonly CatalogueModel[] = [
  {
    family: 'anthropic',
    model: 'claude-fable-5-2',
    aliases: ['claude-fable-5.2'],
    window: 1_000_000,
    maxOutput: 128_000,
    sources: ['https://platform.claude.com/docs/id/models/sonnet-5/overview.md'],
    lookedUp: LOOKED_UP,
    prices: [
      {
        effectiveFrom: '2026-11-09',
        sources: ['https://docs.laozhang.ai/announcements/claude-fable-5-2-2026-11.md'],
        lookedUp: LOOKED_UP,
        price: {
          inputPerMillion: 8,
          cachedInputPerMillion: 0.2,
          cacheWritePerMillion: 10,
          outputPerMillion: 40,
        },
      },
    ],
  },
  {
    family: 'anthropic',
    model: 'claude-fable-5-1',
    aliases: ['claude-fable-5.1'],
    window: 1_000_000,
    maxOutput: 128_000,
    sources: ['https://platform.claude.com/docs/zh-CN/models/fable-5-1/overview.md'],
    lookedUp: LOOKED_UP,
    prices: [
      {
        effectiveFrom: '2026-09-01',
        sources: [PRICING],
        lookedUp: LOOKED_UP,
        price: {
          inputPerMillion: 10,
          cachedInputPerMillion: 0.25,
          cacheWritePerMillion: 12.5,
          outputPerMillion: 50,
        },
      },
    ],
  },
  {
    family: 'anthropic',
    model: 'claude-fable-5',
    window: 1_000_000,
    maxOutput: 128_000,
    sources: ['https://platform.claude.com/docs/en/models/fable-5/overview.md'],
    lookedUp: LOOKED_UP,
    prices: [
      {
        effectiveFrom: '2026-06-09',
        sources: [PRICING],
        lookedUp: LOOKED_UP,
        price: {
          inputPerMillion: 10,
          cachedInputPerMillion: 1,
          cacheWritePerMillion: 12.5,
          outputPerMillion: 50,
        },
      },
    ],
  },
  {
    family: 'anthropic',
    model: 'claude-opus-5-5',
    aliases: ['claude-opus-5.5'],
    window: 1_000_000,
    maxOutput: 128_000,
    sources: ['https://platform.claude.com/docs/zh-CN/models/opus-5-5/overview'],
    lookedUp: LOOKED_UP,
    prices: [
      {
        effectiveFrom: '2026-09-22',
        sources: [
          'https://platform.claude.com/docs/zh-CN/models/opus-5-5/overview',
          'https://github.com/TheKrush/PromptFuel/releases/tag/v1.0.21',
        ],
        lookedUp: LOOKED_UP,
        price: {
          inputPerMillion: 4,
          cachedInputPerMillion: 0.2,
          cacheWritePerMillion: 5,
          outputPerMillion: 20,
        },
      },
    ],
  },
  {
    family: 'anthropic',
    model: 'claude-opus-5',
    window: 1_000_000,
    maxOutput: 128_000,
    sources: ['https://platform.claude.com/docs/about-claude/models/whats-new-opus-5'],
    lookedUp: LOOKED_UP,
    prices: [
      {
        effectiveFrom: '2026-07-24',
        sources: ['https://platform.claude.com/docs/about-claude/models/whats-new-opus-5'],
        lookedUp: LOOKED_UP,
        price: {
          inputPerMillion: 5,
          cachedInputPerMillion: 0.5,
          cacheWritePerMillion: 6.25,
          outputPerMillion: 25,
        },
      },
    ],
  },
  {
    family: 'anthropic',
    model: 'claude-sonnet-5-5',
    aliases: ['claude-sonnet-5.5'],
    window: 1_000_000,
    maxOutput: 128_000,
    sources: ['https://platform.claude.com/docs/zh-CN/models/sonnet-5-5/overview'],
    lookedUp: LOOKED_UP,
    prices: [
      {
        effectiveFrom: '2026-09-28',
        sources: [
          'https://platform.claude.com/docs/zh-CN/models/sonnet-5-5/overview',
          'https://github.com/TheKrush/PromptFuel/releases/tag/v1.0.22',
        ],
        lookedUp: LOOKED_UP,
        price: {
          inputPerMillion: 2,
          cachedInputPerMillion: 0.2,
          cacheWritePerMillion: 2.5,
          outputPerMillion: 10,
        },
      },
      {
        effectiveFrom: '2026-10-07',
        sources: [
          'https://github.com/kurofune/claudit/releases/tag/v1.9.2',
          'https://github.com/TheKrush/PromptFuel/releases/tag/v1.0.23',
        ],
        lookedUp: LOOKED_UP,
        price: {
          inputPerMillion: 2,
          cachedInputPerMillion: 0.1,
          cacheWritePerMillion: 2.5,
          outputPerMillion: 10,
        },
      },
    ],
  },
  {
    family: 'anthropic',
    model: 'claude-sonnet-5',
    window: 1_000_000,
    maxOutput: 128_000,
    sources: ['https://platform.claude.com/docs/zh-CN/models/sonnet-5/overview'],
    lookedUp: LOOKED_UP,
    prices: [
      {
        effectiveFrom: '2026-06-30',
        sources: ['https://platform.claude.com/docs/zh-CN/models/sonnet-5/overview'],
        lookedUp: LOOKED_UP,
        price: {
          inputPerMillion: 2,
          cachedInputPerMillion: 0.2,
          cacheWritePerMillion: 2.5,
          outputPerMillion: 10,
        },
      },
    ],
  },
  {
    family: 'anthropic',
    model: 'claude-haiku-5-5',
    aliases: ['claude-haiku-5.5'],
    window: 1_000_000,
    maxOutput: 128_000,
    sources: ['https://platform.claude.com/docs/en/models/haiku-5-5/overview'],
    lookedUp: LOOKED_UP,
    prices: [
      {
        effectiveFrom: '2026-10-07',
        sources: ['https://github.com/kurofune/claudit/releases/tag/v1.9.2'],
        lookedUp: LOOKED_UP,
        price: {
          inputPerMillion: 0.1,
          cachedInputPerMillion: 0.01,
          cacheWritePerMillion: 0.125,
          outputPerMillion: 0.5,
          longPrompt: {
            aboveTokens: 100_000,
            inputPerMillion: 0.5,
            cachedInputPerMillion: 0.05,
            cacheWritePerMillion: 0.625,
            outputPerMillion: 2.5,
          },
        },
      },
    ],
  },
];
