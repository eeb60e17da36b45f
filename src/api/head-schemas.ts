/** Heads of a session, as answers show them, and where a checkout goes. */
import { z } from 'zod';

const MAX_TURN = 2_147_483_647;

const count = z.int().nonnegative();

export const head = z.strictObject({
  id: z.uuid(),
  from: z.uuid().nullable().describe('The head it was made from; null for the first.'),
  after_turn: count.nullable().describe('The newest turn that it goes on from; null for none.'),
  live: z.boolean().describe('Whether new turns go on it.'),
  turns: count.describe('Turns recorded on it, cancelled ones too.'),
  newest_turn: count.nullable(),
  open_turn: z.uuid().nullable(),
});

export const heads = z.strictObject({ heads: z.array(head) });

const turnNumber = z.int().min(0).max(MAX_TURN);

export const anchor = z
  .union([
    z.strictObject({ head: z.uuid().describe('A head of the session.') }),
    z.strictObject({ back: z.int().min(1).max(MAX_TURN).describe('How many of the newest turns leave.') }),
    z.strictObject({ turn: turnNumber.describe('The number of the last turn that stays; 0 for none.') }),
  ])
  .describe('Exactly one of head, back and turn.');

export const checkedOut = z.strictObject({
  head: z.uuid().describe('The live head from now on.'),
  moved: z.boolean().describe('False where it was live before.'),
  cancelled: z.array(z.uuid()).describe('Turns that ran or waited, which were cancelled for it.'),
});
