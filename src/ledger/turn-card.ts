/** What is known of a turn once it closed: written with its closing record, never changed, made without a model. */
import { z } from 'zod';
import { OUTCOMES } from './outcomes.ts';

const count = z.int().nonnegative();

/** Turns are linked by what they did (`observed`) or by what their words say (`inferred`). */
export const LINK_KINDS = ['wrote', 'read', 'named', 'recalled', 'serves', 'continues'] as const;
export type LinkKind = (typeof LINK_KINDS)[number];

/** `to` is a file's path, a turn's number as `T<n>`, or the name of what the turn serves, by kind. */
export const turnLink = z.strictObject({
  kind: z.enum(LINK_KINDS),
  to: z.string(),
  provenance: z.enum(['observed', 'inferred']),
});
export type TurnLink = z.infer<typeof turnLink>;

/** One call of the turn that was no card: `args` in short, `evidence` null when it got no result. */
export const tracedCall = z.strictObject({
  tool: z.string(),
  args: z.string(),
  evidence: z.string().nullable(),
  shape: z.string(),
});
export type TracedCall = z.infer<typeof tracedCall>;

/** `digest` holds the fields its schema declares to be its identity. */
const presentationRef = z.strictObject({
  id: z.string(),
  type: z.string(),
  title: z.string(),
  digest: z.string(),
  derivedFrom: z.array(z.string()),
});

export const turnCard = z.strictObject({
  number: count,
  /** The directive, verbatim up to 60 words, else its first sentence. */
  asked: z.string(),
  did: z.array(tracedCall),
  presentations: z.array(presentationRef),
  /** The prose of the answer, by the same rule. */
  narration: z.string(),
  outcome: z.enum([...OUTCOMES, 'unrecorded']),
  act: z.string(),
  domains: z.array(z.string()),
  links: z.array(turnLink),
  /** What the turn weighs whole and as a card, in bytes as the planner counts them. */
  fullBytes: count,
  cardBytes: count,
});
export type TurnCard = z.infer<typeof turnCard>;
