/** Anthropic messages: rendering a reply. https://platform.claude.com/docs/en/build-with-claude/streaming */
import { createHash } from 'node:crypto';
import type {
  ContentBlock,
  Message,
  RawContentBlockDelta,
  RawMessageStreamEvent,
  StopReason,
  Usage,
} from '@anthropic-ai/sdk/resources/messages/messages';
import {
  anthropicFailure,
  anthropicInvalid,
  anthropicOverLength,
  anthropicPromptTooLong,
} from './anthropic-failure.ts';
import { parseAnthropic } from './anthropic-request.ts';
import { searchBlocks } from './anthropic-search.ts';
import {
  type Answer,
  callIdsOf,
  EVENT_STREAM,
  type Frame,
  halfOf,
  parseArguments,
  pieces,
  reportedCache,
  STRANGE_FINISH,
  type Wire,
  type WireBody,
} from './contract.ts';

/** @param seed stands for the account: thinking signed under one seed is refused under another. */
export function anthropicWire(seed: number): Wire {
  const sign = (thinking: string) =>
    createHash('sha256').update(`simulated\u0000${seed}\u0000${thinking}`).digest('base64');
  return {
    name: 'anthropic',
    parse: (body) => parseAnthropic(body, sign),
    failure: anthropicFailure,
    overLength: anthropicOverLength,
    pretendOverLength: (_request, promptTokens, model) => anthropicPromptTooLong(promptTokens, model),
    badRequest: anthropicInvalid,
    render: (answer) => (answer.request.stream ? stream(answer, sign) : whole(answer, sign)),
    garble: (body, streamed) => ({ ...body, frames: garbled(body.frames, streamed) }),
  };
}

type Sign = (thinking: string) => string;

function whole(answer: Answer, sign: Sign): WireBody {
  const message = {
    ...emptyMessage(answer),
    content: contentOf(answer, sign).map(({ block }) => block),
    stop_reason: stopReason(answer),
    usage: usage(answer, answer.outputTokens),
  } satisfies Message;
  return {
    contentType: 'application/json',
    frames: [{ text: JSON.stringify(message), tokens: answer.outputTokens }],
  };
}

function stream(answer: Answer, sign: Sign): WireBody {
  const frames: Frame[] = [];
  const push = (event: RawMessageStreamEvent, tokens = 0) =>
    frames.push({ text: serverEvent(event), tokens });
  push({ type: 'message_start', message: emptyMessage(answer) });
  frames.push({ text: 'event: ping\ndata: {"type": "ping"}\n\n', tokens: 0 });
  for (const [index, part] of contentOf(answer, sign).entries()) {
    push({ type: 'content_block_start', index, content_block: opened(part.block) });
    for (const { delta, tokens } of deltasOf(part, answer)) {
      push({ type: 'content_block_delta', index, delta }, tokens);
    }
    push({ type: 'content_block_stop', index });
  }
  const totals = usage(answer, answer.outputTokens);
  push({
    type: 'message_delta',
    delta: { container: null, stop_details: null, stop_reason: stopReason(answer), stop_sequence: null },
    usage: {
      cache_creation_input_tokens: totals.cache_creation_input_tokens,
      cache_read_input_tokens: totals.cache_read_input_tokens,
      input_tokens: totals.input_tokens,
      output_tokens: totals.output_tokens,
      output_tokens_details: totals.output_tokens_details,
      server_tool_use: null,
    },
  });
  push({ type: 'message_stop' });
  return { contentType: EVENT_STREAM, frames };
}

function emptyMessage(answer: Answer): Message {
  return {
    id: `msg_${answer.id}`,
    type: 'message',
    role: 'assistant',
    model: answer.model.name,
    content: [],
    container: null,
    diagnostics: null,
    stop_details: null,
    stop_reason: null,
    stop_sequence: null,
    usage: usage(answer, 1),
  };
}

/** A block, and the text of its input where that streams. */
interface Part {
  readonly block: ContentBlock;
  readonly inputText?: string;
}

