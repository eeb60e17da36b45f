/** A card as the user saw it: a fact of the ledger, never rebuilt from the call that asked for it. */
import { z } from 'zod';
import { json } from './blocks.ts';

export const presentation = z.strictObject({
  /** `p<n>`, counted along the session. */
  presentation: z.string(),
  source: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('tool-call'), callId: z.string(), step: z.int(), index: z.int() }),
    z.strictObject({ kind: z.literal('fence'), step: z.int() }),
  ]),
  /** The semantic type, such as `metric`. */
  type: z.string(),
  schemaVersion: z.int().positive(),
  title: z.string(),
  /** Validated; stored with its keys in canonical order. */
  payload: json,
  /** blake3 of the payload's canonical JSON, in hex. */
  payloadDigest: z.string(),
  /** What the schema declares to be the card's identity, as a line of text. */
  digest: z.string(),
  /** Evidence ids of the results the turn had when the card was made. */
  derivedFrom: z.array(z.string()),
});
export type Presentation = z.infer<typeof presentation>;
