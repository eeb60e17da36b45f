/** The silent cut of a prompt that is too long, as servers make it that refuse nothing. */
import type { ChatMessage } from '../context/request.ts';
import type { SimModel } from './contract.ts';
import { promptTokens, type SimPrompt, segmentsOf } from './prompt.ts';

/** A single message that is still too long fills only half of the context: ollama/ollama#17427. */
const KEPT_SHARE = 0.5;

/** Drops the oldest messages, never system or the last, then cuts the last one from its front. */
export function truncateToContext(prompt: SimPrompt, contextTokens: number, model: SimModel): SimPrompt {
  const fits = (candidate: SimPrompt) => promptTokens(segmentsOf(candidate), model) <= contextTokens;
  if (fits(prompt)) return prompt;
  const lastStart = prompt.messages.length - 1;
  // Bisection would be wrong here only if a shorter tail could cost more, which it cannot.
  let low = 1;
  let high = lastStart;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (fits({ ...prompt, messages: prompt.messages.slice(middle) })) high = middle;
    else low = middle + 1;
  }
  const kept = { ...prompt, messages: prompt.messages.slice(Math.max(0, Math.min(low, lastStart))) };
  return fits(kept)
    ? kept
    : { ...kept, messages: kept.messages.map((message) => cutFront(message, contextTokens, model)) };
}

function cutFront(message: ChatMessage, contextTokens: number, model: SimModel): ChatMessage {
  const keptBytes = Math.floor((contextTokens * KEPT_SHARE) / model.tokensPerByte);
  if (message.role === 'assistant') return message;
  return {
    role: 'user',
    content: message.content.map((block) => {
      if (block.type === 'text') return { ...block, text: tailOf(block.text, keptBytes) };
      return block.type === 'tool_result' ? { ...block, content: tailOf(block.content, keptBytes) } : block;
    }),
  };
}

/** The last bytes of a text; a code point cut in half is dropped. */
function tailOf(text: string, bytes: number): string {
  const buffer = Buffer.from(text);
  if (buffer.length <= bytes) return text;
  return buffer
    .subarray(buffer.length - bytes)
    .toString('utf8')
    .replace(/^\uFFFD+/, '');
}