/** What a search found stands before the calls of it. */
function contentOf(answer: Answer, sign: Sign): readonly Part[] {
  const { thinking, text, calls } = answer.reply;
  const parts: Part[] = [];
  if (thinking !== null) parts.push({ block: { type: 'thinking', thinking, signature: sign(thinking) } });
  if (text !== '') parts.push({ block: { type: 'text', text, citations: null } });
  for (const block of searchBlocks(answer)) {
    const inputText = block.type === 'server_tool_use' ? JSON.stringify(block.input) : '';
    parts.push({ block, inputText });
  }
  const ids = callIdsOf(answer, 'toolu_');
  for (const [index, { name, argsText }] of calls.entries()) {
    const id = ids[index] ?? '';
    // Broken arguments, which only a fault or the reply limit makes, cannot be an object: they stay text.
    const input: unknown = parseArguments(argsText) ?? argsText;
    const block = { type: 'tool_use', id, name, input, caller: { type: 'direct' } } as const;
    parts.push({ block, inputText: argsText });
  }
  return parts;
}

/** A block as it starts: its content comes in deltas, except what a search found. */
function opened(block: ContentBlock) {
  switch (block.type) {
    case 'thinking':
      return { ...block, thinking: '', signature: '' };
    case 'tool_use':
    case 'server_tool_use':
      return { ...block, input: {} };
    case 'text':
      return { ...block, text: '' };
    default:
      return block;
  }
}

function deltasOf(
  { block, inputText = '' }: Part,
  answer: Answer,
): readonly { readonly delta: RawContentBlockDelta; readonly tokens: number }[] {
  const paced = (text: string, delta: RawContentBlockDelta) => ({
    delta,
    tokens: text.length * answer.model.tokensPerByte,
  });
  if (block.type === 'thinking') {
    const deltas = pieces(block.thinking).map((thinking) =>
      paced(thinking, { type: 'thinking_delta', thinking }),
    );
    return [...deltas, paced('', { type: 'signature_delta', signature: block.signature })];
  }
  if (block.type === 'text')
    return pieces(block.text).map((text) => paced(text, { type: 'text_delta', text }));
  return pieces(inputText).map((partial_json) =>
    paced(partial_json, { type: 'input_json_delta', partial_json }),
  );
}

function stopReason(answer: Answer): StopReason {
  if (answer.strangeFinish) return STRANGE_FINISH as StopReason;
  if (answer.finish === 'length') return 'max_tokens';
  return answer.finish === 'tool_calls' ? 'tool_use' : 'end_turn';
}

/** `input_tokens` counts only what was neither read from nor written to the cache. */
function usage(answer: Answer, outputTokens: number): Usage {
  const cache = reportedCache(answer);
  const written = cache === null ? null : cache.writtenShortTokens + cache.writtenLongTokens;
  return {
    input_tokens: answer.promptTokens - (cache?.readTokens ?? 0) - (written ?? 0),
    output_tokens: outputTokens,
    cache_read_input_tokens: cache?.readTokens ?? null,
    cache_creation_input_tokens: written,
    cache_creation:
      cache === null
        ? null
        : {
            ephemeral_5m_input_tokens: cache.writtenShortTokens,
            ephemeral_1h_input_tokens: cache.writtenLongTokens,
          },
    inference_geo: null,
    output_tokens_details: { thinking_tokens: answer.thinkingTokens },
    server_tool_use: null,
    service_tier: 'standard',
    speed: null,
  };
}

function serverEvent(event: RawMessageStreamEvent): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** The first event stays whole in a stream, so that the break comes inside the message. */
function garbled(frames: readonly Frame[], streamed: boolean): readonly Frame[] {
  const [first, , third] = frames;
  if (first === undefined) return frames;
  if (!streamed || third === undefined) return [{ ...first, text: halfOf(first.text) }];
  return [first, { ...third, text: `event: content_block_start\ndata: {"type": "content_block\n\n` }];
}
