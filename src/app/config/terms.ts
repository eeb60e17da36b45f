/** The values a configuration is made of. Each description completes "allowed is …" in a refusal. */
import { z } from 'zod';

/** The longest a Node timer can wait. */
export const MAX_TIMER_MS = 2_147_483_647;

export const durationMs = z
  .int()
  .min(1)
  .max(MAX_TIMER_MS)
  .describe(`a whole number of milliseconds from 1 to ${MAX_TIMER_MS}`);
export const count = z.int().min(1).describe('a whole number, at least 1');
export const name = z
  .string()
  .regex(/^[A-Za-z0-9][\w.:/-]{0,99}$/)
  .describe('a name of 1 to 100 letters, digits and . _ : / -, starting with a letter or digit');
export const path = z.string().min(1).describe('the path of a folder');
export const flag = z.boolean().describe('true or false');

export function urlOf(schemes: readonly string[], example: string) {
  return z
    .string()
    .refine((text) => {
      if (!URL.canParse(text)) return false;
      const url = new URL(text);
      // `?host=` names the folder of a Unix socket, as libpq spells it.
      return schemes.includes(url.protocol) && (url.hostname !== '' || url.searchParams.has('host'));
    })
    .describe(`a URL like ${example}`);
}
