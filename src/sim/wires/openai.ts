/** OpenAI chat completions: rendering a reply. https://platform.openai.com/docs/api-reference/chat/object */
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionMessageFunctionToolCall,
} from 'openai/resources/chat/completions/completions';
import type { CompletionUsage } from 'openai/resources/completions';
import {
  type Answer,
  callIdsOf,
  EVENT_STREAM,
  type Frame,
  halfOf,
  pieces,
  reportedCache,
  STRANGE_FINISH,
  type Wire,
  type WireBody,
} from './contract.ts';
import { openaiFailure, openaiInvalid, openaiOverLength, openaiPromptTooLong } from './openai-failure.ts';
import { parseOpenai } from './openai-request.ts';
import { wordedOverLength } from './over-length-wordings.ts';

export const openaiWire: Wire = {
  name: 'openai',
  parse: parseOpenai,
  failure: openaiFailure,
  overLength: openaiOverLength,
  pretendOverLength: (request, promptTokens, model) =>
    wordedOverLength(request, promptTokens, model) ?? openaiPromptTooLong(promptTokens, model),
  badRequest: (message) => openaiInvalid(message, null, null),
  render: (answer) => (answer.request.stream ? stream(answer) : whole(answer)),
  garble: (body, streamed) => ({ ...body, frames: garbled(body.frames, streamed) }),
};

function whole(answer: Answer): WireBody {
  const { reply } = answer;
  const calls = toolCalls(answer);
  const completion = {
    id: `chatcmpl-${answer.id}`,
    object: 'chat.completion',
    created: Math.floor(answer.atMs / 1_000),
    model: answer.model.name,
    choices: [
      {
        index: 0,
        finish_reason: finishReason(answer),
        logprobs: null,
        message: {
          role: 'assistant',
          content: reply.text === '' ? null : reply.text,
          refusal: null,
          ...(calls.length === 0 ? {} : { tool_calls: calls }),
        },
      },
    ],
    usage: usage(answer),
  } satisfies ChatCompletion;
  return {
    contentType: 'application/json',
    frames: [{ text: JSON.stringify(completion), tokens: answer.outputTokens }],
  };
}

function stream(answer: Answer): WireBody {
  const frames: Frame[] = [];
  const push = (
    choices: ChatCompletionChunk.Choice[],
    tokens: number,
    totals: CompletionUsage | null = null,
  ) => {
    const chunk = {
      id: `chatcmpl-${answer.id}`,
      object: 'chat.completion.chunk',
      created: Math.floor(answer.atMs / 1_000),
      model: answer.model.name,
      choices,
      // With usage asked for, every chunk but the last carries a null.
      ...(answer.request.streamUsage ? { usage: totals } : {}),
    } satisfies ChatCompletionChunk;
    frames.push({ text: event(chunk), tokens });
  };
  const delta = (change: ChatCompletionChunk.Choice.Delta, tokens: number) =>
    push([{ index: 0, delta: change, finish_reason: null, logprobs: null }], tokens);
  delta({ role: 'assistant', content: '', refusal: null }, 0);
  for (const content of pieces(answer.reply.text)) delta({ content }, tokensOf(content, answer));
  for (const [index, call] of toolCalls(answer).entries()) {
    delta({ tool_calls: [{ index, ...call, function: { name: call.function.name, arguments: '' } }] }, 1);
    for (const text of pieces(call.function.arguments)) {
      delta({ tool_calls: [{ index, function: { arguments: text } }] }, tokensOf(text, answer));
    }
  }
  push([{ index: 0, delta: {}, finish_reason: finishReason(answer), logprobs: null }], 0);
  if (answer.request.streamUsage) push([], 0, usage(answer));
  frames.push({ text: 'data: [DONE]\n\n', tokens: 0 });
  return { contentType: EVENT_STREAM, frames };
}

function toolCalls(answer: Answer): ChatCompletionMessageFunctionToolCall[] {
  const ids = callIdsOf(answer, 'call_');
  return answer.reply.calls.map((call, index) => ({
    id: ids[index] ?? '',
    type: 'function' as const,
    function: { name: call.name, arguments: call.argsText },
  }));
}

function finishReason(answer: Answer): ChatCompletion.Choice['finish_reason'] {
  if (answer.strangeFinish) return STRANGE_FINISH as ChatCompletion.Choice['finish_reason'];
  return answer.finish;
}

function usage(answer: Answer): CompletionUsage {
  const cache = reportedCache(answer);
  return {
    prompt_tokens: answer.promptTokens,
    completion_tokens: answer.outputTokens,
    total_tokens: answer.promptTokens + answer.outputTokens,
    ...(cache === null
      ? {}
      : { prompt_tokens_details: { cached_tokens: cache.readTokens, audio_tokens: 0 } }),
    completion_tokens_details: { reasoning_tokens: answer.thinkingTokens, audio_tokens: 0 },
  };
}

function tokensOf(text: string, answer: Answer): number {
  return text.length * answer.model.tokensPerByte;
}

function event(data: unknown): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

function garbled(frames: readonly Frame[], streamed: boolean): readonly Frame[] {
  return frames.slice(0, 1).map((frame) => ({
    ...frame,
    text: streamed ? `${halfOf(frame.text)}\n\n` : halfOf(frame.text),
  }));
}
