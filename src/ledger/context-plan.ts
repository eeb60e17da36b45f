/** What a turn's requests carry of what was before it, as it was planned. */
import { z } from 'zod';
import { json } from './blocks.ts';
import { LINEAGES } from './reading.ts';

const count = z.int().nonnegative();

/** `runs` are turn numbers, both ends included, oldest first: the history a request carries. */
const planRun = z.strictObject({ from: count, to: count, fidelity: z.enum(['full', 'card', 'packet']) });
export const packetQuality = z.enum(['deterministic', 'model']);
/** `seq` is the stored packet's record; null for one made from cards as the request is assembled. */
const plannedPacket = z.strictObject({
  from: count,
  to: count,
  quality: packetQuality,
  bytes: count,
  seq: count.nullable(),
});
const promotion = z.strictObject({
  number: count,
  by: z.enum(['relevance', 'anaphora', 'link']),
  value: z.number(),
  path: z.array(z.string()).optional(),
});

export const contextPlan = z.strictObject({
  assembler: count,
  policy: z.string(),
  runs: z.array(planRun),
  packet: plannedPacket.nullable(),
  /** The summariser failed or was late, and what stands in for its packet was made without it. */
  degraded: z.boolean(),
  promoted: z.array(promotion),
  /** How the directive's parts stand to what was asked before, where any part is not new. */
  strands: z
    .array(
      z.strictObject({
        lineage: z.enum(LINEAGES),
        thread: z.string().nullable(),
        merges: z.array(z.string()),
      }),
    )
    .exactOptional(),
  /** The turn whose thread this one goes on with. */
  continues: count.nullable(),
  /** The record of the reset that stands before the history. */
  reset: count.nullable(),
  budgetTokens: z.number(),
  spentTokens: z.number(),
  leftOut: count,
  prefixDigest: z.string(),
  /** Tools beyond the always loaded ones that the prefix held when the turn was planned. */
  loaded: z.array(z.string()).exactOptional(),
  /** Over-length refusals the turn had met when it was planned. */
  rejections: count,
  /** Under `evict`: the largest prompt the model may get; null where nobody knows its window. */
  limitTokens: count.nullable().exactOptional(),
  /** Under `evict`: as the turn began, the model knew of the pressure it stands under. */
  told: z.boolean().exactOptional(),
  profile: z.record(z.string(), json),
});
