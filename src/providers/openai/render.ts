/** The canonical request as an OpenAI chat completion, in the dialect of its server. */
import type OpenAI from 'openai';
import type { AssistantMessage, ChatRequest, ToolDefinition, UserMessage } from '../../context/request.ts';
import type { ImageBlock, TextBlock, ToolCallBlock } from '../../ledger/blocks.ts';
import { type CacheMarks, cacheMarks, EPHEMERAL } from '../cache-marks.ts';
import { shownArgs } from '../tool-args.ts';
import { type WireIds, wireIds } from '../wire-ids.ts';
import type { ChatDialect } from './dialect.ts';
import { callSignatures, replayedThinking } from './thinking.ts';

type Body = OpenAI.ChatCompletionCreateParamsStreaming;
type Message = OpenAI.ChatCompletionMessageParam;

interface ChatTarget {
  readonly model: string;
  readonly maxTokens: number;
  readonly dialect: ChatDialect;
}

const NO_MARKS: CacheMarks = { prefix: false, messages: new Set() };

export function renderOpenAi(request: ChatRequest, target: ChatTarget): Body {
  const { dialect, model, maxTokens } = target;
  const ids = wireIds(request.messages);
  const marks = dialect.markedModels?.test(model) === true ? cacheMarks(request) : NO_MARKS;
  const system: Message[] = request.system === '' ? [] : [{ role: 'system', content: request.system }];
  const messages = request.messages.flatMap((message, index) => {
    const rendered =
      message.role === 'user' ? userMessages(message, ids) : assistantMessages(message, ids, target);
    return marks.messages.has(index) ? marked(rendered) : rendered;
  });
  return {
    model,
    messages: [...(marks.prefix ? marked(system) : system), ...messages],
    stream: true,
    [dialect.replyLimit]: maxTokens,
    ...dialect.fields,
    ...(request.tools.length === 0 ? {} : { tools: request.tools.map(tool) }),
    ...(request.cache === undefined || dialect.cacheKey === null
      ? {}
      : { [dialect.cacheKey]: request.cache.key }),
  };
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

/** Thinking alone is no message on this wire. */
function assistantMessages(
  message: AssistantMessage,
  ids: WireIds,
  { dialect, model }: ChatTarget,
): Message[] {
  const texts: string[] = [];
  const calls: ToolCallBlock[] = [];
  for (const block of message.content) {
    if (block.type === 'text') texts.push(block.text);
    if (block.type === 'tool_call') calls.push(block);
  }
  if (texts.length === 0 && calls.length === 0) return [];
  const said = {
    role: 'assistant' as const,
    content: texts.length === 0 ? null : texts.join('\n'),
    ...replayedThinking(message, dialect, model),
  };
  if (calls.length === 0) return [said];
  const signatures = dialect.thinking === 'thought_signature' ? callSignatures(message) : null;
  return [{ ...said, tool_calls: calls.map((call) => toolCall(call, ids, signatures?.get(call))) }];
}

function toolCall(
  call: ToolCallBlock,
  ids: WireIds,
  signature: string | undefined,
): OpenAI.ChatCompletionMessageFunctionToolCall {
  return {
    type: 'function',
    id: ids.of(call),
    function: { name: call.name, arguments: JSON.stringify(shownArgs(call)) },
    ...(signature === undefined ? {} : { extra_content: { google: { thought_signature: signature } } }),
  };
}

/** Marks the last text of these messages: a mark is a member of a text part, and calls cannot carry one. */
function marked(messages: readonly Message[]): Message[] {
  const at = messages.findLastIndex(({ content }) => textParts(content).length > 0);
  return messages.map((message, index) => {
    if (index !== at) return message;
    const parts = typeof message.content === 'string' ? textParts(message.content) : (message.content ?? []);
    const last = parts.findLastIndex(({ type }) => type === 'text');
    const content = parts.map((part, place) =>
      place === last ? { ...part, cache_control: EPHEMERAL } : part,
    );
    return { ...message, content } as Message;
  });
}

function textParts(content: Message['content']): readonly OpenAI.ChatCompletionContentPartText[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return (content ?? []).filter((part) => part.type === 'text');
}
