/** The canonical request as an Anthropic message. */
import type Anthropic from '@anthropic-ai/sdk';
import type { ChatMessage, ChatRequest, ToolDefinition } from '../../context/request.ts';
import type { NativeBlock } from '../../ledger/blocks.ts';
import { cacheMarks, EPHEMERAL } from '../cache-marks.ts';
import { isReplayable } from '../signatures.ts';
import { shownArgs } from '../tool-args.ts';
import { type WireIds, wireIds } from '../wire-ids.ts';
import { replayedSearches, SEARCH_TOOL, stillDeferred } from './tool-search.ts';

type Body = Anthropic.MessageCreateParamsStreaming;
type Block = Anthropic.ContentBlockParam;

/** A block and the message it came from: merging and sorting must not lose where a breakpoint belongs. */
interface Placed {
  readonly block: Block;
  readonly source: number;
}

interface Group {
  readonly role: 'user' | 'assistant';
  readonly placed: readonly Placed[];
}

interface AnthropicTarget {
  readonly model: string;
  readonly maxTokens: number;
  /** Deferred tools are sent, and found by a search of the provider's. */
  readonly searchesTools: boolean;
}

/** What the rendering of a block depends on beside the block. */
interface Replay {
  readonly ids: WireIds;
  readonly searches: ReadonlySet<NativeBlock>;
}

export function renderAnthropic(request: ChatRequest, target: AnthropicTarget): Body {
  const { tools, deferred = [], messages } = request;
  const marks = cacheMarks(request);
  const searched = target.searchesTools ? stillDeferred(tools, deferred) : [];
  const defined = searched.length === 0 ? null : new Set([...tools, ...searched].map(({ name }) => name));
  const replay = { ids: wireIds(messages), searches: replayedSearches(messages, defined) };
  return {
    model: target.model,
    max_tokens: target.maxTokens,
    stream: true,
    ...prefix(request, searched, marks.prefix),
    messages: groups(messages, replay).map((group) => ({
      role: group.role,
      content: marked(group, marks.messages),
    })),
  };
}

/**
 * The cached order is tools, system, messages: a mark on the last system block covers both. Deferred tools are no part
 * of it, so they stand last, and a mark on one of them is refused.
 */
function prefix(
  { system, tools }: ChatRequest,
  searched: readonly ToolDefinition[],
  isMarked: boolean,
): Partial<Body> {
  const mark = isMarked ? { cache_control: EPHEMERAL } : {};
  const loaded = [...tools.map(tool), ...(searched.length === 0 ? [] : [SEARCH_TOOL])];
  const rendered = loaded.map((one, index) =>
    system === '' && index === loaded.length - 1 ? { ...one, ...mark } : one,
  );
  const deferred = searched.map((one) => ({ ...tool(one), defer_loading: true }));
  return {
    ...(rendered.length === 0 ? {} : { tools: [...rendered, ...deferred] }),
    ...(system === '' ? {} : { system: [{ type: 'text', text: system, ...mark }] }),
  };
}

function tool({ name, description, inputSchema }: ToolDefinition): Anthropic.Tool {
  return { name, description, input_schema: { ...inputSchema, type: 'object' } };
}

/** Messages of one role in a row become one, and a user message opens with its results. */
function groups(messages: readonly ChatMessage[], replay: Replay): Group[] {
  const merged: { role: 'user' | 'assistant'; placed: Placed[] }[] = [];
  messages.forEach((message, source) => {
    const placed = replayable(message, replay).flatMap((block) => {
      const rendered = renderBlock(block, replay.ids);
      return rendered === null ? [] : [{ block: rendered, source }];
    });
    if (placed.length === 0) return;
    const last = merged.at(-1);
    if (last?.role === message.role) last.placed.push(...placed);
    else merged.push({ role: message.role, placed });
  });
  return merged.map(({ role, placed }) => ({
    role,
    placed: role === 'user' ? resultsFirst(placed) : placed,
  }));
}

/** https://docs.claude.com/en/docs/agents-and-tools/tool-use/implement-tool-use: text before a result is refused. */
function resultsFirst(placed: readonly Placed[]): Placed[] {
  const isResult = ({ block }: Placed): boolean => block.type === 'tool_result';
  return [...placed.filter(isResult), ...placed.filter((item) => !isResult(item))];
}

/** Without a search that stood in it, what is left of a signed sequence would be refused. */
function replayable(
  { content }: ChatMessage,
  { searches }: Replay,
): readonly ChatMessage['content'][number][] {
  const isLeftOut = (block: (typeof content)[number]): boolean =>
    block.type === 'native' && !searches.has(block);
  if (!content.some(isLeftOut)) return content;
  return content.filter((block) => block.type !== 'thinking' && !isLeftOut(block));
}

/** null for what this wire refuses: blank text, and thinking that was not signed here. */
function renderBlock(block: ChatMessage['content'][number], ids: WireIds): Block | null {
  switch (block.type) {
    case 'text':
      return block.text.trim() === '' ? null : { type: 'text', text: block.text };
    case 'image':
      return { type: 'image', source: { type: 'base64', media_type: block.mediaType, data: block.data } };
    case 'tool_call':
      return { type: 'tool_use', id: ids.of(block), name: block.name, input: shownArgs(block) };
    case 'tool_result':
      return {
        type: 'tool_result',
        tool_use_id: ids.of(block),
        ...(block.content === '' ? {} : { content: block.content }),
        ...(block.isError ? { is_error: true } : {}),
      };
    case 'thinking':
      // https://docs.claude.com/en/docs/build-with-claude/extended-thinking: whole and signed, or absent.
      return isReplayable(block, 'anthropic')
        ? { type: 'thinking', thinking: block.text, signature: block.signature }
        : null;
    case 'native':
      return block.data as unknown as Block;
  }
}

/** Marks the last block of each hinted message that may carry a mark. */
function marked({ placed }: Group, marks: ReadonlySet<number>): Block[] {
  const last = new Map<number, number>();
  placed.forEach(({ block, source }, position) => {
    if (marks.has(source) && isMarkable(block)) last.set(source, position);
  });
  const positions = new Set(last.values());
  return placed.map(({ block }, position) =>
    positions.has(position) ? ({ ...block, cache_control: EPHEMERAL } as Block) : block,
  );
}

/** Thinking cannot carry a mark, and what a search put into a reply goes back unmodified. */
function isMarkable({ type }: Block): boolean {
  return type !== 'thinking' && type !== 'server_tool_use' && type !== 'tool_search_tool_result';
}
