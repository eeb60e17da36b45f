/** What calls came to, as answers show it. Money is whole micro-dollars, days are UTC. */
import { z } from 'zod';
import { USAGE_GROUPS } from '../db/usage.ts';

const MAX_ROWS = 1_000;
const DEFAULT_ROWS = 100;

const count = z.int().nonnegative();
const day = z.iso.date({ error: 'a UTC day such as 2026-11-30' });

export const usageQuery = z
  .strictObject({
    by: z
      .enum(USAGE_GROUPS, { error: `allowed is ${USAGE_GROUPS.map((group) => `"${group}"`).join(', ')}` })
      .default('leg')
      .describe('What a row stands for.'),
    session: z
      .uuid({ error: 'the id of a session, which is a UUID' })
      .optional()
      .describe('Calls of this session alone.'),
    from: day.optional().describe('The first day that counts.'),
    to: day.optional().describe('The last day that counts.'),
    limit: z.coerce.number().int().min(1).max(MAX_ROWS).default(DEFAULT_ROWS),
  })
  .refine(({ from, to }) => from === undefined || to === undefined || from <= to, {
    path: ['from'],
    error: 'a day that is not after "to"',
  });

const COST_STATUSES = ['priced', 'partial', 'unpriced', 'no_calls'] as const;

export const cost = z.strictObject({
  cost_micro_usd: count.describe('Of the calls that have a price.'),
  cost_status: z
    .enum(COST_STATUSES)
    .describe('partial and unpriced: answered calls without a price are not in the sum.'),
});

const lookups = {
  hits: count,
  misses: count,
  rate: z.number().min(0).max(1).nullable().describe('null where nothing was looked up.'),
};
const layer = z.strictObject(lookups);

const sums = cost.extend({
  calls: count.describe('That ended, answered or not.'),
  input_tokens: count.describe('Of prompts, past every cache. Replies of the response cache are in no sum.'),
  cache_read_tokens: count,
  cache_write_tokens: count,
  output_tokens: count,
  reasoning_tokens: count.describe('Part of output_tokens.'),
  priced_calls: count,
  unpriced_calls: count,
  response_cache: z.strictObject({
    ...lookups,
    by_layer: z.strictObject({ process: layer, store: layer }),
  }),
});

export const usageReport = z.strictObject({
  by: z.enum(USAGE_GROUPS),
  rows: z.array(sums.extend({ key: z.string() })).describe('Newest days first, else the dearest first.'),
  more: z.boolean().describe('There are rows beyond the limit; they are in the total.'),
  total: sums,
});
