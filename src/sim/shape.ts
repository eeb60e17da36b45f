/** Gives a reply its final shape: cut at the caller's limit, or broken as a fault demands. */
import type { ToolDefinition } from '../context/request.ts';
import { byteLength } from '../ledger/json.ts';
import type { SimModel } from './contract.ts';
import type { SimReply, SimReplyCall } from './mind/reply.ts';
import { outputTokens } from './prompt.ts';
import type { Finish } from './wires/contract.ts';

/** The reply of the `empty` fault. */
export const THINKING_ONLY: SimReply = {
  thinking: 'Considering what was asked, and ending before anything was said.',
  text: '',
  calls: [],
};

export interface FittedReply {
  readonly reply: SimReply;
  readonly finish: Finish;
  readonly outputTokens: number;
  readonly thinkingTokens: number;
}

/** Thinking is spent first, then text, then calls in order; what passes the limit is cut in place. */
export function fitReply(reply: SimReply, limitTokens: number, model: SimModel): FittedReply {
  let leftBytes = Math.floor(limitTokens / model.tokensPerByte);
  const take = (text: string): string => {
    const taken = cutBytes(text, leftBytes);
    leftBytes -= byteLength(taken);
    return taken;
  };
  const thinking = reply.thinking === null ? null : take(reply.thinking);
  const text = take(reply.text);
  const calls: SimReplyCall[] = [];
  for (const call of reply.calls) {
    if (leftBytes <= byteLength(call.name)) break;
    take(call.name);
    calls.push({ name: call.name, argsText: take(call.argsText) });
  }
  const fitted: SimReply = { thinking, text, calls };
  const whole = spoken(reply) === spoken(fitted);
  const thinkingTokens = outputTokens(thinking ?? '', model);
  return {
    reply: fitted,
    finish: whole ? (calls.length > 0 ? 'tool_calls' : 'stop') : 'length',
    outputTokens: Math.max(1, Math.min(limitTokens, outputTokens(spoken(fitted), model))),
    thinkingTokens: Math.min(thinkingTokens, limitTokens),
  };
}

/** Breaks the arguments of every call; a reply without calls gets one broken call of the first tool. */
export function breakArguments(reply: SimReply, tools: readonly ToolDefinition[]): SimReply {
  const [first] = tools;
  if (reply.calls.length > 0) {
    return { ...reply, calls: reply.calls.map((call) => ({ ...call, argsText: broken(call.argsText) })) };
  }
  if (first === undefined) return { ...reply, text: broken(reply.text) };
  return { ...reply, text: '', calls: [{ name: first.name, argsText: broken('{"') }] };
}

function broken(text: string): string {
  return `${text.slice(0, Math.max(1, Math.floor(text.length / 2)))}"\\`;
}

function spoken(reply: SimReply): string {
  const calls = reply.calls.map((call) => call.name + call.argsText).join('');
  return (reply.thinking ?? '') + reply.text + calls;
}

/** The longest prefix of at most so many bytes that splits no code point. */
function cutBytes(text: string, maxBytes: number): string {
  if (byteLength(text) <= maxBytes) return text;
  return Buffer.from(text)
    .subarray(0, Math.max(0, maxBytes))
    .toString('utf8')
    .replace(/\uFFFD+$/u, '');
}
