/** Legs and what their models were measured to use, as answers show it. */
import { z } from 'zod';
import { PROVIDER_KINDS } from '../providers/contract.ts';

const count = z.int().nonnegative();
const windowSource = z
  .enum(['operator', 'provider', 'catalogue', 'fallback'])
  .describe('Who states the window; fallback: nobody does, and it is assumed.');

const tier = z.strictObject({
  input_micro_usd_per_million: count,
  cached_input_micro_usd_per_million: count,
  cache_write_micro_usd_per_million: count,
  output_micro_usd_per_million: count,
});

export const leg = z.strictObject({
  name: z.string(),
  provider: z.enum(PROVIDER_KINDS),
  model: z.string(),
  family: z.string().nullable(),
  local: z.boolean().describe('It is probed when it is due; a hosted one only where probe.hosted is full.'),
  window_tokens: z.int(),
  window_source: windowSource,
  horizon_tokens: count.describe('The largest prompt at which the model followed an instruction.'),
  horizon_confidence: z.number(),
  max_output_tokens: z.int().nullable(),
  price: tier
    .extend({
      rate_id: z.string(),
      long_prompt: tier
        .extend({ above_tokens: count })
        .nullable()
        .describe('What a longer prompt pays, all of it.'),
    })
    .nullable()
    .describe('What a call pays now; null where nobody states a price.'),
  default: z.boolean(),
});

export const rung = z.strictObject({
  kind: z.enum(['metadata', 'prefix', 'horizon', 'cache']),
  target_tokens: count.nullable().describe('Prompt aimed at.'),
  verdict: z.enum(['read', 'followed', 'not-followed', 'rejected', 'truncated', 'failed']),
  samples: count.nullable().describe('Requests behind the verdict; null for a single one.'),
  agreed: count.nullable().describe('Of those, the ones that said the same.'),
});

const mean = z.strictObject({ value: z.number(), samples: count });
const time = z.iso.datetime();

export const profileQuery = z.strictObject({
  actor: z.uuid().optional().describe('A probe of this leg begun by POST: how far it is.'),
});

export const profile = z.strictObject({
  leg: z.string(),
  declared_window: z.int(),
  window_source: windowSource,
  verified_window: z
    .int()
    .nullable()
    .describe('Largest prompt known to be accepted; null until one was refused.'),
  horizon: z.strictObject({ tokens: count, confidence: z.number(), last_confirmed_at: time.nullable() }),
  tokens_per_byte: mean,
  prefill_tokens_per_second: mean,
  cache: z.enum(['unknown', 'none', 'prefix-stable', 'provider-reported']),
  max_output: z.int().nullable(),
  max_output_source: z.enum(['operator', 'provider', 'catalogue']).nullable(),
  largest_reply: z.strictObject({ tokens: count, samples: count }),
  output_reserve: count,
  closed_turn_tokens: mean,
  prefixes: z.array(z.strictObject({ digest: z.string(), tokens: count })),
  needs_reprobe: z.boolean(),
  probed_at: time.nullable().describe('null: the provider was never asked.'),
  rungs: z.array(rung),
  signals: z.array(z.string()),
  metadata_digest: z.string().nullable(),
  probe: z.strictObject({
    state: z.enum(['idle', 'running']).describe('Whether the model is being probed now, by anybody.'),
    asked: z
      .strictObject({
        phase: z.string().describe('The state of its machine; done, stopped and failed are its ends.'),
        over: z.boolean(),
        rungs: z.array(rung).describe('Decided so far.'),
      })
      .nullable()
      .describe('The probe that the query names.'),
  }),
});

export const newProbe = z.strictObject({
  force: z
    .boolean()
    .optional()
    .describe('Probe now, whatever the profile says and whether the leg is hosted.'),
});

export const begunProbe = z.strictObject({
  probe: z.strictObject({
    actor: z.uuid(),
    session: z.uuid().describe("The tenant's session that holds the records of this leg's probes."),
    leg: z.string(),
    ladder: z.boolean(),
  }),
});

export const noProbe = z.strictObject({ probe: z.null(), reason: z.string() });
