/**
 * Anthropic's search for deferred tools, simulated: its blocks as a request brings them and as a reply adds them.
 * https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool
 */
import { createHash } from 'node:crypto';
import type {
  ServerToolUseBlock,
  ToolSearchToolResultBlock,
} from '@anthropic-ai/sdk/resources/messages/messages';
import type { NativeBlock } from '../../ledger/blocks.ts';
import { canonicalJson, type JsonObject } from '../../ledger/json.ts';
import { referencedTools, type ToolSearch } from '../prompt.ts';
import { asObject, asString, type Untyped } from '../untyped.ts';
import { anthropicInvalid } from './anthropic-failure.ts';
import type { Answer } from './contract.ts';

/** The one variant that is simulated; the other is passed over like every server tool. */
export const SEARCH_NAME = 'tool_search_tool_bm25';
export const SEARCH_TYPES: readonly unknown[] = ['tool_search_tool_bm25_20251119', SEARCH_NAME];

const MAX_MATCHES = 5;
const MAX_QUERY_CHARS = 500;
const DIGEST_CHARS = 16;
export const SEARCH_RESULT = 'tool_search_tool_result';

/** Results of searches that wait for one, then the search for the called tools that nothing named yet. */
export function searchBlocks(answer: Answer): readonly (ServerToolUseBlock | ToolSearchToolResultBlock)[] {
  const { search, messages } = answer.request.prompt;
  if (search === undefined) return [];
  const data = messages.flatMap(({ content }) => nativeData(content));
  const late = openSearches(data).map(({ id, input }) => ({
    id: asString(id) ?? '',
    names: matches(search, asObject(input)),
  }));
  const results = late.map(({ id, names }) => result(id, names));
  const known = new Set([...data.flatMap(referencedTools), ...late.flatMap(({ names }) => names)]);
  const wanted = search.deferred.filter(
    ({ name }) => !known.has(name) && answer.reply.calls.some((call) => call.name === name),
  );
  if (wanted.length === 0) return results;
  const names = wanted.map(({ name }) => name).slice(0, MAX_MATCHES);
  const query = names.join(' ').replaceAll('_', ' ').slice(0, MAX_QUERY_CHARS);
  const input = { query };
  const id = `srvtoolu_${answer.id}${digestOf(input, names)}`;
  const use: ServerToolUseBlock = {
    type: 'server_tool_use',
    id,
    name: SEARCH_NAME,
    input,
    caller: { type: 'direct' },
  };
  return [...results, use, result(id, names)];
}

/** Reads a block of a search; null for any other. */
export function readNative(block: Untyped, path: string): NativeBlock | null {
  if (block.type === 'server_tool_use') {
    if (asString(block.id) === null) throw anthropicInvalid(`${path}.server_tool_use.id: Field required`);
    if (asObject(block.input) === null)
      throw anthropicInvalid(`${path}.server_tool_use.input: Input should be a valid dictionary`);
  } else if (block.type === SEARCH_RESULT) {
    if (asString(block.tool_use_id) === null)
      throw anthropicInvalid(`${path}.${SEARCH_RESULT}.tool_use_id: Field required`);
    if (asObject(block.content) === null)
      throw anthropicInvalid(`${path}.${SEARCH_RESULT}.content: Field required`);
  } else return null;
  const { cache_control: _mark, ...data } = block;
  return { type: 'native', by: 'anthropic', data: data as JsonObject };
}

function openSearches(searched: readonly JsonObject[]): readonly JsonObject[] {
  const answered = new Set(searched.map((data) => data.tool_use_id));
  return searched.filter((data) => data.type === 'server_tool_use' && !answered.has(data.id));
}

function nativeData(content: readonly { readonly type: string }[]): readonly JsonObject[] {
  return content.flatMap((block) => (isNative(block) ? [block.data] : []));
}

function isNative(block: { readonly type: string }): block is NativeBlock {
  return block.type === 'native';
}

/** Tools whose name or description holds a word of the query, in the order of the request. */
function matches({ deferred }: ToolSearch, input: Untyped | null): readonly string[] {
  const words = (asString(input?.query) ?? '')
    .toLowerCase()
    .split(' ')
    .filter((word) => word !== '');
  const holds = (text: string): boolean => words.some((word) => text.toLowerCase().includes(word));
  return deferred
    .filter(({ name, description }) => holds(name) || holds(description))
    .map(({ name }) => name)
    .slice(0, MAX_MATCHES);
}

function result(id: string, names: readonly string[]): ToolSearchToolResultBlock {
  return {
    type: SEARCH_RESULT,
    tool_use_id: id,
    content: {
      type: 'tool_search_tool_search_result',
      tool_references: names.map((tool_name) => ({ type: 'tool_reference', tool_name })),
    },
  };
}

/** Ends the id of a simulated search: its request and its result cannot change unseen. */
export function digestOf(input: unknown, names: readonly string[]): string {
  return createHash('sha256')
    .update(canonicalJson([input, names]))
    .digest('hex')
    .slice(0, DIGEST_CHARS);
}
