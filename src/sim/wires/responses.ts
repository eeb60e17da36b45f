/** OpenAI Responses: rendering a reply. https://platform.openai.com/docs/api-reference/responses/object */
import type {
  Response,
  ResponseOutputItem,
  ResponseReasoningItem,
  ResponseUsage,
} from 'openai/resources/responses/responses';
import type { SimModel } from '../contract.ts';
import { asNumber, asString } from '../untyped.ts';
import {
  type Answer,
  callIdsOf,
  EVENT_STREAM,
  halfOf,
  parseArguments,
  reportedCache,
  STRANGE_FINISH,
  type Wire,
  type WireBody,
  WireRefusal,
  type WireRequest,
} from './contract.ts';
import { openaiFailure, openaiInvalid } from './openai-failure.ts';
import { wordedOverLength } from './over-length-wordings.ts';
import { addItem, EventList, type WireResponse } from './responses-events.ts';
import type { Item } from './responses-items.ts';
import { ResponsesMemory } from './responses-memory.ts';
import { parseResponses } from './responses-request.ts';

/** @param seed stands for the account: what is sealed under one seed is refused under another. */
export function responsesWire(seed: number): Wire {
  const memory = new ResponsesMemory(seed);
  let refusals = 0;
  const tooLong = (request: WireRequest, promptTokens: number, model: SimModel) => {
    refusals += 1;
    return wordedOverLength(request, promptTokens, model) ?? overLength(request, `resp_refused${refusals}`);
  };
  return {
    name: 'openai-responses',
    parse: (body) => parseResponses(body, memory),
    failure: openaiFailure,
    overLength: (request, promptTokens, model) => {
      const reply = request.maxTokens ?? 0;
      if (reply > model.maxOutputTokens) return replyTooLong(reply, model);
      return promptTokens + reply <= model.window ? null : tooLong(request, promptTokens, model);
    },
    pretendOverLength: tooLong,
    badRequest: (message) => openaiInvalid(message, null, null),
    render: (answer) => render(answer, memory),
    garble: (body, streamed) => garbled(body, streamed),
  };
}

/** A reply that is to be stored is stored as it is rendered: nobody knows its id before. */
function render(answer: Answer, memory: ResponsesMemory): WireBody {
  const output = outputOf(answer, memory);
  remember(answer, output, memory);
  return answer.request.stream ? stream(answer, output) : whole(answer, output);
}

function whole(answer: Answer, output: ResponseOutputItem[]): WireBody {
  const response = finished(answer, output);
  const frames = [{ text: JSON.stringify(response), tokens: answer.outputTokens }];
  return { contentType: 'application/json', frames };
}

function stream(answer: Answer, output: ResponseOutputItem[]): WireBody {
  const events = new EventList();
  const opening = started(`resp_${answer.id}`, answer.atMs, answer.request);
  events.add({ type: 'response.created', response: opening });
  events.add({ type: 'response.in_progress', response: opening });
  const tokensOf = (text: string) => text.length * answer.model.tokensPerByte;
  for (const [at, item] of output.entries()) addItem(events, item, at, tokensOf);
  const response = finished(answer, output);
  const cut = response.status === 'incomplete';
  events.add({ type: cut ? 'response.incomplete' : 'response.completed', response });
  return { contentType: EVENT_STREAM, frames: events.frames };
}

function started(id: string, atMs: number, request: WireRequest): WireResponse {
  const body = request.exchange?.body ?? {};
  return {
    id,
    object: 'response',
    created_at: Math.floor(atMs / 1_000),
    status: 'in_progress',
    error: null,
    incomplete_details: null,
    instructions: asString(body.instructions),
    max_output_tokens: asNumber(body.max_output_tokens),
    metadata: {},
    model: request.model,
    output: [],
    parallel_tool_calls: request.parallelCalls,
    previous_response_id: asString(body.previous_response_id),
    prompt_cache_key: asString(body.prompt_cache_key),
    temperature: 1,
    tool_choice: (body.tool_choice ?? 'auto') as Response['tool_choice'],
    tools: request.prompt.tools.map((tool) => ({
      type: 'function',
      name: tool.name,
      description: tool.description,
      parameters: tool.inputSchema,
      strict: null,
    })),
    top_p: 1,
    truncation: 'disabled',
  };
}

function finished(answer: Answer, output: ResponseOutputItem[]): WireResponse {
  const reason = answer.strangeFinish
    ? (STRANGE_FINISH as Response.IncompleteDetails['reason'])
    : answer.finish === 'length'
      ? 'max_output_tokens'
      : undefined;
  return {
    ...started(`resp_${answer.id}`, answer.atMs, answer.request),
    status: reason === undefined ? 'completed' : 'incomplete',
    incomplete_details: reason === undefined ? null : { reason },
    output,
    usage: usage(answer),
  };
}

