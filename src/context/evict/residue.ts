/** What stands in a request where a span left it: one message of the user's voice, short whatever it covers. */
import { weighMessages } from '../assemble/weigh.ts';
import type { ChatMessage } from '../request.ts';
import type { Eviction } from './contract.ts';
import { parseNote } from './note.ts';
import { residueWords, stampWords } from './wording.ts';

/** Most that a residue has, in UTF-8. */
export const RESIDUE_BYTES = 640;

type Left = Pick<Eviction, 'from' | 'to' | 'note'>;

/**
 * At most 640 bytes for numbers up to 2^31. A note that would not be taken today, as a foreign log may hold one, is
 * left out: the transcript lists it.
 */
export function residueText({ from, to, note }: Left): string {
  const read = note === null ? null : parseNote(note);
  return residueWords({ from, to }, read?.ok === true ? read.note : null);
}

/** A model imitates what seems to be its own words, and a system message would lose its place: so the user's. */
export function residueMessages(left: Left): readonly ChatMessage[] {
  return [{ role: 'user', content: [{ type: 'text', text: residueText(left) }] }];
}

/** As it weighs in a request. */
export function residueBytes(left: Left): number {
  return weighMessages(residueMessages(left));
}

/** Ends every tool result under `evict`, after its text was made harmless: so a model knows what to name. */
export function stampText(item: number): string {
  return stampWords(item);
}
