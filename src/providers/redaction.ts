/** What a failure's message may hold: short, on one line, and never a credential. */

const MAX_MESSAGE_CHARS = 500;
const MASK = '[redacted]';
/** Shapes that are credentials whoever issued them: a bearer value, or a dashed key of the common prefixes. */
const CREDENTIAL_SHAPES = /\bbearer\s+[^\s"',;]+|\b(?:sk|pk|rk|gsk|xai|key)-[\w*.-]{6,}/gi;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it removes
const BLANKS = /[\s\u0000-\u001f\u007f]+/g;

/** Masks `secret` in every form a server may echo it in, then shortens to 500 characters. */
export function safeMessage(message: string, secret: string | undefined): string {
  let safe = message;
  for (const form of formsOf(secret)) safe = safe.replaceAll(form, MASK);
  safe = safe.replace(CREDENTIAL_SHAPES, MASK).replace(BLANKS, ' ').trim();
  const chars = Array.from(safe.slice(0, 2 * MAX_MESSAGE_CHARS));
  return chars.length > MAX_MESSAGE_CHARS ? `${chars.slice(0, MAX_MESSAGE_CHARS - 1).join('')}…` : safe;
}

function formsOf(secret: string | undefined): readonly string[] {
  if (secret === undefined || secret === '') return [];
  const forms = [
    secret,
    encodeURIComponent(secret),
    JSON.stringify(secret).slice(1, -1),
    Buffer.from(secret, 'utf8').toString('base64'),
  ];
  return [...new Set(forms)];
}
