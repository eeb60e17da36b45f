/** Reading JSON nobody checked yet. */

export type Untyped = { readonly [key: string]: unknown };

export function asObject(value: unknown): Untyped | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Untyped) : null;
}

export function asArray(value: unknown): readonly unknown[] | null {
  return Array.isArray(value) ? value : null;
}

export function asString(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

export function asNumber(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}
