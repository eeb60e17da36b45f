/** How a session chooses what its requests carry: the name of a policy, or the name with its options. */
import { z } from 'zod';
import { POLICIES } from '../ledger/kinds.ts';

const count = z.int().nonnegative();

/** A closed list of words, whose refusal names them. */
function oneOf<const Words extends readonly [string, ...string[]]>(...words: Words) {
  return z.enum(words, { error: `allowed is ${words.map((word) => JSON.stringify(word)).join(', ')}` });
}

/** The options of `plan` the contract names; each is kept with the session. */
const planOptions = z.strictObject({
  keepTurns: count.optional(),
  hysteresisRatio: z.number().min(0).max(1).optional(),
  safetyMarginRatio: z.number().min(0).max(1).optional(),
  summaryThreshold: z.number().nonnegative().optional(),
  contextWindow: z.int().positive().optional(),
  maxTokens: z.int().positive().optional(),
  reserveTokens: count.optional(),
  reserve: oneOf('window', 'horizon').optional().describe('What the reply is charged to.'),
  surface: oneOf('all').optional().describe('Every tool is loaded from the start.'),
  promotedShare: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe('Share of the history held for turns that more than their age speaks for.'),
  wholeShare: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe('Where not all turns fit whole: what whole ones may take of the history.'),
  eligibility: oneOf('recency', 'signal').optional().describe('What may make a turn whole.'),
  signals: oneOf('all', 'minimal').optional().describe('minimal follows no words and no links.'),
  steady: z.boolean().optional().describe('The boundary of the newest whole turns moves in steps.'),
});

const EVICT_OPTIONS = {
  contextWindow: true,
  reserveTokens: true,
  reserve: true,
  maxTokens: true,
  surface: true,
} as const;
const EVICT_NAMES = Object.keys(EVICT_OPTIONS);

/** Those of `plan` that also hold where no plan is made. */
const evictOptions = z.strictObject(planOptions.pick(EVICT_OPTIONS).shape, {
  error: ({ code }) => (code === 'unrecognized_keys' ? `allowed is ${listed(EVICT_NAMES)}` : undefined),
});

const NAMES = `allowed is ${listed(POLICIES)}`;

export const policy = z.union([
  z.enum(POLICIES, { error: NAMES }),
  z.discriminatedUnion(
    'name',
    [
      z.strictObject({ name: z.literal('plan'), options: planOptions.optional() }),
      z.strictObject({ name: z.literal('evict'), options: evictOptions.optional() }),
    ],
    { error: NAMES },
  ),
]);

function listed(names: readonly string[]): string {
  return names.map((name) => JSON.stringify(name)).join(', ');
}
