/**
 * A reasoning item between two requests: the signature of its thinking block is the JSON of what has to go back.
 * https://developers.openai.com/api/docs/guides/reasoning: items go back unmodified, with the items that followed them.
 */
import type OpenAI from 'openai';
import type { ThinkingBlock } from '../../ledger/blocks.ts';
import type { ProviderKind } from '../contract.ts';
import { parsedJson } from '../failures.ts';
import { list, record, text } from '../reading.ts';
import { isReplayable } from '../signatures.ts';

type Fields = Readonly<Record<string, unknown>>;

/**
 * What a request may state of the item. `status` is refused in requests; `signature` and `format` are OpenRouter's,
 * for models that do not encrypt: https://openrouter.ai/docs/guides/best-practices/reasoning-tokens
 */
const RETURNED = ['id', 'summary', 'content', 'encrypted_content', 'signature', 'format'] as const;

/** null when the provider could not read the item again: it is cut, or holds neither encrypted content nor a signature. */
export function signatureOf(item: Fields): string | null {
  const readable = text(item.encrypted_content) ?? text(item.signature);
  if (text(item.id) === null || readable === null || item.status === 'incomplete') return null;
  const kept = RETURNED.flatMap((name) => {
    const value = item[name];
    const isEmpty = value === null || value === undefined || (name === 'content' && list(value).length === 0);
    return isEmpty ? [] : [[name, value] as const];
  });
  return JSON.stringify({ summary: [], ...Object.fromEntries(kept) });
}

/** null for thinking that another kind signed, or none. */
export function reasoningItem(
  block: ThinkingBlock,
  kind: ProviderKind,
): OpenAI.Responses.ResponseReasoningItem | null {
  if (!isReplayable(block, kind)) return null;
  const item = record(parsedJson(block.signature));
  return item === null ? null : ({ type: 'reasoning', ...item } as OpenAI.Responses.ResponseReasoningItem);
}

/** What the item says in the open, for servers that send it whole. */
export function reasoningText(item: Fields): string {
  const parts = [...list(item.summary), ...list(item.content)];
  return parts.flatMap((part) => text(record(part)?.text) ?? []).join('\n\n');
}
