/**
 * OpenAI Responses: a conversation as items, and what the API demands of them.
 *
 * 1 every output has its call before it  2 every call has its output after it
 * 3 reasoning sent back stands before what it led to  4 reasoning comes back as it was issued
 */
import type { AssistantMessage, ChatMessage, UserMessage } from '../../context/request.ts';
import type { ImageBlock, TextBlock, ThinkingBlock, ToolCallBlock } from '../../ledger/blocks.ts';
import { asArray, asObject, asString, type Untyped } from '../untyped.ts';
import { parseArguments, systemNote } from './contract.ts';
import { openaiInvalid } from './openai-failure.ts';
import type { ResponsesMemory, StoredResponse } from './responses-memory.ts';

export type Item =
  | { readonly kind: 'system'; readonly text: string }
  | { readonly kind: 'user'; readonly content: readonly (TextBlock | ImageBlock)[] }
  | { readonly kind: 'assistant'; readonly block: TextBlock | ToolCallBlock }
  | { readonly kind: 'reasoning'; readonly id: string; readonly block: ThinkingBlock }
  | { readonly kind: 'output'; readonly callId: string; readonly content: string };

const DATA_URL = /^data:(image\/(?:png|jpeg|gif|webp));base64,(.*)$/s;
const ROLES = ['assistant', 'system', 'developer', 'user'];

export function readItems(values: readonly unknown[], memory: ResponsesMemory): readonly Item[] {
  return values.flatMap((value, index) => readItem(asObject(value) ?? {}, `input[${index}]`, memory));
}

/** @param own the request's items, which stand at the end of `all`. */
export function checkItems(all: readonly Item[], own: readonly Item[]): void {
  const open = new Set<string>();
  const called = new Set<string>();
  for (const item of all) {
    if (item.kind === 'assistant' && item.block.type === 'tool_call') {
      open.add(item.block.id);
      called.add(item.block.id);
    } else if (item.kind === 'output') {
      // https://github.com/continuedev/continue/issues/10092
      if (!called.has(item.callId)) {
        throw refused(`No tool call found for function call output with call_id ${item.callId}.`);
      }
      open.delete(item.callId);
    }
  }
  const [unanswered] = open;
  // https://github.com/router-for-me/CLIProxyAPI/issues/2368
  if (unanswered !== undefined) throw refused(`No tool output found for function call ${unanswered}.`);
  for (const [index, item] of own.entries()) {
    const next = own[index + 1]?.kind;
    if (item.kind !== 'reasoning' || next === 'assistant' || next === 'reasoning') continue;
    // https://github.com/openai/openai-node/issues/1567
    throw refused(`Item '${item.id}' of type 'reasoning' was provided without its required following item.`);
  }
}

/** Neighbours of one speaker are one message; system text before the first message stands apart. */
export function messagesOf(items: readonly Item[]): {
  readonly system: readonly string[];
  readonly messages: readonly ChatMessage[];
} {
  const system: string[] = [];
  const messages: ChatMessage[] = [];
  const names = new Map<string, string>();
  for (const item of items) {
    switch (item.kind) {
      case 'system':
        if (messages.length === 0) system.push(item.text);
        else messages.push(told([{ type: 'text', text: systemNote(item.text) }]));
        break;
      case 'user':
        messages.push(told(item.content));
        break;
      case 'output': {
        const name = names.get(item.callId) ?? '';
        const { callId, content } = item;
        const result = { type: 'tool_result', callId, name, content, isError: false } as const;
        const last = messages.at(-1);
        if (last?.role !== 'user' || last.content.some((block) => block.type !== 'tool_result')) {
          messages.push(told([result]));
        } else messages[messages.length - 1] = told([...last.content, result]);
        break;
      }
      case 'assistant':
      case 'reasoning': {
        if (item.block.type === 'tool_call') names.set(item.block.id, item.block.name);
        const last = messages.at(-1);
        if (last?.role === 'assistant') messages[messages.length - 1] = spoken([...last.content, item.block]);
        else messages.push(spoken([item.block]));
      }
    }
  }
  return { system, messages };
}

