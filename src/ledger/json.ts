/** Canonical JSON: the one byte form in which a value is stored, hashed and compared. */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

/**
 * Serialises with object keys in code-unit order, no white space, and `undefined` members left out.
 * Two values that are equal as data give equal text; lone surrogates come out as escapes, so the text
 * is always valid UTF-8.
 *
 * @throws TypeError for a number JSON cannot hold (NaN, Infinity) or a value that is not data.
 */
export function canonicalJson(value: unknown): string {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return JSON.stringify(value);
  if (typeof value === 'number') {
    if (!Number.isFinite(value)) throw new TypeError(`canonical JSON cannot hold the number ${value}`);
    return JSON.stringify(value);
  }
  if (Array.isArray(value)) return `[${Array.from(value, (item) => canonicalJson(item ?? null)).join(',')}]`;
  if (isPlainObject(value)) return canonicalObject(value);
  throw new TypeError(`canonical JSON cannot hold a ${nameOf(value)}`);
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function nameOf(value: unknown): string {
  return typeof value === 'object' && value !== null ? Object.prototype.toString.call(value) : typeof value;
}

function canonicalObject(value: Record<string, unknown>): string {
  const parts: string[] = [];
  for (const key of Object.keys(value).sort()) {
    const member = value[key];
    if (member !== undefined) parts.push(`${JSON.stringify(key)}:${canonicalJson(member)}`);
  }
  return `{${parts.join(',')}}`;
}

/** UTF-8 bytes of a text: every size in the ledger and in a budget is counted this way. */
export function byteLength(text: string): number {
  return Buffer.byteLength(text, 'utf8');
}

/** Text that a database column takes: lone surrogates and NUL, which Postgres refuses, are replaced. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\uFFFD');
}
