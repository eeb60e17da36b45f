import type { CatalogueModel } from './row.ts';

const LOOKED_UP = '2026-11-30';

/** Gives the price of cached input as 90% off. */
const PRICING_2_5 = 'https://deploybase.ai/articles/gemini-api-pricing';

export const GEMINI: readonly CatalogueModel[] = [
  {
    family: 'google',
    model: 'gemini-4-neon',
    window: 1_000_000,
    maxOutput: 65_000,
    sources: ['https://github.com/iyulab/TokenMeter/releases/tag/v0.17.0'],
    lookedUp: LOOKED_UP,
    prices: [
      {
        effectiveFrom: '2026-11-30',
        sources: ['https://github.com/iyulab/TokenMeter/releases/tag/v0.17.0'],
        lookedUp: LOOKED_UP,
        price: { inputPerMillion: 3, cachedInputPerMillion: 0.15, outputPerMillion: 15 },
      },
    ],
  },
  {
    family: 'google',
    model: 'gemini-4-hydrogen',
    window: 1_000_000,
    maxOutput: null,
    sources: ['https://github.com/iyulab/TokenMeter/releases/tag/v0.17.0'],
    lookedUp: LOOKED_UP,
    prices: [
      {
        effectiveFrom: '2026-11-30',
        sources: ['https://github.com/iyulab/TokenMeter/releases/tag/v0.17.0'],
        lookedUp: LOOKED_UP,
        price: { inputPerMillion: 1.5, cachedInputPerMillion: 0.075, outputPerMillion: 7.5 },
      },
    ],
  },
  {
    family: 'google',
    model: 'gemini-3.8-flash',
    window: 1_048_576,
    maxOutput: 65_536,
    sources: [
      'https://documentation.s3ns.fr/gemini-enterprise-agent-platform/models/guides/gemini-3-8-flash?hl=ja',
    ],
    lookedUp: LOOKED_UP,
    prices: [
      {
        effectiveFrom: '2026-09-02',
        sources: [
          'https://github.com/BerriAI/litellm/discussions/39357',
          'https://runware.ai/docs/models/google-gemini-3-8-flash.md',
        ],
        lookedUp: LOOKED_UP,
        price: { inputPerMillion: 0.75, cachedInputPerMillion: 0.075, outputPerMillion: 3.75 },
      },
      {
        effectiveFrom: '2027-01-01',
        sources: ['https://github.com/BerriAI/litellm/discussions/39357'],
        lookedUp: LOOKED_UP,
        price: null,
      },
    ],
  },
  {
    family: 'google',
    model: 'gemini-3.7-flash',
    window: 1_048_576,
    maxOutput: 65_536,
    sources: [
      'https://documentation.s3ns.fr/gemini-enterprise-agent-platform/models/guides/gemini-3-8-flash?hl=ja',
    ],
    lookedUp: LOOKED_UP,
    prices: [],
  },
  {
    family: 'google',
    model: 'gemini-3.1-pro-preview',
    window: 1_048_576,
    maxOutput: 65_536,
    sources: [
      'https://documentation.s3ns.fr/gemini-enterprise-agent-platform/models/guides/gemini-3-8-flash?hl=ja',
    ],
    lookedUp: LOOKED_UP,
    prices: [],
  },
  {
    family: 'google',
    model: 'gemini-2.5-pro',
    window: 1_048_576,
    maxOutput: 65_535,
    sources: ['https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/gemini/2-5-pro'],
    lookedUp: LOOKED_UP,
    prices: [
      {
        effectiveFrom: '2026-11-30',
        sources: [PRICING_2_5],
        lookedUp: LOOKED_UP,
        price: {
          inputPerMillion: 1.25,
          cachedInputPerMillion: 0.125,
          outputPerMillion: 10,
          longPrompt: {
            aboveTokens: 200_000,
            inputPerMillion: 2.5,
            cachedInputPerMillion: 0.25,
            outputPerMillion: 15,
          },
        },
      },
    ],
  },
  {
    family: 'google',
    model: 'gemini-2.5-flash',
    window: 1_048_576,
    maxOutput: 65_536,
    sources: ['https://docs.oracle.com/en-us/iaas/Content/generative-ai/google-gemini-2-5-flash.htm'],
    lookedUp: LOOKED_UP,
    prices: [
      {
        effectiveFrom: '2026-10-06',
        sources: [PRICING_2_5],
        lookedUp: LOOKED_UP,
        price: { inputPerMillion: 0.3, cachedInputPerMillion: 0.03, outputPerMillion: 2.5 },
      },
    ],
  },
  {
    family: 'google',
    model: 'gemini-2.5-flash-lite',
    window: 1_048_576,
    maxOutput: 65_536,
    sources: [
      'https://docs.cloud.google.com/gemini-enterprise-agent-platform/models/gemini/2-5-flash-lite?authuser=2',
    ],
    lookedUp: LOOKED_UP,
    prices: [],
  },
];
