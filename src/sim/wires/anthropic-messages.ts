/** Anthropic messages: reading the blocks of a transcript, each with the path an error names it by. */
import type {
  ImageBlock,
  NativeBlock,
  TextBlock,
  ThinkingBlock,
  ToolCallBlock,
  ToolResultBlock,
} from '../../ledger/blocks.ts';
import type { Json } from '../../ledger/json.ts';
import { asArray, asObject, asString, type Untyped } from '../untyped.ts';
import { anthropicInvalid } from './anthropic-failure.ts';
import { readNative } from './anthropic-search.ts';
import { systemNote } from './contract.ts';

export interface Block {
  readonly block: TextBlock | ImageBlock | ThinkingBlock | ToolCallBlock | ToolResultBlock | NativeBlock;
  /** `messages.2.content.0` */
  readonly path: string;
  readonly cacheControl: unknown;
}

/** Neighbours of one role are one turn, as the API combines them. `index` is that of the first. */
export interface Turn {
  readonly role: 'user' | 'assistant';
  readonly index: number;
  readonly blocks: readonly Block[];
}

export function readMessages(
  values: readonly unknown[],
  sign: (thinking: string) => string,
): readonly Turn[] {
  if (values.length === 0) throw anthropicInvalid('messages: at least one message is required');
  const turns: Turn[] = [];
  const names = new Map<string, string>();
  for (const [index, value] of values.entries()) {
    const message = asObject(value);
    const role = message?.role;
    if (message === null || (role !== 'user' && role !== 'assistant' && role !== 'system')) {
      throw anthropicInvalid(
        `messages.${index}.role: Input should be 'user', 'assistant' or 'system', found ${JSON.stringify(role ?? null)}`,
      );
    }
    const blocks = readContent(message, index, names, sign);
    const speaker = role === 'assistant' ? 'assistant' : 'user';
    const last = turns.at(-1);
    if (last?.role !== speaker) turns.push({ role: speaker, index, blocks });
    else turns[turns.length - 1] = { ...last, blocks: [...last.blocks, ...blocks] };
  }
  if (turns[0]?.role !== 'user') throw anthropicInvalid('messages: first message must use the "user" role');
  return turns;
}

function readContent(
  message: Untyped,
  index: number,
  names: Map<string, string>,
  sign: (thinking: string) => string,
): readonly Block[] {
  const { content } = message;
  const note = message.role === 'system' ? systemNote : (text: string) => text;
  if (typeof content === 'string') {
    if (content === '')
      throw anthropicInvalid(
        `messages.${index}: ${String(message.role)} messages must have non-empty content`,
      );
    return [
      { block: { type: 'text', text: note(content) }, path: `messages.${index}.content`, cacheControl: null },
    ];
  }
  const values = asArray(content);
  if (values === null) throw anthropicInvalid(`messages.${index}.content: Field required`);
  if (values.length === 0)
    throw anthropicInvalid(`messages.${index}: ${String(message.role)} messages must have non-empty content`);
  return values.flatMap((value, at): readonly Block[] => {
    const path = `messages.${index}.content.${at}`;
    const block = asObject(value) ?? {};
    const read = readBlock(block, path, names, sign);
    const [first, ...rest] =
      message.role === 'system'
        ? read.map((one) => (one.type === 'text' ? { ...one, text: note(one.text) } : one))
        : read;
    if (first === undefined) return [];
    // Images inside a tool result follow it as blocks of their own; the mark belongs to the last of them.
    return [first, ...rest].map((one, position, all) => ({
      block: one,
      path,
      cacheControl: position === all.length - 1 ? block.cache_control : null,
    }));
  });
}

function readBlock(
  block: Untyped,
  path: string,
  names: Map<string, string>,
  sign: (thinking: string) => string,
): readonly Block['block'][] {
  switch (block.type) {
    case 'text':
      return [readText(block, path)];
    case 'image':
      return [readImageBlock(block, path)];
    case 'tool_use': {
      const call: ToolCallBlock = {
        type: 'tool_call',
        id: required(block.id, `${path}.tool_use.id`),
        name: required(block.name, `${path}.tool_use.name`),
        args: (block.input ?? null) as Json,
      };
      if (asObject(block.input) === null) {
        throw anthropicInvalid(`${path}.tool_use.input: Input should be a valid dictionary`);
      }
      names.set(call.id, call.name);
      return [call];
    }
    case 'tool_result':
      return readResult(block, path, names);
    case 'thinking': {
      const text = required(block.thinking, `${path}.thinking.thinking`);
      const signature = required(block.signature, `${path}.thinking.signature`);
      if (signature !== sign(text))
        throw anthropicInvalid(`${path}: Invalid \`signature\` in \`thinking\` block`);
      return [{ type: 'thinking', text, signature }];
    }
    case 'redacted_thinking':
      return [{ type: 'thinking', text: '' }];
    default:
      return [readNative(block, path) ?? refuseBlock(block, path)];
  }
}

function refuseBlock(block: Untyped, path: string): never {
  throw anthropicInvalid(
    `${path}: Input tag '${String(block.type)}' found using 'type' does not match any of the expected tags: 'image', 'redacted_thinking', 'server_tool_use', 'text', 'thinking', 'tool_result', 'tool_search_tool_result', 'tool_use'`,
  );
}

function readText(block: Untyped, path: string): TextBlock {
  const text = required(block.text, `${path}.text.text`);
  if (text !== '') return { type: 'text', text };
  throw anthropicInvalid(
    asObject(block.cache_control) === null
      ? 'messages: text content blocks must be non-empty'
      : `${path}.text: cache_control cannot be set for empty text blocks`,
  );
}

function readImageBlock(block: Untyped, path: string): ImageBlock {
  const source = asObject(block.source);
  if (source?.type !== 'base64') {
    throw anthropicInvalid(
      `${path}.image.source.type: the simulator reads 'base64' only, found '${String(source?.type)}'`,
    );
  }
  return {
    type: 'image',
    mediaType: required(
      source.media_type,
      `${path}.image.source.base64.media_type`,
    ) as ImageBlock['mediaType'],
    data: required(source.data, `${path}.image.source.base64.data`),
  };
}

function readResult(
  block: Untyped,
  path: string,
  names: ReadonlyMap<string, string>,
): readonly [ToolResultBlock, ...ImageBlock[]] {
  const callId = required(block.tool_use_id, `${path}.tool_result.tool_use_id`);
  const parts = (asArray(block.content) ?? []).map((part) => asObject(part) ?? {});
  const texts = parts.filter((part) => part.type === 'text').map((part) => asString(part.text) ?? '');
  const result: ToolResultBlock = {
    type: 'tool_result',
    callId,
    name: names.get(callId) ?? '',
    content: asString(block.content) ?? texts.join('\n'),
    isError: block.is_error === true,
  };
  const images = parts.filter((part) => part.type === 'image').map((part) => readImageBlock(part, path));
  return [result, ...images];
}

function required(value: unknown, path: string): string {
  if (typeof value === 'string') return value;
  throw anthropicInvalid(`${path}: Field required`);
}