/** What this wire keeps of a request until its reply is rendered. */
export interface ResponsesExchange {
  readonly body: Untyped;
  readonly store: boolean;
  readonly sealsReasoning: boolean;
  readonly summarises: boolean;
  readonly previous: StoredResponse | null;
  readonly items: readonly Item[];
}

function told(content: UserMessage['content']): UserMessage {
  return { role: 'user', content };
}

function spoken(content: AssistantMessage['content']): AssistantMessage {
  return { role: 'assistant', content };
}

function readItem(item: Untyped, path: string, memory: ResponsesMemory): readonly Item[] {
  switch (item.type ?? 'message') {
    case 'message':
      return readMessage(item, path);
    case 'function_call': {
      const raw = required(item.arguments, `${path}.arguments`);
      const id = required(item.call_id, `${path}.call_id`);
      const name = required(item.name, `${path}.name`);
      const block = { type: 'tool_call', id, name, args: parseArguments(raw), raw } as const;
      return [{ kind: 'assistant', block }];
    }
    case 'function_call_output':
      return [
        {
          kind: 'output',
          callId: required(item.call_id, `${path}.call_id`),
          content: asString(item.output) ?? textOf(item.output),
        },
      ];
    case 'reasoning': {
      const text = memory.readReasoning(item);
      return [{ kind: 'reasoning', id: asString(item.id) ?? 'rs_', block: { type: 'thinking', text } }];
    }
    default:
      throw openaiInvalid(
        `Invalid value: '${String(item.type)}'. The simulator reads 'message', 'function_call', 'function_call_output' and 'reasoning' items.`,
        `${path}.type`,
        'invalid_value',
      );
  }
}

function readMessage(item: Untyped, path: string): readonly Item[] {
  const { role, content } = item;
  switch (role) {
    case 'system':
    case 'developer':
      return [{ kind: 'system', text: asString(content) ?? textOf(content) }];
    case 'assistant':
      return assistantTexts(content).map((text) => ({ kind: 'assistant', block: { type: 'text', text } }));
    case 'user':
      return [{ kind: 'user', content: userContent(content, path) }];
    default:
      throw openaiInvalid(
        `Invalid value: '${String(role)}'. Supported values are: ${ROLES.map((one) => `'${one}'`).join(', ')}.`,
        `${path}.role`,
        'invalid_value',
      );
  }
}

/** Each part is a block of its own, as the reply it repeats had it. */
function assistantTexts(content: unknown): readonly string[] {
  if (typeof content === 'string') return [content];
  return (asArray(content) ?? []).map((part) => partText(part));
}

function userContent(content: unknown, path: string): readonly (TextBlock | ImageBlock)[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return (asArray(content) ?? []).map((value, at): TextBlock | ImageBlock => {
    const part = asObject(value);
    if (part?.type === 'input_text') return { type: 'text', text: partText(part) };
    const data = DATA_URL.exec(asString(part?.image_url) ?? '');
    if (part?.type === 'input_image' && data !== null) {
      return { type: 'image', mediaType: data[1] as ImageBlock['mediaType'], data: data[2] ?? '' };
    }
    throw openaiInvalid(
      `Invalid value: '${String(part?.type)}'. The simulator reads 'input_text', and 'input_image' with a base64 data URL.`,
      `${path}.content[${at}]`,
      'invalid_value',
    );
  });
}

function textOf(content: unknown): string {
  return (asArray(content) ?? []).map(partText).join('\n');
}

function partText(part: unknown): string {
  const { text, refusal } = asObject(part) ?? {};
  return asString(text) ?? asString(refusal) ?? '';
}

function required(value: unknown, path: string): string {
  if (typeof value === 'string') return value;
  throw openaiInvalid(`Missing required parameter: '${path}'.`, path, 'missing_required_parameter');
}

function refused(message: string) {
  return openaiInvalid(message, 'input', null);
}
