/** Ollama's native chat. https://docs.ollama.com/api/chat */
import type { ChatResponse, Message, ToolCall } from 'ollama';
import {
  type Answer,
  type FailureContext,
  type FailureKind,
  type Frame,
  halfOf,
  parseArguments,
  pieces,
  STRANGE_FINISH,
  type Wire,
  type WireBody,
  WireRefusal,
} from './contract.ts';
import { parseOllama } from './ollama-request.ts';

const NANOSECONDS_PER_SECOND = 1e9;
/** What the server reports as spent on loading a model that is already in memory. */
const LOAD_NANOSECONDS = 1_000_000;

export const ollamaWire: Wire = {
  name: 'ollama',
  parse: parseOllama,
  failure,
  // A longer prompt is cut silently unless the caller forbade it; `truncate` in ollama/server/prompt.go.
  overLength: (request, promptTokens, model) => {
    const limit = Math.min(request.context?.tokens ?? model.window, model.window);
    const forbidden = request.context?.mayTruncate === false;
    return forbidden && promptTokens > limit ? tooLong() : null;
  },
  pretendOverLength: tooLong,
  badRequest: (message) => refusal(400, message),
  render: (answer) => (answer.request.stream ? stream(answer) : whole(answer)),
  garble: (body, streamed) => ({
    ...body,
    frames: body.frames.slice(0, 1).map((frame) => ({
      ...frame,
      text: `${halfOf(frame.text)}${streamed ? '\n' : ''}`,
    })),
  }),
};

/** Dates travel as text; the SDK's type says Date and its client leaves the text as it is. */
type OnWire<T> = { [K in keyof T]: T[K] extends Date ? string : T[K] };
/** Counters come with the last line of a stream only. */
type StreamLine = Pick<OnWire<ChatResponse>, 'model' | 'created_at' | 'message' | 'done'>;

function whole(answer: Answer): WireBody {
  const { reply } = answer;
  const calls = toolCalls(answer);
  const message: Message = {
    role: 'assistant',
    content: reply.text,
    ...(reply.thinking === null ? {} : { thinking: reply.thinking }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  const text = JSON.stringify(last(answer, message));
  return { contentType: 'application/json; charset=utf-8', frames: [{ text, tokens: answer.outputTokens }] };
}

function stream(answer: Answer): WireBody {
  const frames: Frame[] = [];
  const push = (message: Message, text: string) => {
    const line = {
      model: answer.model.name,
      created_at: new Date(answer.atMs).toISOString(),
      message,
      done: false,
    } satisfies StreamLine;
    frames.push({ text: `${JSON.stringify(line)}\n`, tokens: text.length * answer.model.tokensPerByte });
  };
  for (const thinking of pieces(answer.reply.thinking ?? '')) {
    push({ role: 'assistant', content: '', thinking }, thinking);
  }
  for (const content of pieces(answer.reply.text)) push({ role: 'assistant', content }, content);
  for (const [index, call] of toolCalls(answer).entries()) {
    push({ role: 'assistant', content: '', tool_calls: [call] }, answer.reply.calls[index]?.argsText ?? '');
  }
  frames.push({ text: `${JSON.stringify(last(answer, { role: 'assistant', content: '' }))}\n`, tokens: 0 });
  return { contentType: 'application/x-ndjson', frames };
}

/** Durations follow the model's rates, cached tokens costing no prefill: how a prober sees the cache. */
function last(answer: Answer, message: Message): OnWire<ChatResponse> {
  const { model } = answer;
  const prefill = nanoseconds(answer.promptTokens - answer.cache.readTokens, model.prefillTokensPerSecond);
  const decode = nanoseconds(answer.outputTokens, model.decodeTokensPerSecond);
  return {
    model: model.name,
    created_at: new Date(answer.atMs).toISOString(),
    message,
    done: true,
    done_reason: answer.strangeFinish ? STRANGE_FINISH : answer.finish === 'length' ? 'length' : 'stop',
    total_duration: LOAD_NANOSECONDS + prefill + decode,
    load_duration: LOAD_NANOSECONDS,
    prompt_eval_count: answer.promptTokens,
    prompt_eval_duration: prefill,
    eval_count: answer.outputTokens,
    eval_duration: decode,
  } satisfies OnWire<ChatResponse>;
}

function nanoseconds(tokens: number, tokensPerSecond: number): number {
  return Math.round((tokens / tokensPerSecond) * NANOSECONDS_PER_SECOND);
}

/** Arguments are an object on this wire; broken ones, which only a fault makes, travel as text. */
function toolCalls(answer: Answer): ToolCall[] {
  return answer.reply.calls.map((call) => ({
    function: {
      name: call.name,
      arguments: (parseArguments(call.argsText) ?? call.argsText) as ToolCall['function']['arguments'],
    },
  }));
}

function failure(kind: FailureKind, context: FailureContext): WireRefusal {
  switch (kind) {
    case 'rate_limit':
      return refusal(
        429,
        'too many requests',
        context.retryAfterMs === null
          ? {}
          : { 'retry-after': String(Math.ceil(context.retryAfterMs / 1_000)) },
      );
    case 'overloaded':
      return refusal(503, 'server busy, please try again.  maximum pending requests exceeded');
    case 'server_error':
      return refusal(500, 'llama runner process has terminated');
    case 'auth':
      return refusal(401, 'unauthorized');
    case 'unknown_model':
      return refusal(404, `model '${context.model}' not found`);
  }
}

function tooLong(): WireRefusal {
  return refusal(400, 'the input length exceeds the context length');
}

function refusal(status: number, error: string, headers: Record<string, string> = {}): WireRefusal {
  return new WireRefusal(status, error, { error }, headers);
}
