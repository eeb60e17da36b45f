/**
 * Items: the atoms of a transcript. A prompt is one; so is an assistant message with the results of its calls and what
 * the user said before the next request. The log numbers them as they are written, once in a lineage, and models and
 * people name them by `#<n>`. What became of them is recorded here, and nothing a record says of an item ever changes.
 */
import { z } from 'zod';

const count = z.int().nonnegative();

/** Who took items out of the requests. */
export const EVICTION_AUTHORS = ['model', 'harness', 'operator'] as const;

/** An item as its turn's close tells it: the first is the prompt, the others are steps, in order. */
export const itemEntry = z.strictObject({
  item: count,
  /** First line of its first text, clipped; empty where it has none. */
  label: z.string(),
  /** As it weighs in a request. */
  bytes: count,
});
export type ItemEntry = z.infer<typeof itemEntry>;

/** The newest prompt that the session's own model reported the size of, and whether it was told of the pressure since. */
export const lastMeasure = z.strictObject({
  /** null where no request of the turn was measured. */
  tokens: count.nullable(),
  /** The record of the receipt it was read from; 0 for none. */
  seq: count,
  told: z.boolean(),
});
export type LastMeasure = z.infer<typeof lastMeasure>;

/** Both ends included. What was resident between them left the requests; one residue stands in its place. */
const span = { from: count, to: count } as const;

/** Part of a lineage: records of one head of one session after `afterSeq`, up to `toSeq`, whose digest is `digest`. */
const segment = z.strictObject({
  session: z.uuid(),
  head: z.uuid(),
  afterSeq: count,
  toSeq: count,
  /** Of record `toSeq`: with the chain behind it, it names every record of the segment. */
  digest: z.string(),
  /** Numbers of its turns that had begun; the last may have been open. null where it has none. */
  turns: z.strictObject({ from: count, to: count }).nullable(),
  /** Numbers of its items; null where it has none. */
  items: z.strictObject({ from: count, to: count }).nullable(),
});
export type Segment = z.infer<typeof segment>;

export const ITEM_RECORDS = {
  'head-created': z.strictObject({
    head: z.uuid(),
    from: z.uuid().nullable(),
    /** The newest record that it goes on from; 0 for none. */
    atSeq: count,
    /** Of a head that goes on from an earlier turn: what it carries of before, and the number of its own first turn. */
    goesOn: z.strictObject({ segments: z.array(segment), turn: count }).exactOptional(),
  }),
  /** The resolved edit: a replay applies exactly this. */
  evicted: z.strictObject({ ...span, note: z.string().nullable(), author: z.enum(EVICTION_AUTHORS) }),
  /** After the results of step `step` the model reads how near the next eviction is, and what it would take. */
  'pressure-told': z.strictObject({
    step: count,
    used: count,
    limit: count,
    unit: z.enum(['tokens', 'bytes']),
    would: z.strictObject(span).nullable(),
  }),
  /** Nothing recorded on the head before is carried or read any more. Numbers go on. */
  cleared: z.strictObject({}),
  /** The first record of a fork: what it goes on from, oldest first, each part by the session that recorded it first. */
  inherited: z.strictObject({
    session: z.uuid(),
    head: z.uuid(),
    segments: z.array(segment).min(1),
    /** The numbers that the fork gives out next. */
    next: z.strictObject({ turn: count, item: count, evidence: count, presentation: count }),
  }),
} as const;
