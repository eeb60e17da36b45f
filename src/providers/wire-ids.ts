/**
 * Tool call ids as one request spells them. The ledger keeps the id each provider gave; another wire may
 * refuse its characters or length, or two calls of one id (ids made up for Ollama start anew in every reply).
 * An acceptable id goes out as it is; a rename depends on earlier messages only, so a longer request has the
 * same prefix.
 */
import type { ChatMessage } from '../context/request.ts';
import type { ToolCallBlock, ToolResultBlock } from '../ledger/blocks.ts';

/** Anthropic takes these characters only: https://docs.claude.com/en/api/messages. */
const ACCEPTABLE = /^[A-Za-z0-9_-]+$/;
/** OpenAI refuses longer ones: https://platform.openai.com/docs/api-reference/chat/create. */
const MAX_ID_CHARS = 40;

export interface WireIds {
  of(block: ToolCallBlock | ToolResultBlock): string;
}

export function wireIds(messages: readonly ChatMessage[]): WireIds {
  const chosen = new Map<ToolCallBlock | ToolResultBlock, string>();
  const used = new Set<string>();
  const latest = new Map<string, string>();
  for (const block of messages.flatMap((message): readonly { type: string }[] => message.content)) {
    if (isCall(block)) {
      const id = choose(block.id, used);
      used.add(id);
      latest.set(block.id, id);
      chosen.set(block, id);
    } else if (isResult(block)) {
      chosen.set(block, latest.get(block.callId) ?? block.callId);
    }
  }
  return { of: (block) => chosen.get(block) ?? (block.type === 'tool_call' ? block.id : block.callId) };
}

function choose(id: string, used: ReadonlySet<string>): string {
  if (ACCEPTABLE.test(id) && id.length <= MAX_ID_CHARS && !used.has(id)) return id;
  let ordinal = used.size;
  while (used.has(`call_r${ordinal}`)) ordinal += 1;
  return `call_r${ordinal}`;
}

function isCall(block: { type: string }): block is ToolCallBlock {
  return block.type === 'tool_call';
}

function isResult(block: { type: string }): block is ToolResultBlock {
  return block.type === 'tool_result';
}
