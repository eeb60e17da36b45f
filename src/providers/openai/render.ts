/** The canonical request as an OpenAI chat completion. */
import type OpenAI from 'openai';
import type { AssistantMessage, ChatRequest, ToolDefinition, UserMessage } from '../../context/request.ts';
import type { ImageBlock, TextBlock, ToolCallBlock } from '../../ledger/blocks.ts';
import { shownArgs } from '../tool-args.ts';
import { type WireIds, wireIds } from '../wire-ids.ts';

type Body = OpenAI.ChatCompletionCreateParamsStreaming;
type Message = OpenAI.ChatCompletionMessageParam;

interface OpenAiTarget {
  readonly model: string;
  readonly baseUrl: string;
  readonly maxTokens: number;
}

/** Hosts that speak OpenAI's own dialect; every other base URL is a compatible server. */
const OWN_HOSTS: readonly RegExp[] = [/^api\.openai\.com$/, /\.openai\.azure\.com$/];

export function renderOpenAi(request: ChatRequest, target: OpenAiTarget): Body {
  const ids = wireIds(request.messages);
  const messages: Message[] = request.system === '' ? [] : [{ role: 'system', content: request.system }];
  for (const message of request.messages) {
    messages.push(
      ...(message.role === 'user' ? userMessages(message, ids) : assistantMessages(message, ids)),
    );
  }
  return {
    model: target.model,
    messages,
    stream: true,
    // https://platform.openai.com/docs/api-reference/chat-streaming: without it a stream reports no usage.
    stream_options: { include_usage: true },
    ...replyLimit(target),
    ...(request.tools.length === 0 ? {} : { tools: request.tools.map(tool) }),
    // https://platform.openai.com/docs/guides/prompt-caching: routes requests of one prefix to one machine.
    ...(request.cache === undefined ? {} : { prompt_cache_key: request.cache.key }),
  };
}

/**
 * https://platform.openai.com/docs/api-reference/chat/create deprecates `max_tokens`, and its reasoning models
 * refuse it; compatible servers know `max_tokens`, and some refuse the newer name.
 */
function replyLimit({ baseUrl, maxTokens }: OpenAiTarget): Partial<Body> {
  const { hostname } = new URL(baseUrl);
  return OWN_HOSTS.some((host) => host.test(hostname))
    ? { max_completion_tokens: maxTokens }
    : { max_tokens: maxTokens };
}

function tool({ name, description, inputSchema }: ToolDefinition): OpenAI.ChatCompletionTool {
  return { type: 'function', function: { name, description, parameters: inputSchema } };
}

/** Results are messages of their own and come first: they answer the calls of the message before. */
function userMessages(message: UserMessage, ids: WireIds): Message[] {
  const results: Message[] = [];
  const rest: (TextBlock | ImageBlock)[] = [];
  for (const block of message.content) {
    if (block.type === 'tool_result') {
      results.push({ role: 'tool', tool_call_id: ids.of(block), content: block.content });
    } else rest.push(block);
  }
  return rest.length === 0 ? results : [...results, { role: 'user', content: userContent(rest) }];
}

function userContent(
  blocks: readonly (TextBlock | ImageBlock)[],
): string | OpenAI.ChatCompletionContentPart[] {
  const [first] = blocks;
  if (blocks.length === 1 && first?.type === 'text') return first.text;
  return blocks.map((block) =>
    block.type === 'text'
      ? { type: 'text', text: block.text }
      : // https://platform.openai.com/docs/guides/images-vision: inline images are data URLs.
        { type: 'image_url', image_url: { url: `data:${block.mediaType};base64,${block.data}` } },
  );
}

/** Thinking has no place in this wire's requests and is left out whole. */
function assistantMessages(message: AssistantMessage, ids: WireIds): Message[] {
  const texts: string[] = [];
  const calls: ToolCallBlock[] = [];
  for (const block of message.content) {
    if (block.type === 'text') texts.push(block.text);
    if (block.type === 'tool_call') calls.push(block);
  }
  if (texts.length === 0 && calls.length === 0) return [];
  const content = texts.length === 0 ? null : texts.join('\n');
  if (calls.length === 0) return [{ role: 'assistant', content }];
  const toolCalls = calls.map((call) => ({
    type: 'function' as const,
    id: ids.of(call),
    function: { name: call.name, arguments: JSON.stringify(shownArgs(call)) },
  }));
  return [{ role: 'assistant', content, tool_calls: toolCalls }];
}
