/** The canonical request as an Ollama chat. */
import type { Message, ChatRequest as OllamaBody, Tool } from 'ollama';
import type { AssistantMessage, ChatRequest, ToolDefinition, UserMessage } from '../../context/request.ts';
import type { ImageBlock, TextBlock } from '../../ledger/blocks.ts';
import { byteLength } from '../../ledger/json.ts';
import { shownArgs } from '../tool-args.ts';

/** https://docs.ollama.com/faq: a model is unloaded after 5 minutes otherwise, and its prompt cache with it. */
export const KEEP_ALIVE = '30m';
/** No tokeniser in use needs more for prose, code and JSON together; a prompt that does is refused, not cut. */
const TOKENS_PER_BYTE = 0.5;
const TOKENS_PER_IMAGE = 2_048;
/** Another context length reloads the model, so it moves in powers of two from a size most prompts fit. */
const SMALLEST_CONTEXT_TOKENS = 8_192;

/**
 * `truncate` and `shift` are fields the SDK's type lacks: https://github.com/ollama/ollama/blob/main/api/types.go.
 * Unless both are false a prompt over the context length is cut silently; so it is refused with a 400.
 */
type Body = OllamaBody & { readonly stream: true; readonly truncate: false; readonly shift: false };

interface OllamaTarget {
  readonly model: string;
  readonly maxTokens: number;
  /** The leg's own window; without one the context is sized to the prompt. */
  readonly window: number | undefined;
}

export function renderOllama(request: ChatRequest, target: OllamaTarget): Body {
  const messages: Message[] = request.system === '' ? [] : [{ role: 'system', content: request.system }];
  for (const message of request.messages) {
    messages.push(...(message.role === 'user' ? userMessages(message) : assistantMessages(message)));
  }
  const tools = request.tools.map(tool);
  return {
    model: target.model,
    messages,
    stream: true,
    truncate: false,
    shift: false,
    keep_alive: KEEP_ALIVE,
    // Left out, a model that can think does: https://docs.ollama.com/capabilities/thinking. One that cannot takes it.
    ...(request.thinking === 'off' ? { think: false } : {}),
    options: {
      num_ctx: target.window ?? contextTokens(request, target.maxTokens),
      num_predict: target.maxTokens,
    },
    ...(tools.length === 0 ? {} : { tools }),
  };
}

/** Prompt and reply share the context: https://docs.ollama.com/context-length. */
function contextTokens({ system, tools, messages }: ChatRequest, maxTokens: number): number {
  let bytes = byteLength(system) + byteLength(JSON.stringify(tools));
  let images = 0;
  for (const block of messages.flatMap((message): readonly { type: string }[] => message.content)) {
    if (block.type === 'image') images += 1;
    else if (block.type !== 'native') bytes += byteLength(JSON.stringify(block));
  }
  const needed = Math.ceil(bytes * TOKENS_PER_BYTE) + images * TOKENS_PER_IMAGE + maxTokens;
  return Math.max(SMALLEST_CONTEXT_TOKENS, 2 ** Math.ceil(Math.log2(needed)));
}

function tool({ name, description, inputSchema }: ToolDefinition): Tool {
  return { type: 'function', function: { name, description, parameters: inputSchema } };
}

/** https://docs.ollama.com/capabilities/tool-calling: a result names its tool; this wire has no call ids. */
function userMessages(message: UserMessage): Message[] {
  const results: Message[] = [];
  const texts: string[] = [];
  const images: Uint8Array[] = [];
  for (const block of message.content) {
    if (block.type === 'tool_result') {
      results.push({ role: 'tool', tool_name: block.name, content: block.content });
    } else collect(block, texts, images);
  }
  if (texts.length === 0 && images.length === 0) return results;
  const content = texts.join('\n');
  return [...results, { role: 'user', content, ...(images.length === 0 ? {} : { images }) }];
}

function collect(block: TextBlock | ImageBlock, texts: string[], images: Uint8Array[]): void {
  if (block.type === 'text') texts.push(block.text);
  // Bytes, never text: the SDK takes a string that happens to be a path and sends that file.
  else images.push(Buffer.from(block.data, 'base64'));
}

/** Signed thinking belongs to another wire and is left out. */
function assistantMessages(message: AssistantMessage): Message[] {
  const texts: string[] = [];
  const thoughts: string[] = [];
  const calls: NonNullable<Message['tool_calls']> = [];
  for (const block of message.content) {
    if (block.type === 'text') texts.push(block.text);
    else if (block.type === 'tool_call')
      calls.push({ function: { name: block.name, arguments: shownArgs(block) } });
    else if (block.type === 'thinking' && block.signature === undefined) thoughts.push(block.text);
  }
  if (texts.length === 0 && calls.length === 0) return [];
  return [
    {
      role: 'assistant',
      content: texts.join('\n'),
      ...(thoughts.length === 0 ? {} : { thinking: thoughts.join('\n') }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
  ];
}
