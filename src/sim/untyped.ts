/** Reading JSON nobody checked yet. */
import type { z } from 'zod';

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

/** `0.fault.delayMs: what is wrong`: the first field a schema refused. */
export function firstIssue(error: z.ZodError): string {
  const issue = error.issues[0];
  const path = issue === undefined || issue.path.length === 0 ? 'the body' : issue.path.join('.');
  return `${path}: ${issue?.message ?? 'not as the schema demands'}`;
}
