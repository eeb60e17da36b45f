/** A call with its result, as a conversation tells it. */
import type { ToolCallBlock, ToolResultBlock } from '../../ledger/blocks.ts';
import type { Json } from '../../ledger/json.ts';
import { correctionOf } from './corrections.ts';
import { unstamped } from './notices.ts';
import { filesIn } from './terms.ts';
import { type TranscriptCall, transcriptCallOf } from './transcript-text.ts';

export interface Outcome {
  readonly name: string;
  readonly args: Json;
  readonly content: string;
  readonly failed: boolean;
  /** Made for the directive that stands now. */
  readonly current: boolean;
  /** File the arguments name; null when they name none. */
  readonly path: string | null;
  /** Text of earlier turns: a turn by its number, or a list of turns each with the call that opens it. */
  readonly past: boolean;
  /** What was asked of the transcript; null for every other call. */
  readonly lookup: TranscriptCall | null;
  /** Number of the item it is a part of, where the result is stamped with it. */
  readonly item: number | null;
  /** Index of the message that holds the result: calls of one step share it. */
  readonly at: number;
  /** Nothing was called or answered since. */
  readonly last: boolean;
}

/** What was said before a result, oldest first. */
type Said = readonly { readonly role: 'user' | 'assistant'; readonly text: string }[];

/** Two of the three wires carry no error flag: a failed result is known by how it begins. */
const FAILURE = /^\s*\W?(?:errors?|failed|failure|no such|not found|cannot|could not|unknown|invalid)\b/i;
/** One that says in a last line how to go on has failed, too; a schema may follow it. */
const REPAIR_HINT = /\nTo repair: [^\n]*(?:\n[^\n]*)?$/;

export function outcomeOf(
  result: ToolResultBlock,
  call: ToolCallBlock | undefined,
  current: boolean,
  before: readonly Outcome[],
  said: Said,
): Omit<Outcome, 'at' | 'last'> {
  const args = call?.args ?? null;
  const name = call?.name ?? result.name;
  const { content, item } = unstamped(result.content);
  const bare = { content, isError: result.isError };
  const lookup = transcriptCallOf(args);
  return {
    name,
    args,
    content,
    failed: saysFailure(bare) || correctionOf(bare) !== null,
    current,
    path: pathIn(args) ?? pathOfEvidence(args, before) ?? pathOfListed(args, said),
    past: lookup !== null || ofThePast(args, name, content),
    lookup,
    item,
  };
}

function saysFailure({ isError, content }: Pick<ToolResultBlock, 'isError' | 'content'>): boolean {
  return isError || FAILURE.test(content) || REPAIR_HINT.test(content);
}

/** The argument by which a tool takes a turn. */
export const TURN_NAME = /^turns?(?:_?(?:id|number|no))?$/i;

function ofThePast(args: Json, name: string, content: string): boolean {
  return asksForTurn(args) || (args !== null && content.includes(`${name}({`));
}

export function asksForTurn(args: Json): boolean {
  return typeof args === 'object' && args !== null && Object.keys(args).some((key) => TURN_NAME.test(key));
}

/** A line of a list of ids, `- e7: …`, may name the file whose text the id brings back. */
function pathOfListed(args: Json, said: Said): string | null {
  if (typeof args !== 'object' || args === null) return null;
  const ids = Object.values(args).filter(
    (value) => typeof value === 'string' && /^[a-z]{1,3}\d{1,6}$/.test(value),
  );
  for (const id of ids) {
    const start = `\n- ${String(id)}: `;
    const text = said.find((one) => one.role === 'user' && one.text.includes(start))?.text;
    if (text === undefined) continue;
    const at = text.indexOf(start) + 1;
    const end = text.indexOf('\n', at);
    return filesIn(text.slice(at, end === -1 ? undefined : end))[0] ?? null;
  }
  return null;
}

/** What is brought back by an id is of the file whose result named that id. */
function pathOfEvidence(args: Json, before: readonly Outcome[]): string | null {
  if (typeof args !== 'object' || args === null) return null;
  const ids = Object.values(args).flatMap((value) =>
    typeof value === 'string' && /^[\w-]{2,}$/.test(value) ? [value] : [],
  );
  const naming = before.findLast(
    (one) =>
      one.path !== null && ids.some((id) => new RegExp(`(?:evidence:\\s*|["'])${id}\\b`).test(one.content)),
  );
  return naming?.path ?? null;
}

/** The first argument that looks like the name of one file. */
function pathIn(args: Json): string | null {
  if (typeof args !== 'object' || args === null) return null;
  for (const value of Object.values(args)) {
    const candidates = Array.isArray(value) ? value : [value];
    for (const candidate of candidates) {
      if (typeof candidate !== 'string' || /[\s*]/.test(candidate)) continue;
      const [file] = filesIn(candidate);
      if (file !== undefined) return candidate;
    }
  }
  return null;
}
