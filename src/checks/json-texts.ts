/** The texts of a JSON value, without recursion: what a model sends may nest deeper than a stack. */
import type { Json } from '../ledger/json.ts';

export interface JsonText {
  readonly text: string;
  /** Of a member, rather than a value. */
  readonly isName: boolean;
}

interface Part {
  readonly value: Json;
  readonly isName: boolean;
}

/** Strings, numbers as text, and member names, in the order they are written. */
export function* textsOf(json: Json): Generator<JsonText, void, void> {
  const open: Iterator<Part>[] = [[{ value: json, isName: false }].values()];
  for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
    const next = top.next();
    if (next.done === true) {
      open.pop();
      continue;
    }
    const { value, isName } = next.value;
    if (typeof value === 'string') yield { text: value, isName };
    else if (typeof value === 'number') yield { text: String(value), isName };
    else if (typeof value === 'object' && value !== null) open.push(partsOf(value));
  }
}

function* partsOf(value: Exclude<Json, null | boolean | number | string>): Generator<Part, void, void> {
  for (const [name, member] of Object.entries(value)) {
    if (!Array.isArray(value)) yield { value: name, isName: true };
    yield { value: member, isName: false };
  }
}
