/** What the forms of a digest share: their result, and the words for sizes. */

/** `body` may hold text of the content as it stood; `shape` is ours alone. */
export interface Form {
  readonly body: string;
  readonly shape: string;
}

/**
 * What a digest shows in full: one line, element, title or scalar of at most so many characters. A longer
 * one is named by its kind and size, since a part of it would be a cut at some length.
 */
export const IN_FULL_CHARS = 2_000;

/** `counted(1, 'line')` is `1 line`, `counted(3, 'key')` is `3 keys`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}
