/** JSON objects that stand in a text. */
import type { Json, JsonObject } from '../ledger/json.ts';

/** What a call or a card holds is far shorter; the bound keeps a text full of braces linear. */
const MAX_OBJECT_CHARS = 65_536;

export interface WrittenObject {
  readonly value: JsonObject;
  /** Index behind its closing brace. */
  readonly end: number;
}

/** The object whose brace stands at `start`; null where it is never closed, too long, or no JSON. */
export function objectAt(text: string, start: number): WrittenObject | null {
  const end = objectEnd(text, start);
  const value = end === null ? null : parsedObject(text.slice(start, end));
  return end === null || value === null ? null : { value, end };
}

/** The brace that opens the object in which `at` stands; null where none does. Strings are not told apart. */
export function openingBrace(text: string, at: number): number | null {
  const least = Math.max(0, at - MAX_OBJECT_CHARS);
  let depth = 0;
  for (let index = at - 1; index >= least; index--) {
    const sign = text[index];
    if (sign === '}') depth += 1;
    else if (sign === '{') {
      if (depth === 0) return index;
      depth -= 1;
    }
  }
  return null;
}

export function parsedObject(written: string): JsonObject | null {
  const text = written.trim();
  // A refusal of the parser costs microseconds, and a hostile text may hold a great many such blocks.
  if (!text.startsWith('{') || !text.endsWith('}')) return null;
  try {
    const value = JSON.parse(text) as Json;
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function objectEnd(text: string, start: number): number | null {
  const most = Math.min(text.length, start + MAX_OBJECT_CHARS);
  let depth = 0;
  let inString = false;
  for (let at = start; at < most; at++) {
    const sign = text[at];
    if (sign === '\\' && inString) at += 1;
    else if (sign === '"') inString = !inString;
    else if (inString) continue;
    else if (sign === '{') depth += 1;
    else if (sign === '}') {
      depth -= 1;
      if (depth === 0) return at + 1;
    }
  }
  return null;
}
