/**
 * What Anthropic's API demands of the searches in a transcript.
 * https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons
 *
 * 1 a result stands behind its search, one a search  2 a search without a result is the last reply's, and nothing but
 * results of calls follows  3 every tool that a result names is defined  4 a search that was simulated comes back
 * unmodified: its id holds the digest of its result, so that a change shows (the API does not look)
 */
import type { JsonObject } from '../../ledger/json.ts';
import { referencedTools } from '../prompt.ts';
import { anthropicInvalid } from './anthropic-failure.ts';
import type { Block, Turn } from './anthropic-messages.ts';
import { digestOf, SEARCH_RESULT } from './anthropic-search.ts';

/** The answer's id of 24 digits, then the digest. */
const OWN_ID = /^srvtoolu_[0-9a-f]{40}$/;

/** @param defined names of all tools of the request, deferred ones included. */
export function checkSearches(turns: readonly Turn[], defined: ReadonlySet<string>): void {
  const open = new Map<string, Block>();
  for (const found of turns.flatMap((turn) => turn.blocks)) {
    if (found.block.type !== 'native') continue;
    const { data } = found.block;
    if (data.type === 'server_tool_use') open.set(String(data.id), found);
    else checkResult(found, data, open, defined);
  }
  const [unanswered] = [...open.values()].filter((found) => !waits(found, turns));
  if (unanswered?.block.type !== 'native') return;
  const { id, name } = unanswered.block.data;
  throw anthropicInvalid(
    `\`${String(name)}\` tool use with id \`${String(id)}\` was found without a corresponding \`${SEARCH_RESULT}\` block`,
  );
}

function checkResult(
  { path }: Block,
  data: JsonObject,
  open: Map<string, Block>,
  defined: ReadonlySet<string>,
): void {
  const id = String(data.tool_use_id);
  const search = open.get(id)?.block;
  if (search?.type !== 'native') {
    throw anthropicInvalid(
      `${path}: unexpected \`tool_use_id\` found in \`${SEARCH_RESULT}\` blocks: ${id}. Each \`${SEARCH_RESULT}\` block must have a corresponding \`server_tool_use\` block before it.`,
    );
  }
  open.delete(id);
  const names = referencedTools(data);
  const missing = names.find((name) => !defined.has(name));
  if (missing !== undefined)
    throw anthropicInvalid(`Tool reference '${missing}' not found in available tools`);
  if (OWN_ID.test(id) && !id.endsWith(digestOf(search.data.input, names)))
    throw anthropicInvalid(`${path}: the simulated search ${id} does not come back as it was sent`);
}

function waits(found: Block, turns: readonly Turn[]): boolean {
  const last = turns.findLastIndex((turn) => turn.role === 'assistant');
  const after = turns.slice(last + 1).flatMap((turn) => turn.blocks);
  return (
    turns[last]?.blocks.includes(found) === true && after.every(({ block }) => block.type === 'tool_result')
  );
}
