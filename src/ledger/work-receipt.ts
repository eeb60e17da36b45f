/** What a call to a model cost and how it ended. */
import { z } from 'zod';

const count = z.int().nonnegative();

/** What a call to a model is for. */
export const CALL_PURPOSES = ['step', 'intent', 'summary', 'probe', 'embedding'] as const;
export type CallPurpose = (typeof CALL_PURPOSES)[number];

const cacheAnswer = z.enum(['hit', 'miss']);
/** Whether a cache answered, and what each layer that was asked said. */
const cacheProbe = z.strictObject({
  request: cacheAnswer,
  layers: z.strictObject({ process: cacheAnswer.exactOptional(), store: cacheAnswer.exactOptional() }),
});

const usage = z.strictObject({
  inputTokens: z.number(),
  cacheReadTokens: z.number(),
  cacheWriteTokens: z.number(),
  outputTokens: z.number(),
  reasoningTokens: z.number().exactOptional(),
});

export const workReceipt = z.strictObject({
  child: z.string(),
  step: count,
  purpose: z.enum(CALL_PURPOSES),
  leg: z.string(),
  provider: z.string(),
  model: z.string(),
  attempt: count,
  settlement: z.string(),
  /** What the provider said of a failure, credentials removed. */
  problem: z.string().nullable(),
  usage: usage.nullable(),
  /** When it ended, ISO 8601 UTC: the day it counts for, and the rates it was priced by. */
  at: z.string(),
  /** null where no rate is known, or a failed call reported no usage. `rate` names the row it was priced by. */
  microUsd: count.nullable(),
  rate: z.string().nullable(),
  /** Left out where no cache of replies was asked. A reply from one is never billed. */
  cache: cacheProbe.exactOptional(),
  requestDigest: z.string(),
  /** Where the provider held the rest: how many of the request's messages were not sent, and the digest of those that were. */
  continued: z.strictObject({ messages: count, sentDigest: z.string() }).exactOptional(),
  prefixDigest: z.string().nullable(),
  requestBytes: count,
  firstTokenMs: z.number().nullable(),
  totalMs: z.number(),
});
