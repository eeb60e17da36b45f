/** The canonical request as an Anthropic message. */
import type Anthropic from '@anthropic-ai/sdk';
import type { ChatMessage, ChatRequest } from '../../context/request.ts';
import { cacheMarks, EPHEMERAL } from '../cache-marks.ts';
import { isReplayable } from '../signatures.ts';
import { shownArgs } from '../tool-args.ts';
import { type WireIds, wireIds } from '../wire-ids.ts';

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
}

export function renderAnthropic(request: ChatRequest, target: AnthropicTarget): Body {
  const marks = cacheMarks(request);
  return {
    model: target.model,
    max_tokens: target.maxTokens,
    stream: true,
    ...prefix(request, marks.prefix),
    messages: groups(request.messages).map((group) => ({
      role: group.role,
      content: marked(group, marks.messages),
    })),
  };
}

/** The cached order is tools, system, messages: a mark on the last system block covers both. */
function prefix({ system, tools }: ChatRequest, isMarked: boolean): Partial<Body> {
  const mark = isMarked ? { cache_control: EPHEMERAL } : {};
  const rendered = tools.map(
    (tool, index): Anthropic.Tool => ({
      name: tool.name,
      description: tool.description,
      input_schema: { ...tool.inputSchema, type: 'object' },
      ...(system === '' && index === tools.length - 1 ? mark : {}),
    }),
  );
  return {
    ...(rendered.length === 0 ? {} : { tools: rendered }),
    ...(system === '' ? {} : { system: [{ type: 'text', text: system, ...mark }] }),
  };
}

/** Messages of one role in a row become one, and a user message opens with its results. */
function groups(messages: readonly ChatMessage[]): Group[] {
  const ids = wireIds(messages);
  const merged: { role: 'user' | 'assistant'; placed: Placed[] }[] = [];
  messages.forEach((message, source) => {
    const placed = message.content.flatMap((block) => {
      const rendered = renderBlock(block, ids);
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
  }
}

/** Marks the last block of each hinted message; thinking cannot carry a mark. */
function marked({ placed }: Group, marks: ReadonlySet<number>): Block[] {
  const last = new Map<number, number>();
  placed.forEach(({ block, source }, position) => {
    if (marks.has(source) && block.type !== 'thinking') last.set(source, position);
  });
  const positions = new Set(last.values());
  return placed.map(({ block }, position) =>
    positions.has(position) && block.type !== 'thinking'
      ? ({ ...block, cache_control: EPHEMERAL } as Block)
      : block,
  );
}
