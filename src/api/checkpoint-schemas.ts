/** What taking in a checkpoint answers. */
import { z } from 'zod';

export const importedCheckpoint = z.strictObject({
  session: z.uuid(),
  /** Those that were not here before, oldest first; itself last. */
  sessions: z.array(z.strictObject({ session: z.uuid(), records: z.int() })),
});
