/** Arguments of tool calls: from a model's text to an object, and from the ledger's block back to one. */
import type { ToolCallBlock } from '../ledger/blocks.ts';
import type { JsonObject } from '../ledger/json.ts';
import { record } from './reading.ts';

/** The ledger walks arguments recursively; no tool's schema comes near this. */
const MAX_ARGS_DEPTH = 64;

type ReadArgs =
  | { readonly args: JsonObject }
  /** Not a JSON object, or one the ledger cannot hold. */
  | { readonly args: null; readonly raw: string };

/** No text at all means a call without arguments. */
export function readArgs(raw: string): ReadArgs {
  if (raw.trim() === '') return { args: {} };
  try {
    const args = storable(JSON.parse(raw));
    if (args !== null) return { args };
  } catch {
    // Falls through: the model repairs a call it is shown, so the text is kept.
  }
  return { args: null, raw };
}

/**
 * What a wire is shown for an earlier call. Every wire or the template behind it wants an object, so arguments
 * that were none travel as the value of one member.
 */
export function shownArgs(block: ToolCallBlock): JsonObject {
  const object = record(block.args);
  return object === null
    ? { invalid_arguments: block.raw ?? JSON.stringify(block.args) }
    : (object as JsonObject);
}

/** An object off the wire that the ledger can hold, else null. */
export function storable(value: unknown): JsonObject | null {
  const object = record(value);
  return object !== null && isStorable(object) ? (object as JsonObject) : null;
}

/** JSON text may spell numbers beyond a double (read as Infinity) and nest without bound. */
function isStorable(root: unknown): boolean {
  let level: unknown[] = [root];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MAX_ARGS_DEPTH) return false;
    const next: unknown[] = [];
    for (const value of level) {
      if (typeof value === 'number' && !Number.isFinite(value)) return false;
      if (typeof value === 'object' && value !== null) {
        for (const member of Object.values(value)) next.push(member);
      }
    }
    level = next;
  }
  return true;
}
