/** Takes secrets out of what a service answers: it may echo what it was sent. */

const MASK = '[redacted]';
/** A part of a secret shorter than this is a word, such as the scheme before a token. */
const MIN_PART_CHARS = 8;

export interface Mask {
  /** Of the longest form looked for: a text cut short must have been read so much further to be masked. */
  readonly longestBytes: number;
  apply(text: string): string;
}

export function maskOf(secrets: readonly string[]): Mask {
  const forms = [...new Set(secrets.flatMap(partsOf).flatMap(formsOf))].sort((a, b) => b.length - a.length);
  return {
    longestBytes: Math.max(0, ...forms.map((form) => Buffer.byteLength(form, 'utf8'))),
    apply: (text) => forms.reduce((masked, form) => masked.replaceAll(form, MASK), text),
  };
}

/** The whole, and the token of a value such as `Bearer <token>`. */
function partsOf(secret: string): readonly string[] {
  const parts = secret.split(' ').filter((part) => part.length >= MIN_PART_CHARS);
  return secret === '' ? [] : [secret, ...parts];
}

function formsOf(part: string): readonly string[] {
  return [
    part,
    encodeURIComponent(part.toWellFormed()),
    JSON.stringify(part).slice(1, -1),
    Buffer.from(part, 'utf8').toString('base64'),
  ];
}
