/** Looks into data a provider sent. Nothing from a wire is trusted to have the type its documentation states. */

/** Above this a token count is a defect of the sender, not a count. */
const MAX_TOKEN_COUNT = 1_000_000_000;

export function record(value: unknown): Readonly<Record<string, unknown>> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : null;
}

export function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** A string that says something, else null. */
export function text(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null;
}

/** A whole, plausible number of tokens, else null. */
export function tokenCount(value: unknown): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_TOKEN_COUNT
    ? value
    : null;
}

/** The first of these fields that holds a positive token count. */
export function firstLimit(source: unknown, fields: readonly string[]): number | null {
  const values = record(source);
  for (const field of fields) {
    const count = tokenCount(values?.[field]);
    if (count !== null && count > 0) return count;
  }
  return null;
}

/** A table's entry for a word off the wire; a word such as `constructor` is not in a table for being an object's. */
export function lookUp<T>(table: Readonly<Record<string, T>>, word: unknown): T | undefined {
  return typeof word === 'string' && Object.hasOwn(table, word) ? table[word] : undefined;
}
