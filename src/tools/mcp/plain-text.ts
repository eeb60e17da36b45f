/** What a server wrote, as text that a ledger and a terminal can take. */
import { byteLength } from '../../ledger/json.ts';

/** Everything that steers a terminal or ends a C string; tabs and line breaks are text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it replaces
const CONTROLS = /\r(?!\n)|[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;
const REPLACEMENT = '\uFFFD';

export function plainText(text: string): string {
  return text.toWellFormed().replace(CONTROLS, REPLACEMENT);
}

/** The beginning of a text that fits into so many bytes, cut between characters. */
export function firstBytes(text: string, maxBytes: number): string {
  if (byteLength(text) <= maxBytes) return text;
  const bytes = Buffer.from(text, 'utf8').subarray(0, maxBytes);
  // A cut character would decode to a replacement; in streaming mode it is held back instead.
  return new TextDecoder().decode(bytes, { stream: true });
}
