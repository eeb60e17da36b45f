/** What the runtime says of a reply it did not take: `[name] what to do`, as a user's text or as a call's result. */

export interface Correction {
  /** As it stands in the brackets; what it means is not known here. */
  readonly name: string;
  readonly text: string;
}

/** The name and the space behind it stand in the first characters or nowhere. */
const HEAD_CHARS = 120;
const HEAD = /^\s*(?:error:\s*)?\[([a-z][a-z0-9]*(?:-[a-z0-9]+)*)\][ \t]+\S/;
/** A result without an error flag is one only when it is short: a file may begin like a correction, too. */
const MAX_UNFLAGGED_CHARS = 1_000;

/** null for every other text. */
export function correctionIn(text: string): Correction | null {
  const name = HEAD.exec(text.slice(0, HEAD_CHARS))?.[1];
  return name === undefined ? null : { name, text };
}

/** Two of the three wires carry no error flag. */
export function correctionOf(result: { readonly content: string; readonly isError: boolean }) {
  if (!result.isError && result.content.length > MAX_UNFLAGGED_CHARS) return null;
  return correctionIn(result.content);
}
