/** What a request carries, would carry or carried, as answers show it. Sizes in tokens are those of the profile named beside them. */
import { z } from 'zod';
import { json } from '../ledger/blocks.ts';
import { POLICIES } from '../ledger/kinds.ts';
import { LINK_KINDS } from '../ledger/turn-card.ts';

const MAX_TEXT_CHARS = 8_000;
const MAX_NAME_CHARS = 100;
const MAX_STEP = 1_000_000;
const MAX_TARGET_CHARS = 4_096;
const MAX_NOTE_CHARS = 4_000;
const MAX_SELECTED = 100;
const MAX_PAGE = 200;
const DEFAULT_PAGE = 50;

const count = z.int().nonnegative();
const tokens = z.number().nonnegative();
const range = z.strictObject({ from: count, to: count });

export const planQuery = z.strictObject({
  policy: z
    .enum(POLICIES, { error: `allowed is ${POLICIES.join(', ')}` })
    .optional()
    .describe('The policy to plan under; the session’s own unless given.'),
  leg: z
    .string()
    .min(1)
    .max(MAX_NAME_CHARS)
    .optional()
    .describe('A configured leg; the session’s own unless given.'),
  text: z
    .string()
    .min(1)
    .max(MAX_TEXT_CHARS)
    .optional()
    .describe('The directive to plan for; left out, the plan is for room alone.'),
});

export const requestQuery = z.strictObject({
  step: z.coerce.number().int().min(1).max(MAX_STEP).describe('The step that sent it, counted from 1.'),
});

export const presentationsQuery = z.strictObject({
  limit: z.coerce.number().int().min(1).max(MAX_PAGE).default(DEFAULT_PAGE),
  cursor: z
    .string()
    .regex(/^p[1-9]\d{0,8}$/u, 'a card such as p12')
    .optional()
    .describe('next_cursor of the page before.'),
});

/** The tool checks them, and says in its own words what is wrong. */
export const recallArguments = z
  .record(z.string(), json)
  .describe(
    'Arguments of the recall tool: id with range or chars, presentation, turn, turn_id, or query with limit.',
  );

export const newFeedback = z.strictObject({
  verdict: z.enum(['helpful', 'unhelpful', 'dismissed']),
  note: z.string().min(1).max(MAX_NOTE_CHARS).optional(),
});

export const newSelection = z.strictObject({
  selected: z
    .array(z.string().min(1).max(MAX_NOTE_CHARS))
    .min(1)
    .max(MAX_SELECTED)
    .describe('What was picked, in the card’s own words.'),
});

export const newRetraction = z.strictObject({
  turn: z.int().min(1).max(2_147_483_647).describe('Number of the turn whose link it is.'),
  kind: z.enum(LINK_KINDS),
  to: z.string().min(1).max(MAX_TARGET_CHARS).describe('What it leads to: a path, T<n>, or a name.'),
  reason: z.string().min(1).max(MAX_NOTE_CHARS),
});

const profile = z.strictObject({
  window: tokens.describe('Tokens of the window, as far as it is known to hold.'),
  horizon_tokens: tokens,
  confidence: z.number().describe('0 to 1: how sure the horizon is.'),
  tokens_per_byte: z.number(),
});

const piece = z.strictObject({
  from: count,
  to: count,
  unit: z.enum(['turn', 'item']).describe('What from and to are the numbers of: items under evict.'),
  fidelity: z.enum(['full', 'card', 'packet', 'verbatim', 'residue']),
  tokens,
  reason: z.string(),
});

/** Where a request stands to what it may be: only under evict. */
const room = z
  .strictObject({
    unit: z.enum(['tokens', 'bytes']).describe('bytes where nobody knows the window.'),
    used: tokens.nullable().describe('null where nothing was measured since the history was edited.'),
    limit: tokens.nullable(),
    pressure_from: tokens.describe('From here on the model is told.'),
    due_from: tokens.describe('From here on an eviction is due.'),
  })
  .nullable();

const promotion = z.strictObject({
  number: count,
  by: z.enum(['relevance', 'anaphora', 'link']),
  value: z.number(),
  path: z.array(z.string()).optional(),
});

