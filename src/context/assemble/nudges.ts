/** The wording of every control message, by the check that sends it. Records name the check, never the text. */
import type { BodyOf } from '../../ledger/kinds.ts';

const NUDGES = {
  'empty-step':
    '[empty-step] Your last reply held neither text nor a tool call, so nothing was done. If you planned an action, take it now by calling the tool; if you know the answer, write it. A call whose arguments were not valid JSON may have been dropped.',
} as const satisfies Record<BodyOf<'nudge'>['check'], string>;

export function nudgeText(check: keyof typeof NUDGES): string {
  return NUDGES[check];
}
