/** The transcript of a session as requests ask of it and answers show it. */
import { z } from 'zod';
import { EVICTION_AUTHORS } from '../ledger/items.ts';

/** What one page lists unless a request says otherwise, and at most: an answer of a few hundred kilobytes. */
const PAGE_ITEMS = 500;
const MAX_ITEM = 2_147_483_647;
const MAX_NAMED_ITEMS = 10_000;
const MAX_PATTERN_CHARS = 1_000;
const MAX_NOTE_CHARS = 4_000;
/** A search that takes longer is cut short; clients wait 30 s for an answer. */
const SEARCH_DEADLINE_MS = 25_000;

const count = z.int().nonnegative();
const item = z.int().min(0).max(MAX_ITEM);
const named = z.array(item, { error: 'a list of items, such as [12, 13]' }).max(MAX_NAMED_ITEMS);
const span = { from: count, to: count };

export const transcriptQuery = z.strictObject({
  after: z.coerce
    .number()
    .int()
    .min(0)
    .max(MAX_ITEM)
    .default(0)
    .describe('Items after this one: next of the page before.'),
  limit: z.coerce.number().int().min(1).max(PAGE_ITEMS).default(PAGE_ITEMS),
  head: z.uuid().optional().describe('A head of the session; the live one unless given.'),
});

export const transcriptRead = z.strictObject({
  items: named.describe('Numbers of items, in any order.'),
});

export const transcriptGrep = z.strictObject({
  pattern: z
    .string()
    .min(1)
    .max(MAX_PATTERN_CHARS)
    .describe('An expression in the syntax of RE2, matched line by line.'),
  items: z
    .union([z.literal('all', { error: 'allowed is "all"' }), named])
    .describe('What to search: "all", or numbers of items.'),
  deadlineMs: z
    .int()
    .min(1)
    .max(SEARCH_DEADLINE_MS)
    .default(SEARCH_DEADLINE_MS)
    .describe('A search that is not done by then answers with what it has.'),
});

export const newEviction = z.strictObject({
  from: item.describe('The first item to take out.'),
  to: item.describe('The last, included.'),
  note: z
    .string()
    .max(MAX_NOTE_CHARS)
    .optional()
    .describe('One line that stands in their place, of at most 240 bytes.'),
});

const fault = {
  session: z.uuid(),
  record: count.describe('0 where no single record is at fault.'),
  reason: z.string(),
};

export const transcriptIndex = z.strictObject({
  session: z.uuid(),
  items: z.array(
    z.strictObject({
      item: count,
      role: z.enum(['user', 'assistant']),
      kind: z.enum(['own', 'import', 'inherited']),
      label: z.string().describe('First line of its first text, clipped; empty where it has none.'),
      bytes: count.describe('As it weighs, or weighed, in a request.'),
      held: z.enum(['resident', 'evicted']),
      turn: count.describe('Number of its turn.'),
      session: z.uuid().describe('That recorded it.'),
    }),
  ),
  evictions: z
    .array(z.strictObject({ ...span, note: z.string().nullable(), author: z.enum(EVICTION_AUTHORS) }))
    .describe('Spans that left the requests and end in this page, in the order it was done.'),
  unlisted: z
    .array(z.strictObject({ turn: count, ...fault }))
    .describe('Turns whose items cannot be told: a record of theirs is missing or altered.'),
  open: count.nullable().describe('The item that is still being recorded; null at rest.'),
  next: count.nullable().describe('after of the next page; null on the last.'),
});

const part = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string() }),
  z.strictObject({
    type: z.literal('program'),
    tool: z.string(),
    source: z.string().describe('The arguments of the call.'),
    arg_names: z.array(z.string()),
  }),
  z.strictObject({
    type: z.literal('result'),
    tool: z.string(),
    call_id: z.string(),
    status: z.string(),
    evidence: z.string().nullable(),
    text: z.string().describe('The whole, whatever a request carried of it.'),
  }),
  z.strictObject({ type: z.literal('reasoning'), text: z.string() }),
  z.strictObject({ type: z.literal('binary'), media_type: z.string(), bytes: count }),
  z.strictObject({ type: z.literal('custom'), kind: z.string() }),
]);

export const transcriptItems = z.strictObject({
  session: z.uuid(),
  items: z.array(
    z.strictObject({
      item: count,
      turn: count,
      role: z.enum(['user', 'assistant']),
      messages: z.array(
        z.strictObject({ role: z.enum(['user', 'assistant', 'tool']), parts: z.array(part) }),
      ),
    }),
  ),
});

export const transcriptFound = z.strictObject({
  session: z.uuid(),
  hits: z
    .array(
      z.strictObject({
        item: count,
        turn: count,
        message: count.describe('Within the item, counted from 1.'),
        line: count.describe('Within the message, counted from 1.'),
        text: z.string().describe('At most 200 bytes of the line.'),
      }),
    )
    .describe('The oldest, at most 100.'),
  total: count.describe('Of every line that matches in what was searched.'),
  skipped: z.strictObject({
    turns: count.describe('Turns that could not be read; nothing of them is in total.'),
    first: z.strictObject({ item: count, ...fault }).nullable(),
  }),
  complete: z.boolean(),
  searched_to: z
    .strictObject({ item: count, of: count })
    .nullable()
    .describe('Where a search that was cut short had come to.'),
});

export const evicted = z.strictObject({
  session: z.uuid(),
  evicted: z
    .strictObject({ ...span, note: z.string().nullable(), record: count })
    .describe('As it was resolved.'),
  history_bytes: count.describe('What the next request carries of the history.'),
  pieces: z
    .array(
      z.strictObject({
        unit: z.literal('item'),
        ...span,
        fidelity: z.enum(['verbatim', 'residue']),
        bytes: count,
        reason: z.string(),
      }),
    )
    .describe('Of the next request, oldest first; neighbours carried alike are one.'),
});
