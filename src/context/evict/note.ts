/** The line that a model leaves to itself in the place of what it evicts. The runtime never writes one. */
import { byteLength } from '../../ledger/json.ts';
import { NOTE_WORDS } from './wording.ts';

/** In UTF-8. Quoted, such a note fits a residue whatever its characters are. */
export const NOTE_BYTES = 240;

const LINE_BREAK = /[\n\v\f\r\u0085\u2028\u2029]/u;
/** Control characters, what turns the reading direction of the text around it, half a character, and none at all. */
const UNPRINTABLE = /[\p{Cc}\p{Bidi_Control}\p{Cs}\p{Noncharacter_Code_Point}]/u;

export type NoteReading =
  | { readonly ok: true; readonly note: string }
  | {
      readonly ok: false;
      readonly reason: 'note_empty' | 'note_size' | 'note_lines' | 'note_unprintable';
      readonly message: string;
    };

export function parseNote(text: string): NoteReading {
  if (text.trim() === '') return { ok: false, reason: 'note_empty', message: NOTE_WORDS.empty };
  const bytes = byteLength(text);
  if (bytes > NOTE_BYTES)
    return { ok: false, reason: 'note_size', message: NOTE_WORDS.size(bytes, NOTE_BYTES) };
  if (LINE_BREAK.test(text)) return { ok: false, reason: 'note_lines', message: NOTE_WORDS.lines };
  const unprintable = UNPRINTABLE.exec(text)?.[0];
  if (unprintable !== undefined)
    return { ok: false, reason: 'note_unprintable', message: NOTE_WORDS.unprintable(codeOf(unprintable)) };
  return { ok: true, note: text };
}

function codeOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
