/** Earlier thinking as a chat request gives it back, and the form in which it is kept until then. */
import type { AssistantMessage } from '../../context/request.ts';
import type { ToolCallBlock } from '../../ledger/blocks.ts';
import { parsedJson } from '../failures.ts';
import { MalformedReply } from '../malformed-reply.ts';
import { list, record, text } from '../reading.ts';
import { MAX_REPLY_BYTES } from '../reply-draft.ts';
import { isReplayable } from '../signatures.ts';
import type { ChatDialect } from './dialect.ts';

/**
 * Stands for a signature where none was given, as in turns of another model:
 * https://ai.google.dev/gemini-api/docs/thought-signatures#faqs
 */
const NO_SIGNATURE = 'skip_thought_signature_validator';

interface Replayed {
  readonly reasoning_content?: string;
  readonly reasoning_details?: readonly unknown[];
}

/** Members of an assistant message beside its content and calls. */
export function replayedThinking(message: AssistantMessage, dialect: ChatDialect, model: string): Replayed {
  switch (dialect.thinking) {
    case 'reasoning_content':
      return message.content.some(({ type }) => type === 'tool_call')
        ? { reasoning_content: unsignedThinking(message) }
        : {};
    case 'reasoning_details': {
      const details = detailsFor(message, model);
      return details.length === 0 ? {} : { reasoning_details: details };
    }
    case 'thought_signature':
    case 'dropped':
      return {};
  }
}

/** Google's signature of a call is kept as thinking in front of it; the first call of a message must have one. */
export function callSignatures(message: AssistantMessage): ReadonlyMap<ToolCallBlock, string> {
  const signatures = new Map<ToolCallBlock, string>();
  let pending: string | null = null;
  for (const block of message.content) {
    if (block.type === 'thinking') pending = isReplayable(block, 'google') ? block.signature : null;
    if (block.type !== 'tool_call') continue;
    const signature = pending ?? (signatures.size === 0 ? NO_SIGNATURE : null);
    if (signature !== null) signatures.set(block, signature);
    pending = null;
  }
  return signatures;
}

function unsignedThinking({ content }: AssistantMessage): string {
  const thoughts = content.flatMap((block) =>
    block.type === 'thinking' && block.signature === undefined ? [block.text] : [],
  );
  return thoughts.join('\n');
}

/** The array that OpenRouter wants back as it came. Upstreams do not read each other's, so the model is kept with it. */
export class ReasoningDetails {
  readonly #details: Record<string, unknown>[] = [];
  #heldChars = 0;

  /** Pieces of one detail share its type and index, and follow each other. */
  take(pieces: readonly unknown[]): void {
    for (const piece of pieces) {
      const detail = record(piece);
      if (detail === null) continue;
      this.#weigh(detail);
      const last = this.#details.at(-1);
      if (last !== undefined && last.type === detail.type && last.index === detail.index)
        extend(last, detail);
      else this.#details.push({ ...detail });
    }
  }

  /** null when there were none. */
  signature(model: string): string | null {
    return this.#details.length === 0 ? null : JSON.stringify({ model, details: this.#details });
  }

  #weigh(detail: Readonly<Record<string, unknown>>): void {
    this.#heldChars += JSON.stringify(detail).length;
    if (this.#heldChars > MAX_REPLY_BYTES)
      throw new MalformedReply(`The reasoning details are larger than ${MAX_REPLY_BYTES} bytes.`);
  }
}

/** https://openrouter.ai/docs/guides/best-practices/reasoning-tokens: texts add up, the rest is stated once. */
function extend(detail: Record<string, unknown>, piece: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(piece)) {
    const isText = name === 'text' || name === 'summary' || name === 'data';
    if (isText && typeof value === 'string') detail[name] = (text(detail[name]) ?? '') + value;
    else detail[name] = value ?? detail[name];
  }
}

function detailsFor({ content }: AssistantMessage, model: string): readonly unknown[] {
  return content.flatMap((block) => {
    if (block.type !== 'thinking' || !isReplayable(block, 'openrouter')) return [];
    const kept = record(parsedJson(block.signature));
    return kept?.model === model ? list(kept.details) : [];
  });
}
