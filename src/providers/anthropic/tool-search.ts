/**
 * Tools that Anthropic searches by itself: https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool.
 * No beta header is needed. What a search put into a reply goes back as long as the request can carry it:
 *
 * 1 the request offers the search tool  2 it defines every tool the result names
 * 3 a search stands with its result, or still waits for it: the next reply then begins with that result
 */
import type Anthropic from '@anthropic-ai/sdk';
import type { ChatMessage, ToolDefinition } from '../../context/request.ts';
import type { NativeBlock } from '../../ledger/blocks.ts';
import type { ProviderKind } from '../contract.ts';
import { list, record, text } from '../reading.ts';

const KIND: ProviderKind = 'anthropic';

export const SEARCH_TOOL = {
  type: 'tool_search_tool_bm25_20251119',
  name: 'tool_search_tool_bm25',
} as const satisfies Anthropic.ToolSearchToolBm25_20251119;

/** Tier first, then the version; a snapshot's date is no minor version. */
const MODEL_VERSION = /claude-[a-z]+-(\d{1,2})(?:[-.](\d{1,2}))?(?!\d)/u;
/** Opus 4.1 and what came before it have no search. */
const FIRST_VERSION = { major: 4, minor: 5 };

/** False for a name that says no version: a refused request costs more than a schema too many. */
export function searchesTools(model: string): boolean {
  const [, major, minor = '0'] = MODEL_VERSION.exec(model) ?? [];
  if (major === undefined) return false;
  const newer = Number(major) - FIRST_VERSION.major;
  return newer > 0 || (newer === 0 && Number(minor) >= FIRST_VERSION.minor);
}

/** Deferred definitions in name order, each name once: a tool loaded since is not deferred. */
export function stillDeferred(
  tools: readonly ToolDefinition[],
  deferred: readonly ToolDefinition[],
): readonly ToolDefinition[] {
  const loaded = new Set(tools.map(({ name }) => name));
  return deferred
    .filter(({ name }) => !loaded.has(name))
    .toSorted((left, right) => (left.name < right.name ? -1 : 1));
}

/** Whether a reply's block is of a search, and so goes back as it came. */
export function isOfSearch(block: Readonly<Record<string, unknown>>): boolean {
  if (block.type === 'tool_search_tool_result') return true;
  return block.type === 'server_tool_use' && block.name === SEARCH_TOOL.name;
}

/** The blocks that go back. `defined` are the names of all tools of the request; null where it offers no search. */
export function replayedSearches(
  messages: readonly ChatMessage[],
  defined: ReadonlySet<string> | null,
): ReadonlySet<NativeBlock> {
  const replayed = new Set<NativeBlock>();
  if (defined === null) return replayed;
  const open = new Map<string, NativeBlock>();
  for (const block of messages.flatMap(nativeBlocks)) {
    const search = text(block.data.id);
    if (search !== null) open.set(search, block);
    const answered = text(block.data.tool_use_id) ?? '';
    const asked = open.get(answered);
    if (search !== null || asked === undefined) continue;
    open.delete(answered);
    if (namedTools(block).every((name) => defined.has(name))) replayed.add(asked).add(block);
  }
  for (const block of waiting(messages))
    if (open.get(text(block.data.id) ?? '') === block) replayed.add(block);
  return replayed;
}

/** A search stays open only while nothing but results of calls follows it: anything else ends the reply it is part of. */
function waiting(messages: readonly ChatMessage[]): readonly NativeBlock[] {
  const last = messages.findLastIndex(({ role }) => role === 'assistant');
  const after = messages.slice(last + 1).flatMap((message): readonly { type: string }[] => message.content);
  const message = messages[last];
  if (message === undefined || after.some(({ type }) => type !== 'tool_result')) return [];
  return nativeBlocks(message);
}

function nativeBlocks({ content }: ChatMessage): readonly NativeBlock[] {
  return content.flatMap((block) => (block.type === 'native' && block.by === KIND ? [block] : []));
}

/** Of a search's result; a failed search names none. */
function namedTools({ data }: NativeBlock): readonly string[] {
  const references = list(record(data.content)?.tool_references);
  return references.map((reference) => text(record(reference)?.tool_name) ?? '');
}