function outputOf(answer: Answer, memory: ResponsesMemory): ResponseOutputItem[] {
  const { thinking, text, calls } = answer.reply;
  const ids = callIdsOf(answer, 'call_');
  const items: ResponseOutputItem[] = [];
  if (thinking !== null) items.push(reasoningItem(answer, thinking, memory));
  if (text !== '') {
    items.push({
      type: 'message',
      id: `msg_${answer.id}`,
      role: 'assistant',
      status: answer.finish === 'length' ? 'incomplete' : 'completed',
      content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
    });
  }
  for (const [index, call] of calls.entries()) {
    items.push({
      type: 'function_call',
      id: `fc_${answer.id}${index}`,
      call_id: ids[index] ?? '',
      name: call.name,
      arguments: call.argsText,
      status: answer.finish === 'length' && index === calls.length - 1 ? 'incomplete' : 'completed',
    });
  }
  return items;
}

/** The summary and the sealed text come only where they were asked for. https://platform.openai.com/docs/guides/reasoning */
function reasoningItem(answer: Answer, thinking: string, memory: ResponsesMemory): ResponseReasoningItem {
  const { exchange } = answer.request;
  return {
    type: 'reasoning',
    id: `rs_${answer.id}`,
    summary: exchange?.summarises ? [{ type: 'summary_text', text: thinking }] : [],
    ...(exchange?.sealsReasoning ? { encrypted_content: memory.seal(thinking) } : {}),
  };
}

function remember(answer: Answer, output: readonly ResponseOutputItem[], memory: ResponsesMemory): void {
  const { exchange } = answer.request;
  if (!exchange?.store) return;
  const items = [...exchange.items, ...output.flatMap((item) => itemsOf(item, answer.reply.thinking ?? ''))];
  memory.store(`resp_${answer.id}`, { previous: exchange.previous, items });
}

/** The reply as it would be sent back. */
function itemsOf(item: ResponseOutputItem, thinking: string): readonly Item[] {
  if (item.type === 'reasoning') {
    return [{ kind: 'reasoning', id: item.id, block: { type: 'thinking', text: thinking } }];
  }
  if (item.type === 'message') {
    return item.content.map((part): Item => {
      const text = part.type === 'output_text' ? part.text : part.refusal;
      return { kind: 'assistant', block: { type: 'text', text } };
    });
  }
  if (item.type !== 'function_call') return [];
  const { call_id: id, name, arguments: raw } = item;
  return [{ kind: 'assistant', block: { type: 'tool_call', id, name, args: parseArguments(raw), raw } }];
}

function usage(answer: Answer): ResponseUsage {
  return {
    input_tokens: answer.promptTokens,
    input_tokens_details: { cached_tokens: reportedCache(answer)?.readTokens ?? 0, cache_write_tokens: 0 },
    output_tokens: answer.outputTokens,
    output_tokens_details: { reasoning_tokens: answer.thinkingTokens },
    total_tokens: answer.promptTokens + answer.outputTokens,
  };
}

/** Asked to stream, the server has begun when it finds out: https://github.com/openai/codex/pull/4675 */
function overLength(request: WireRequest, id: string): WireRefusal {
  const message =
    'Your input exceeds the context window of this model. Please adjust your input and try again.';
  const error = { type: 'invalid_request_error', code: 'context_length_exceeded', message, param: 'input' };
  if (!request.stream) return openaiInvalid(message, error.param, error.code);
  const events = new EventList();
  const opening = started(id, 0, request);
  events.add({ type: 'response.created', response: opening });
  events.add({ type: 'response.in_progress', response: opening });
  events.addError(error);
  // Its code stands in no list of the SDK.
  const failure = { code: error.code, message } as unknown as Response['error'];
  events.add({ type: 'response.failed', response: { ...opening, status: 'failed', error: failure } });
  return new WireRefusal(200, message, { error }, {}, events.text);
}

function replyTooLong(reply: number, model: SimModel): WireRefusal {
  return openaiInvalid(
    `Invalid 'max_output_tokens': integer above maximum value. Expected a value <= ${model.maxOutputTokens}, but got ${reply} instead.`,
    'max_output_tokens',
    'integer_above_max_value',
  );
}

/** The first event stays whole in a stream, so that the break comes inside the reply. */
function garbled(body: WireBody, streamed: boolean): WireBody {
  const [first, second] = body.frames;
  if (first === undefined) return body;
  if (!streamed || second === undefined) {
    return { ...body, frames: [{ ...first, text: halfOf(first.text) }] };
  }
  return { ...body, frames: [first, { ...second, text: `${halfOf(second.text)}\n\n` }] };
}
