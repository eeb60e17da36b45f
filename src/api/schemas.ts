/** The bodies of requests and answers. Request members are camelCase; answers are snake_case, units in names. */
import { z } from 'zod';
import { inputBlock, json } from '../ledger/blocks.ts';
import { ERROR_CATALOGUE, type ErrorCode } from '../ledger/errors.ts';
import { OUTCOMES, TURN_MODES } from '../ledger/kinds.ts';
import { history } from './history-schema.ts';
import { policy } from './policy-schemas.ts';
import { TURN_STATES } from './turn-state.ts';
import { cost } from './usage-schemas.ts';

const MAX_NAME_CHARS = 100;
const MAX_TOOLS = 1_000;
/** It stands in every request. */
const MAX_CONTRACT_CHARS = 8_000;
const MAX_METADATA_KEYS = 64;
const MAX_INPUT_BLOCKS = 100;
const MAX_PRIORITY = 1_000;
const MAX_TIMER_MS = 2_147_483_647;
const MAX_PAGE = 100;
const DEFAULT_PAGE = 20;

const name = z.string().min(1).max(MAX_NAME_CHARS);
const metadata = z
  .record(z.string().max(MAX_NAME_CHARS), json)
  .refine((value) => Object.keys(value).length <= MAX_METADATA_KEYS, `at most ${MAX_METADATA_KEYS} members`);
const count = z.int().nonnegative();
const time = z.iso.datetime();

const limit = z.int().min(1);
/** No call is made that could pass it. */
const costBudget = {
  costMicroUsd: limit.optional(),
  tokens: limit.optional().describe('Of prompts, cached or not, and of replies.'),
};

export const newSession = z.strictObject({
  leg: name.optional().describe('A configured leg. The default leg when neither leg nor ladder is given.'),
  ladder: z
    .union([name, z.array(name).min(1)])
    .optional()
    .describe('The name of a configured ladder, or leg names, first choice first.'),
  policy: policy.optional(),
  tools: z.array(name).max(MAX_TOOLS).optional().describe('Tools the session may use; all when left out.'),
  system: z.string().optional(),
  workContract: z
    .string()
    .max(MAX_CONTRACT_CHARS)
    .refine((text) => text.trim() !== '', 'a text that is not blank')
    .optional()
    .describe('What the session is bound to do: said beside every directive.'),
  locale: z.string().refine(isLocale, 'a BCP 47 language tag such as en-GB').optional(),
  timezone: z.string().refine(isTimezone, 'an IANA time zone such as Europe/Paris').optional(),
  budget: z.strictObject(costBudget).optional().describe('Of all its turns together.'),
  history: history.optional(),
  forkOf: z
    .uuid()
    .optional()
    .describe(
      'Go on from that session instead: what is not sent is as it has it. Takes what POST …/fork does.',
    ),
  metadata: metadata.optional(),
});
export type NewSession = z.infer<typeof newSession>;

const turnInput = z
  .union([z.string(), z.array(inputBlock).min(1).max(MAX_INPUT_BLOCKS)])
  .refine(saysSomething, 'a text that is not blank, or an image');

/** A text alone is one block of it. */
export function inputBlocks(input: z.infer<typeof turnInput>): readonly z.infer<typeof inputBlock>[] {
  return typeof input === 'string' ? [{ type: 'text', text: input }] : input;
}

export const newTurn = z.strictObject({
  input: turnInput,
  mode: z
    .enum(TURN_MODES)
    .optional()
    .describe(
      'While another turn runs: wait behind it (enqueue, the default), join it at its next step (steer; the answer is that turn), cancel it first (interrupt), or be refused (reject).',
    ),
  priority: z.int().min(0).max(MAX_PRIORITY).optional().describe('0, the default, is the most urgent.'),
  budget: z
    .strictObject({
      steps: z.int().min(1).optional(),
      timeMs: z.int().min(1).max(MAX_TIMER_MS).optional(),
      ...costBudget,
    })
    .optional()
    .describe(
      'Steps and time: at most what the deployment allows, which is also the default. Cost and tokens: no limit unless given.',
    ),
  metadata: metadata.optional(),
});
export type NewTurn = z.infer<typeof newTurn>;

const decision = (type: 'approve' | 'deny', meaning: string) =>
  z.strictObject({ type: z.literal(type).describe(meaning) });
export const signal = z.discriminatedUnion('type', [
  decision('approve', 'Run the calls the turn waits with.'),
  decision('deny', 'Run none of the calls that need consent.'),
  z.strictObject({
    type: z.literal('decide'),
    rerun: z
      .boolean()
      .describe('Run the calls whose outcome is unknown again, or tell the model that it is unknown.'),
  }),
  z.strictObject({ type: z.literal('steer'), input: turnInput.describe('Joins the turn at its next step.') }),
  z.strictObject({
    type: z.literal('tool_result'),
    callId: name.describe('A call the turn waits for, as turn.waiting lists it or by its own id.'),
    content: z.string(),
    isError: z.boolean().optional().describe('The call failed; the model is told so.'),
  }),
]);
export type Signal = z.infer<typeof signal>;

