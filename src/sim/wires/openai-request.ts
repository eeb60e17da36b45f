/** OpenAI chat completions: reading a request. https://platform.openai.com/docs/api-reference/chat/create */
import type { AssistantMessage, ChatMessage, ToolDefinition, UserMessage } from '../../context/request.ts';
import type { ImageBlock, TextBlock, ToolCallBlock } from '../../ledger/blocks.ts';
import type { JsonObject } from '../../ledger/json.ts';
import type { ToolChoice } from '../prompt.ts';
import { asArray, asNumber, asObject, asString, type Untyped } from '../untyped.ts';
import { parseArguments, systemNote, type WireRequest } from './contract.ts';
import { openaiInvalid } from './openai-failure.ts';

const DATA_URL = /^data:(image\/(?:png|jpeg|gif|webp));base64,(.*)$/s;
const TOOL_NAME = /^[a-zA-Z0-9_-]+$/;

export function parseOpenai(body: Untyped): WireRequest {
  const model = asString(body.model);
  if (model === null) throw openaiInvalid('you must provide a model parameter', null, null);
  const messages = asArray(body.messages);
  if (messages === null) {
    throw openaiInvalid("Missing required parameter: 'messages'.", 'messages', 'missing_required_parameter');
  }
  if (messages.length === 0) {
    throw openaiInvalid(
      "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
      'messages',
      'empty_array',
    );
  }
  return {
    model,
    stream: body.stream === true,
    prompt: { ...readMessages(messages), tools: functionTools(body.tools, openaiInvalid) },
    breakpoints: null,
    maxTokens: asNumber(body.max_completion_tokens) ?? asNumber(body.max_tokens),
    toolChoice: readToolChoice(body.tool_choice),
    parallelCalls: body.parallel_tool_calls !== false,
    thinking: false,
    streamUsage: asObject(body.stream_options)?.include_usage === true,
    context: null,
    exchange: null,
  };
}

/** Ollama takes tools in the same form and refuses in its own. */
export function functionTools(value: unknown, refuse: typeof openaiInvalid): readonly ToolDefinition[] {
  const tools = asArray(value);
  if (tools === null) return [];
  if (tools.length === 0) throw refuse("[] is too short - 'tools'", null, null);
  return tools.map((tool, index) => {
    const definition = asObject(asObject(tool)?.function);
    const name = asString(definition?.name);
    if (definition === null || name === null) {
      const path = `tools[${index}].function`;
      throw refuse(`Missing required parameter: '${path}'.`, path, 'missing_required_parameter');
    }
    if (!TOOL_NAME.test(name)) {
      const path = `tools[${index}].function.name`;
      throw refuse(
        `Invalid '${path}': string does not match pattern. Expected a string that matches the pattern '${TOOL_NAME.source}'.`,
        path,
        'invalid_value',
      );
    }
    return {
      name,
      description: asString(definition.description) ?? '',
      inputSchema: (asObject(definition.parameters) ?? { type: 'object', properties: {} }) as JsonObject,
    };
  });
}

function readToolChoice(value: unknown): ToolChoice {
  if (value === 'none' || value === 'required') return { kind: value };
  const name = asString(asObject(asObject(value)?.function)?.name);
  return name === null ? { kind: 'auto' } : { kind: 'named', name };
}

interface Reading {
  readonly system: string[];
  readonly messages: ChatMessage[];
  /** Calls of the last assistant message that have no tool message yet, id to name. */
  readonly open: Map<string, string>;
  /** Ids that message issued; null outside a run of tool messages. */
  issued: ReadonlySet<string> | null;
}

function readMessages(values: readonly unknown[]): {
  readonly system: readonly string[];
  readonly messages: readonly ChatMessage[];
} {
  const reading: Reading = { system: [], messages: [], open: new Map(), issued: null };
  for (const [index, value] of values.entries()) {
    const message = asObject(value);
    const role = asString(message?.role);
    if (message === null || role === null) {
      const path = `messages[${index}].role`;
      throw openaiInvalid(`Missing required parameter: '${path}'.`, path, 'missing_required_parameter');
    }
    if (role === 'tool') readToolMessage(message, index, reading);
    else {
      refuseOpenCalls(reading, index);
      reading.issued = null;
      readSpoken(message, role, index, reading);
    }
  }
  refuseOpenCalls(reading, values.length);
  return reading;
}

