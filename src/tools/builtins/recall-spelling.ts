/** How a `recall` may be spelled: examples for a model that asked for nothing, leniency for one that asked loosely. */
import type { Json } from '../../ledger/json.ts';
import type { Tool } from '../contract.ts';

/** Words small models write where they mean nothing. Not of a query, which may look for them. */
const NOTHING = /^(?:null|none|nil|undefined)?$/i;
const BLANKABLE = new Set(['id', 'range', 'chars', 'presentation', 'turn', 'turn_id', 'limit']);
const NUMBER = /^[t#]?(\d{1,9})$/i;
const NUMERIC = new Set(['turn', 'limit']);

/** Takes surrounding white space off texts, "T17" and "17" for 17, and words that mean nothing for absent. */
export function tolerateSpellings(tool: Tool): Tool {
  return { ...tool, parse: (args) => tool.parse(readLoosely(args)) };
}

function readLoosely(args: Json): Json {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return args;
  return Object.fromEntries(Object.entries(args).map(([key, value]) => [key, readValue(key, value)]));
}

function readValue(key: string, value: Json): Json {
  if (typeof value !== 'string') return value;
  const text = value.trim();
  if (BLANKABLE.has(key) && NOTHING.test(text)) return null;
  const digits = NUMERIC.has(key) ? NUMBER.exec(text)?.[1] : undefined;
  return digits === undefined ? text : Number(digits);
}

/** One call of each form; `evidence` and `turn` exist where anything does. */
export function exampleCalls(evidence: string, turn: number): readonly string[] {
  return [
    { id: evidence },
    { id: evidence, range: { from: 1, to: 40 } },
    { id: evidence, chars: { from: 0, to: 2_000 } },
    { presentation: 'p1' },
    { turn },
    { turn_id: '01890000-0000-7000-8000-000000000001' },
    { query: 'words of what you look for', limit: 8 },
  ].map(spelledCall);
}

export function spelledCall(args: { readonly [key: string]: Json }): string {
  return `recall(${JSON.stringify(args)})`;
}