const packet = z
  .strictObject({ from: count, to: count, quality: z.enum(['deterministic', 'model']), tokens })
  .nullable();

/** What a plan chose, whether it was sent or not. */
const planned = {
  budget_tokens: tokens.describe('Tokens left for history.'),
  spent_tokens: tokens,
  prefix_tokens: tokens,
  left_out: count.describe('Turns that not even a packet names: there is no room for one.'),
  packet,
  continues: count.nullable().describe('The turn whose thread it goes on with.'),
  pieces: z.array(piece).describe('The history, oldest first.'),
  promoted: z.array(promotion).describe('Turns that are whole for another reason than their age.'),
  room,
};

export const dryPlan = z.strictObject({
  session: z.uuid(),
  turn_number: count.describe(
    'The turn it is made for: the next one, or the one that runs, of the turns closed before it.',
  ),
  policy: z.enum(POLICIES),
  leg: z.string(),
  profile,
  ceiling_tokens: tokens.describe('The largest prompt.'),
  open_turn_tokens: tokens.describe('The directive with what is said beside it.'),
  ...planned,
  wants: range.nullable().describe('Turns a summary should stand for and does not yet.'),
  evicts: range.nullable().describe('Items that would leave before the request is sent.'),
});

const receiptUsage = z.strictObject({
  input_tokens: z.number(),
  cache_read_tokens: z.number(),
  cache_write_tokens: z.number(),
  output_tokens: z.number(),
});

const sentCall = z.strictObject({
  step: count,
  attempt: count,
  leg: z.string(),
  model: z.string(),
  settlement: z.string().describe('answered, or how the call failed.'),
  request_digest: z.string(),
  request_bytes: count,
  usage: receiptUsage.nullable(),
});

export const sessionContext = z.strictObject({
  session: z.uuid(),
  context: z
    .strictObject({
      turn: z.uuid(),
      turn_number: count,
      status: z.enum(['accepted', 'running', 'closed']),
      steps: count.describe('Steps that have an answer.'),
      leg: z.string().nullable().describe('Of its last model call.'),
      assembler: count,
      policy: z.string(),
      prefix_digest: z.string(),
      prefix_bytes: count,
      profile,
      ...planned,
      degraded: z.boolean().describe('A summary was wanted and could not be had.'),
      handoff: z.strictObject({ record: count, tokens }).nullable(),
      calls: z.array(sentCall),
    })
    .nullable()
    .describe('Of the turn that was planned last; null before the first.'),
});

export const sentRequest = z.strictObject({
  turn: z.uuid(),
  step: count,
  assembler: count,
  settlement: z.string(),
  request_digest: z.string().describe('Of the bytes that were sent, as the receipt names it.'),
  rebuilt_digest: z.string().nullable(),
  same: z
    .boolean()
    .nullable()
    .describe('Whether the records still make those bytes; null where that cannot be told.'),
  notice: z.string().nullable(),
  request_bytes: count,
  messages: count.nullable(),
  request: z
    .strictObject({ system: z.string(), tools: json, messages: json, max_tokens: z.number() })
    .optional()
    .describe('Only for a key with the scope content.'),
});

export const recalled = z.strictObject({
  content: z.string(),
  is_error: z.boolean().describe('There is nothing of that name; the content says what there is.'),
});

export const compacted = z.strictObject({
  session: z.uuid(),
  wants: range.nullable().describe('Turns a summary should stand for and does not yet.'),
  started: z.boolean(),
  actor: z.uuid().nullable().describe('What writes the summary.'),
  notice: z.string(),
});

export const presentation = z.strictObject({
  id: z.string(),
  turn: z.uuid(),
  turn_number: count,
  type: z.string(),
  title: z.string(),
  source: z.enum(['tool-call', 'fence']),
  derived_from: z.array(z.string()).describe('Evidence the turn had when the card was made.'),
  payload: json.optional().describe('Only for a key with the scope content.'),
});

export const recorded = z.strictObject({ record: count.describe('Its number in the ledger.') });

export const retracted = z.strictObject({ retracted: newRetraction, epoch: count });
