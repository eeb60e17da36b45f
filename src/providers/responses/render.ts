/** The canonical request as a Responses request, at OpenAI and at OpenRouter. */
import type OpenAI from 'openai';
import type {
  AssistantMessage,
  ChatMessage,
  ChatRequest,
  Continuation,
  ToolDefinition,
  UserMessage,
} from '../../context/request.ts';
import type { AssistantBlock, ImageBlock, TextBlock } from '../../ledger/blocks.ts';
import type { ProviderKind } from '../contract.ts';
import { shownArgs } from '../tool-args.ts';
import { type WireIds, wireIds } from '../wire-ids.ts';
import { reasoningItem } from './reasoning-item.ts';

type Item = OpenAI.Responses.ResponseInputItem;
/** `session_id` is OpenRouter's. */
type Body = OpenAI.Responses.ResponseCreateParamsStreaming & { readonly session_id?: string };

/** Less is refused: https://github.com/earendil-works/pi/issues/6265 */
const MIN_REPLY_TOKENS = 16;

interface ResponsesTarget {
  readonly kind: ProviderKind;
  readonly model: string;
  readonly maxTokens: number;
  /** The provider keeps the reply, and may be asked to continue one it kept. */
  readonly stored: boolean;
}

/** A continued request repeats all but its messages: https://platform.openai.com/docs/guides/conversation-state */
export function renderResponses(request: ChatRequest, target: ResponsesTarget): Body {
  const { kind, model, maxTokens, stored } = target;
  const continued = stored ? request.continues : undefined;
  return {
    model,
    stream: true,
    store: stored,
    ...(continued === undefined ? {} : { previous_response_id: continued.responseId }),
    ...(request.system === '' ? {} : { instructions: request.system }),
    ...(request.tools.length === 0 ? {} : { tools: request.tools.map(tool) }),
    input: inputItems(request.messages, continued, kind),
    max_output_tokens: Math.max(maxTokens, MIN_REPLY_TOKENS),
    ...(request.cache === undefined ? {} : cacheRouting(request.cache.key, kind)),
  };
}

/**
 * https://platform.openai.com/docs/guides/prompt-caching routes requests of one key to one machine;
 * https://openrouter.ai/docs/guides/best-practices/prompt-caching keeps those of one session with one provider.
 */
function cacheRouting(key: string, kind: ProviderKind): Partial<Body> {
  return { prompt_cache_key: key, ...(kind === 'openrouter-responses' ? { session_id: key } : {}) };
}

/** Unless `strict` is false, the schema is rewritten: https://developers.openai.com/api/docs/guides/function-calling */
function tool({ name, description, inputSchema }: ToolDefinition): OpenAI.Responses.FunctionTool {
  return { type: 'function', name, description, parameters: inputSchema, strict: false };
}

/** Ids are chosen over the whole conversation; results of a continued reply's calls name them as the provider does. */
function inputItems(
  messages: readonly ChatMessage[],
  continued: Continuation | undefined,
  kind: ProviderKind,
): Item[] {
  const chosen = wireIds(messages);
  const kept = new Map(Object.entries(continued?.callIds ?? {}));
  const ids: WireIds = {
    of: (block) => (block.type === 'tool_result' ? kept.get(block.callId) : undefined) ?? chosen.of(block),
  };
  const items = messages
    .slice(continued?.from ?? 0)
    .flatMap((message) =>
      message.role === 'user' ? userItems(message, ids) : assistantItems(message, ids, kind),
    );
  return kind === 'openrouter-responses' ? items.map(identified) : items;
}

/** Results are items of their own and come first: they answer the calls of the message before. */
function userItems(message: UserMessage, ids: WireIds): Item[] {
  const results: Item[] = [];
  const content: OpenAI.Responses.ResponseInputContent[] = [];
  for (const block of message.content) {
    if (block.type === 'tool_result') {
      results.push({ type: 'function_call_output', call_id: ids.of(block), output: block.content });
    } else content.push(inputPart(block));
  }
  return content.length === 0 ? results : [...results, { type: 'message', role: 'user', content }];
}

function inputPart(block: TextBlock | ImageBlock): OpenAI.Responses.ResponseInputContent {
  if (block.type === 'text') return { type: 'input_text', text: block.text };
  // https://platform.openai.com/docs/guides/images-vision: inline images are data URLs.
  const imageUrl = `data:${block.mediaType};base64,${block.data}`;
  return { type: 'input_image', image_url: imageUrl, detail: 'auto' };
}

function assistantItems({ content }: AssistantMessage, ids: WireIds, kind: ProviderKind): Item[] {
  // Reasoning that nothing follows is refused: https://github.com/openai/openai-node/issues/1567
  const lastSaid = content.findLastIndex(({ type }) => type === 'text' || type === 'tool_call');
  return content.slice(0, lastSaid + 1).flatMap((block) => assistantItem(block, ids, kind) ?? []);
}

function assistantItem(block: AssistantBlock, ids: WireIds, kind: ProviderKind): Item | null {
  switch (block.type) {
    case 'text':
      return said(block.text);
    case 'tool_call':
      return {
        type: 'function_call',
        call_id: ids.of(block),
        name: block.name,
        arguments: JSON.stringify(shownArgs(block)),
      };
    case 'thinking':
      return reasoningItem(block, kind);
    case 'native':
      return null;
  }
}

/** Without the id the SDK's type asks for: OpenAI ties an id to the reasoning item it was made with. */
function said(text: string): Item {
  const content = [{ type: 'output_text', text, annotations: [] }];
  return { type: 'message', role: 'assistant', content } as unknown as Item;
}

/** OpenRouter wants what OpenAI does not: https://openrouter.ai/docs/api_reference/responses/basic-usage */
function identified(item: Item, place: number): Item {
  if (item.type === 'function_call') return { ...item, id: `fc_${place}` };
  if (item.type !== 'message' || item.role !== 'assistant') return item;
  return { ...item, id: `msg_${place}`, status: 'completed' } as Item;
}
