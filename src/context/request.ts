/** The canonical request: what every policy assembles and every adapter renders for its wire. */
import type { AssistantBlock, ImageBlock, TextBlock, ToolResultBlock } from '../ledger/blocks.ts';
import type { JsonObject } from '../ledger/json.ts';

/** `inputSchema` is a JSON Schema of type `object`. */
export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
}

export interface UserMessage {
  readonly role: 'user';
  readonly content: readonly (TextBlock | ImageBlock | ToolResultBlock)[];
}

export interface AssistantMessage {
  readonly role: 'assistant';
  readonly content: readonly AssistantBlock[];
}

export type ChatMessage = UserMessage | AssistantMessage;

/** `breakpoints` are indexes into `messages`; -1 marks the end of the stable prefix (system and tools). */
export interface CacheHints {
  readonly key: string;
  readonly breakpoints: readonly number[];
}

/**
 * The provider holds the reply `responseId` and everything before it: only `messages` from index `from` on need to be
 * sent. A wire without server-side state ignores it, and sends everything.
 */
export interface Continuation {
  readonly responseId: string;
  readonly from: number;
  /** By our id of each call the reply made: the id it has at the provider. */
  readonly callIds: Readonly<Record<string, string>>;
}

export interface ChatRequest {
  readonly system: string;
  readonly tools: readonly ToolDefinition[];
  /** Tools that are not loaded: sent by a wire whose provider searches them itself, and by no other. */
  readonly deferred?: readonly ToolDefinition[];
  readonly messages: readonly ChatMessage[];
  readonly maxTokens: number;
  readonly cache?: CacheHints;
  readonly continues?: Continuation;
  /** Asks for the reply without thinking first, where the wire has a switch that every model takes. */
  readonly thinking?: 'off';
}

/** Tokens as billed. The whole prompt is `inputTokens + cacheReadTokens + cacheWriteTokens`. */
export interface Usage {
  /** Fresh prompt tokens: neither read from nor written to a cache. */
  readonly inputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
  /** Part of `outputTokens`; left out where the provider does not say. */
  readonly reasoningTokens?: number;
}

export type FinishReason = 'stop' | 'tool_calls' | 'length' | 'content_filter' | 'other';

export interface ChatReply {
  readonly content: readonly AssistantBlock[];
  readonly finish: FinishReason;
  /** null when the provider reported none. */
  readonly usage: Usage | null;
  /** The model the provider says answered. */
  readonly model: string;
  /** Names the reply at a provider that keeps it. */
  readonly responseId?: string;
  readonly firstTokenMs: number | null;
  readonly totalMs: number;
}

export function promptTokens(usage: Usage): number {
  return usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens;
}