function readSpoken(message: Untyped, role: string, index: number, reading: Reading): void {
  switch (role) {
    case 'system':
    case 'developer': {
      const text = textOf(message.content);
      if (reading.messages.length === 0) reading.system.push(text);
      else reading.messages.push({ role: 'user', content: [{ type: 'text', text: systemNote(text) }] });
      return;
    }
    case 'user':
      reading.messages.push({ role: 'user', content: userContent(message.content, index) });
      return;
    case 'assistant':
      reading.messages.push(readAssistant(message, index, reading));
      return;
    default:
      throw openaiInvalid(
        `Invalid value: '${role}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.`,
        `messages[${index}].role`,
        'invalid_value',
      );
  }
}

function readAssistant(message: Untyped, index: number, reading: Reading): AssistantMessage {
  const text = textOf(message.content);
  const calls = (asArray(message.tool_calls) ?? []).map((value, at): ToolCallBlock => {
    const call = asObject(value);
    const definition = asObject(call?.function);
    const id = asString(call?.id);
    const name = asString(definition?.name);
    if (id === null || name === null) {
      const path = `messages[${index}].tool_calls[${at}]`;
      throw openaiInvalid(`Missing required parameter: '${path}.id'.`, path, 'missing_required_parameter');
    }
    const raw = asString(definition?.arguments) ?? '';
    reading.open.set(id, name);
    return { type: 'tool_call', id, name, args: parseArguments(raw), raw };
  });
  if (calls.length > 0) reading.issued = new Set(reading.open.keys());
  return { role: 'assistant', content: text === '' ? calls : [{ type: 'text', text }, ...calls] };
}

function readToolMessage(message: Untyped, index: number, reading: Reading): void {
  if (reading.issued === null) {
    throw openaiInvalid(
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
      `messages.[${index}].role`,
      null,
    );
  }
  const id = asString(message.tool_call_id) ?? '';
  const name = reading.open.get(id);
  if (name === undefined) {
    throw openaiInvalid(
      `Invalid parameter: 'tool_call_id' of '${id}' not found in 'tool_calls' of previous message.`,
      `messages.[${index}].tool_call_id`,
      null,
    );
  }
  reading.open.delete(id);
  const result = {
    type: 'tool_result',
    callId: id,
    name,
    content: textOf(message.content),
    isError: false,
  } as const;
  const last = reading.messages.at(-1);
  if (last?.role === 'user' && last.content.every((block) => block.type === 'tool_result')) {
    reading.messages[reading.messages.length - 1] = { role: 'user', content: [...last.content, result] };
  } else reading.messages.push({ role: 'user', content: [result] });
}

/** Every call of a message is answered by the tool messages right after it, before anyone else speaks. */
function refuseOpenCalls(reading: Reading, index: number): void {
  if (reading.open.size === 0) return;
  const ids = [...reading.open.keys()].join(', ');
  throw openaiInvalid(
    `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${ids}`,
    `messages.[${index}].role`,
    null,
  );
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  const parts = asArray(content) ?? [];
  return parts.map((part) => asString(asObject(part)?.text) ?? '').join('\n');
}

function userContent(content: unknown, index: number): UserMessage['content'] {
  const parts = asArray(content);
  if (parts === null) return [{ type: 'text', text: asString(content) ?? '' }];
  return parts.map((value, at): TextBlock | ImageBlock => {
    const part = asObject(value);
    const text = asString(part?.text);
    if (part?.type === 'text' && text !== null) return { type: 'text', text };
    const url = asString(asObject(part?.image_url)?.url);
    const data = url === null ? null : DATA_URL.exec(url);
    if (data !== null) {
      return { type: 'image', mediaType: data[1] as ImageBlock['mediaType'], data: data[2] ?? '' };
    }
    throw openaiInvalid(
      `Invalid value: '${String(part?.type)}'. The simulator reads 'text' and 'image_url' parts with a base64 data URL.`,
      `messages[${index}].content[${at}]`,
      'invalid_value',
    );
  });
}