export const page = z.strictObject({
  limit: z.coerce.number().int().min(1).max(MAX_PAGE).default(DEFAULT_PAGE),
  cursor: z.uuid().optional().describe('next_cursor of the page before.'),
});

export const noQuery = z.strictObject({});

const shownBudget = z
  .strictObject({ cost_micro_usd: count.nullable(), tokens: count.nullable() })
  .nullable()
  .describe('What its calls may come to; null for no limit.');

export const session = z.strictObject({
  id: z.uuid(),
  status: z.enum(['open', 'archived']),
  leg: z.string(),
  ladder: z.array(z.string()).nullable(),
  policy: z.strictObject({ name: z.string(), options: z.record(z.string(), json) }),
  tools: z.array(z.string()).nullable(),
  work_contract: z.string().nullable(),
  locale: z.string().nullable(),
  timezone: z.string().nullable(),
  budget: shownBudget,
  metadata: z.record(z.string(), json),
  head: z.uuid(),
  forked_from: z.uuid().nullable().describe('The session it goes on from.'),
  turns: count.describe('Along its lineage: those of the session it goes on from count.'),
  open_turn: z.uuid().nullable(),
  delegated_by: z
    .strictObject({ session: z.uuid(), turn: z.uuid() })
    .nullable()
    .describe('The turn that made the session for a task of its own.'),
  created_at: time,
});

export const oneSession = z.strictObject({ session });

/** A session alone, with what its calls came to. */
export const costedSession = session.extend(cost.shape);

export const usage = cost.extend({
  calls: count.describe('Model calls that ended, answered or not.'),
  prompt_tokens: z.number().describe('input + cache_read + cache_write.'),
  input_tokens: z.number(),
  cache_read_tokens: z.number(),
  cache_write_tokens: z.number(),
  output_tokens: z.number(),
  tokens: z.number().describe('prompt_tokens + output_tokens: what a budget of tokens is held against.'),
});

export const turn = z.strictObject({
  id: z.uuid(),
  session: z.uuid(),
  head: z.uuid(),
  number: count,
  state: z.enum(TURN_STATES),
  phase: z.string().describe('The state of its machine, such as stepping or tooling.'),
  outcome: z.enum(OUTCOMES).nullable(),
  reason: z.string().nullable(),
  steps: count,
  answer: z.string().nullable(),
  priority: z.int(),
  parked_reason: z.string().nullable(),
  usage,
  budget: shownBudget,
  metadata: z.record(z.string(), json),
  retry_of: z.uuid().nullable().describe('The closed turn whose directive this one carries again.'),
  accepted_at: time,
  started_at: time.nullable(),
  closed_at: time.nullable(),
});

export const replayed = z.strictObject({
  turn: z.uuid(),
  machine: z.string(),
  version: count,
  matches: z.boolean(),
  steps: z.array(
    z.strictObject({
      id: z.string(),
      type: z.string(),
      state: z.string(),
      matches: z.boolean(),
      snapshot: json,
    }),
  ),
});

export const verdict = z.strictObject({
  session: z.uuid(),
  ok: z.boolean(),
  records: count,
  last_digest: z.string().nullable(),
  fault: z.strictObject({ seq: count, kind: z.string(), problem: z.string() }).nullable(),
  broken: z
    .string()
    .nullable()
    .describe('The first law that what is stored beside the records breaks, as "number: reason".'),
});

export const rebuild = z.strictObject({
  session: z.uuid(),
  restored: z.boolean().describe('The projections were written anew.'),
  differences: z.array(
    z.strictObject({
      table: z.string(),
      key: z.string(),
      found: z.enum(['missing', 'surplus', 'different']),
    }),
  ),
});

export const stuckTurn = z.strictObject({
  id: z.uuid(),
  session: z.uuid(),
  number: count,
  cause: z.string(),
  reason: z.string(),
  action: z.string(),
  stuck_seconds: z.number(),
});

export const readiness = z.strictObject({
  status: z.literal('ready'),
  database: z.literal('ok'),
  queue: z.literal('ok'),
});

export const failure = z.strictObject({
  error: z.strictObject({
    code: z.enum(Object.keys(ERROR_CATALOGUE) as [ErrorCode, ...ErrorCode[]]),
    message: z.string(),
    details: z.record(z.string(), z.unknown()).optional(),
  }),
});

function isLocale(text: string): boolean {
  try {
    return Intl.getCanonicalLocales(text).length === 1;
  } catch {
    return false;
  }
}

function isTimezone(text: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

function saysSomething(input: string | readonly z.infer<typeof inputBlock>[]): boolean {
  if (typeof input === 'string') return input.trim() !== '';
  return input.some((block) => block.type === 'image' || block.text.trim() !== '');
}
