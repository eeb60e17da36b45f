/** The bodies and answers of forks and clears. */
import { z } from 'zod';
import { newSession } from './schemas.ts';

/** What a fork may have of its own. All else is as the session has it that it goes on from. */
export const newFork = newSession.pick({
  leg: true,
  ladder: true,
  policy: true,
  system: true,
  metadata: true,
});
export type NewFork = z.infer<typeof newFork>;

export const cleared = z.strictObject({
  session: z.uuid(),
  cleared: z.boolean().describe('False where there was nothing to clear.'),
  cancelled: z.array(z.uuid()).describe('Turns that were cancelled for it, oldest first.'),
});
