/** Ollama's native chat: reading a request. */
import type { ChatMessage } from '../../context/request.ts';
import type { ImageBlock, ToolCallBlock } from '../../ledger/blocks.ts';
import type { Json } from '../../ledger/json.ts';
import { readImage } from '../images.ts';
import type { SimPrompt } from '../prompt.ts';
import { asArray, asNumber, asObject, asString, type Untyped } from '../untyped.ts';
import { systemNote, WireRefusal, type WireRequest } from './contract.ts';
import { functionTools } from './openai-request.ts';

/** https://docs.ollama.com/context-length: what a server reserves when neither request nor model says more. */
const DEFAULT_CONTEXT_TOKENS = 4_096;

export function parseOllama(body: Untyped): WireRequest {
  const model = asString(body.model);
  if (model === null || model === '') throw invalid('model is required');
  const options = asObject(body.options);
  const tools = asArray(body.tools) ?? [];
  const reply = asNumber(options?.num_predict);
  return {
    model,
    stream: body.stream !== false,
    prompt: {
      ...readMessages(asArray(body.messages) ?? []),
      tools: tools.length === 0 ? [] : functionTools(tools, invalid),
    },
    breakpoints: null,
    maxTokens: reply !== null && reply > 0 ? reply : null,
    toolChoice: { kind: 'auto' },
    parallelCalls: true,
    thinking: body.think === true || typeof body.think === 'string',
    streamUsage: true,
    context: {
      tokens: asNumber(options?.num_ctx) ?? DEFAULT_CONTEXT_TOKENS,
      mayTruncate: body.truncate !== false,
      mayShift: body.shift !== false,
    },
    exchange: null,
  };
}

interface Reading {
  readonly system: string[];
  readonly messages: ChatMessage[];
  /** Calls still without a result: this wire has no call ids, results answer in order or by name. */
  readonly open: ToolCallBlock[];
}

function readMessages(values: readonly unknown[]): Pick<SimPrompt, 'system' | 'messages'> {
  const reading: Reading = { system: [], messages: [], open: [] };
  for (const value of values) {
    const message = asObject(value);
    const role = asString(message?.role);
    if (message === null || role === null) throw invalid('invalid message: role is required');
    const text = asString(message.content) ?? '';
    if (role === 'system') {
      if (reading.messages.length === 0) reading.system.push(text);
      else reading.messages.push({ role: 'user', content: [{ type: 'text', text: systemNote(text) }] });
    } else if (role === 'user') {
      const images = (asArray(message.images) ?? []).map(readInlineImage);
      reading.messages.push({ role: 'user', content: [{ type: 'text', text }, ...images] });
    } else if (role === 'assistant') readAssistant(message, text, reading);
    else if (role === 'tool') readResult(message, text, reading);
    else throw invalid(`invalid role: ${role}`);
  }
  return reading;
}

function readInlineImage(value: unknown): ImageBlock {
  const data = asString(value) ?? '';
  const image = readImage(data);
  if (image === null) throw invalid('invalid image: not a PNG, JPEG, GIF or WebP');
  return { type: 'image', mediaType: image.mediaType, data };
}

function readAssistant(message: Untyped, text: string, reading: Reading): void {
  const calls = (asArray(message.tool_calls) ?? []).map((value, index): ToolCallBlock => {
    const definition = asObject(asObject(value)?.function);
    const name = asString(definition?.name) ?? '';
    const id = `${reading.messages.length}-${index}`;
    return { type: 'tool_call', id, name, args: (definition?.arguments ?? null) as Json };
  });
  reading.open.splice(0, reading.open.length, ...calls);
  reading.messages.push({
    role: 'assistant',
    content: text === '' ? calls : [{ type: 'text', text }, ...calls],
  });
}

function readResult(message: Untyped, content: string, reading: Reading): void {
  const name = asString(message.tool_name);
  const found = reading.open.findIndex((call) => name === null || call.name === name);
  const [call] = reading.open.splice(Math.max(0, found), 1);
  reading.messages.push({
    role: 'user',
    content: [
      {
        type: 'tool_result',
        callId: call?.id ?? '',
        name: name ?? call?.name ?? '',
        content,
        isError: false,
      },
    ],
  });
}

function invalid(error: string): WireRefusal {
  return new WireRefusal(400, error, { error });
}
