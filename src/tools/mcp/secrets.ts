/** The values a server is given by reference, and how they are kept out of everything it says. */

const MASK = '[redacted]';
/** Shorter texts occur by chance, and masking them would garble what a server says. */
const MIN_SECRET_CHARS = 6;

/** The value of an environment variable of this process. */
export type Lookup = (variable: string) => string | undefined;

export type Resolved =
  | { readonly ok: true; readonly values: Readonly<Record<string, string>> }
  | { readonly ok: false; readonly missing: readonly string[] };

/** The values behind names of variables; one that is not set, or set to nothing, is missing. */
export function resolveSecrets(names: Readonly<Record<string, string>>, lookup: Lookup): Resolved {
  const found = Object.entries(names).map(([key, variable]) => ({ key, variable, value: lookup(variable) }));
  const missing = found.filter(({ value }) => (value ?? '') === '').map(({ variable }) => variable);
  if (missing.length > 0) return { ok: false, missing: [...new Set(missing)] };
  return { ok: true, values: Object.fromEntries(found.map(({ key, value }) => [key, value ?? ''])) };
}

/** Masks the values in the forms that texts, JSON and URLs give them. */
export function createMask(values: readonly string[]): (text: string) => string {
  // Of `Bearer abc` a server may repeat either part; only the last is secret.
  const whole = values.flatMap((value) => [value, value.trim().split(/\s+/).at(-1) ?? '']);
  const forms = whole.filter((value) => value.length >= MIN_SECRET_CHARS).flatMap(formsOf);
  // The longest first: a secret may hold another.
  const known = [...new Set(forms)].sort((a, b) => b.length - a.length);
  return (text) => known.reduce((masked, form) => masked.replaceAll(form, MASK), text);
}

function formsOf(secret: string): readonly string[] {
  const inJson = JSON.stringify(secret).slice(1, -1);
  return [
    secret,
    inJson,
    JSON.stringify(inJson).slice(1, -1),
    encodeURIComponent(secret),
    ...innerBase64(secret),
    Buffer.from(secret).toString('hex'),
  ];
}

/** How the secret reads inside a longer text in base64, at each of the three places it may begin. */
function innerBase64(secret: string): readonly string[] {
  return [0, 1, 2].map((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
    const whole = bytes.toString('base64').replaceAll('=', '');
    // What shares a character with its neighbours differs with them.
    const from = Math.ceil((before * 4) / 3);
    return whole.slice(from, bytes.length % 3 === 0 ? undefined : -1);
  });
}
