/** What a standard turn says, for whoever runs one. */
import { randomBytes } from 'node:crypto';

export const DIRECTIVE = 'Look up both parts of the standard turn and say what they hold.';
export const TOOL_STEPS = 2;
export const RESULT_CHARS = 2_048;
export const ANSWER_CHARS = 500;
/** The directive, the results, the answer. */
export const CONTENT_BYTES = DIRECTIVE.length + TOOL_STEPS * RESULT_CHARS + ANSWER_CHARS;

const BASE64_CHARS_PER_BYTE = 4 / 3;

/** Text that no database compresses, so that bytes on disk are not flattered. */
export function text(chars: number): string {
  return randomBytes(Math.ceil(chars / BASE64_CHARS_PER_BYTE))
    .toString('base64')
    .slice(0, chars);
}
