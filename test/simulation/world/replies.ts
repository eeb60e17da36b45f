/** What a model makes of a request, and what it sends back for a round of its script. */
import type { ChatMessage, ChatReply, ChatRequest } from '../../../src/context/request.ts';
import type { AssistantBlock } from '../../../src/ledger/blocks.ts';
import { visibleText } from '../../../src/ledger/view.ts';
import type { ProviderFailure } from '../../../src/providers/contract.ts';
import type { Round, RoundFailure } from './script.ts';

const RETRY_AFTER_MS = 1_200;
const READING_TOOL = 'record_reading';

export type Purpose = 'step' | 'intent' | 'summary';

export interface Reading {
  readonly script: string;
  /** Rounds the turn has behind it. */
  readonly round: number;
  readonly purpose: Purpose;
}

/** The newest directive a request holds, and how often a model replied to it. */
export function reading({ messages, tools }: ChatRequest): Reading {
  let script = '?';
  let round = 0;
  for (const message of messages) {
    const named = message.role === 'user' ? scriptNamed(userText(message)) : undefined;
    if (named !== undefined) [script, round] = [named, 0];
    else if (message.role === 'assistant' || userText(message).startsWith('[empty-step]')) round += 1;
  }
  return { script, round, purpose: purposeOf(tools) };
}

/** A step is offered the tools of the world, a reading its own, a summariser none. */
function purposeOf(tools: ChatRequest['tools']): Purpose {
  if (tools.length === 0) return 'summary';
  return tools.some(({ name }) => name === READING_TOOL) ? 'intent' : 'step';
}

/** The script a text names last. */
export function scriptNamed(text: string): string | undefined {
  return text.match(/\bq\d+\b/gu)?.at(-1);
}

/** What the producer of a script knows it must be told. */
export function answerOf(script: string): string {
  return `It is A-${script}.`;
}

export function classification(no: number, request: ChatRequest): ChatReply {
  return reply(no, request, [toolCall(READING_TOOL, { act: 'answer' }, no, 0)]);
}

export function summaryOf(no: number, request: ChatRequest): ChatReply {
  return reply(no, request, [
    { type: 'text', text: `Everything was asked, looked up and answered (${no}).` },
  ]);
}

export function replyOf(round: Round, script: string, no: number, request: ChatRequest): ChatReply {
  if (round.says === 'answer') return reply(no, request, [{ type: 'text', text: answerOf(script) }]);
  if (round.says !== 'calls') return reply(no, request, [{ type: 'thinking', text: 'hm' }]);
  const calls = round.calls.map(({ tool, bytes, broken }, index) => {
    const call = toolCall(tool, { bytes }, no, index);
    return broken ? { ...call, args: null, raw: '{"by' } : call;
  });
  return reply(no, request, calls);
}

export function failureOf(failure: RoundFailure, no: number): ProviderFailure {
  const message = `refused#${no}`;
  switch (failure) {
    case 'overloaded':
      return { kind: 'retryable', code: 'overloaded', message };
    case 'rate_limited':
      return { kind: 'retryable', code: 'rate_limited', message, retryAfterMs: RETRY_AFTER_MS };
    case 'over_length':
      // Without a limit: a small prompt that is refused counts for its turn alone.
      return { kind: 'over_length', message };
    case 'auth':
    case 'content':
      return { kind: failure, message };
  }
}

function userText({ content }: ChatMessage): string {
  return visibleText(content.filter((block) => block.type === 'text'));
}

function toolCall(
  name: string,
  args: { readonly [member: string]: string | number },
  no: number,
  index: number,
) {
  return { type: 'tool_call', id: `${no}-${index}`, name, args } as const;
}

/** The number of the call stands in the model's name, and so in its receipt. */
function reply(no: number, { messages }: ChatRequest, content: readonly AssistantBlock[]): ChatReply {
  const inputTokens = Math.ceil(JSON.stringify(messages).length / 4);
  return {
    content,
    finish: content.some(({ type }) => type === 'tool_call') ? 'tool_calls' : 'stop',
    usage: { inputTokens, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 10 },
    model: `model#${no}`,
    firstTokenMs: null,
    totalMs: 1,
  };
}
