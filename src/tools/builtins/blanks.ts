/** Small models fill properties they do not mean with `""`, `0`, `null` or `{from: 0, to: 0}`. */
import type { Json, JsonObject } from '../../ledger/json.ts';
import type { Tool } from '../contract.ts';

/** The same tool, to which a blank in one of these optional properties counts as absent. */
export function tolerateBlanks(tool: Tool, optional: readonly string[]): Tool {
  return { ...tool, parse: (args) => tool.parse(withoutBlanks(args, optional)) };
}

function withoutBlanks(args: Json, optional: readonly string[]): Json {
  if (!isObject(args)) return args;
  const kept = Object.entries(args).flatMap(([key, value]): [string, Json][] => {
    if (!optional.includes(key)) return [[key, value]];
    const meant = meaning(value);
    return meant === undefined ? [] : [[key, meant]];
  });
  return Object.fromEntries(kept);
}

/** Undefined for a blank. Inside an object a zero may be meant, unless the object says nothing else. */
function meaning(value: Json): Json | undefined {
  if (value === null || value === '' || value === 0) return undefined;
  if (!isObject(value)) return value;
  const members = Object.entries(value).filter(([, member]) => member !== null && member !== '');
  return members.every(([, member]) => member === 0) ? undefined : Object.fromEntries(members);
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
