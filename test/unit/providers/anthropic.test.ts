import { describe, expect, it } from 'vitest';
import type { ChatMessage, ChatRequest } from '../../../src/context/request.ts';
import { AnthropicReply } from '../../../src/providers/anthropic/read.ts';
import { renderAnthropic } from '../../../src/providers/anthropic/render.ts';
import { readsAnything, silentWire } from './reading-law.ts';

const TARGET = { model: 'm', maxTokens: 50, searchesTools: false };
const user = (text: string): ChatMessage => ({ role: 'user', content: [{ type: 'text', text }] });
const mark = { cache_control: { type: 'ephemeral' } };

function request(fields: Partial<ChatRequest>): ChatRequest {
  return { system: '', tools: [], messages: [], maxTokens: 50, ...fields };
}

/** What is marked, as `tool`, `system` or the text of a block. */
function marks(fields: Partial<ChatRequest>): string[] {
  const body = renderAnthropic(request(fields), TARGET);
  const blocks = body.messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content));
  const named = [
    ...(body.tools ?? []).map((tool) => ['tool', tool] as const),
    ...(Array.isArray(body.system) ? body.system : []).map((block) => ['system', block] as const),
    ...blocks.map((block) => ['text' in block ? block.text : block.type, block] as const),
  ];
  return named
    .filter(([, block]) => 'cache_control' in block && block.cache_control)
    .map(([name]) => String(name));
}

describe('the Anthropic request', () => {
  it('PRO-01 answers each call directly after it, results before text, errors marked', () => {
    const body = renderAnthropic(
      request({
        messages: [
          user('Read a and b'),
          {
            role: 'assistant',
            content: [
              { type: 'thinking', text: 'Of another.', signature: 'sig', signedBy: 'google' },
              { type: 'thinking', text: 'Both.', signature: 'sig', signedBy: 'anthropic' },
              { type: 'thinking', text: 'Before signers had names.', signature: 'old' },
              { type: 'text', text: 'Reading.' },
              { type: 'tool_call', id: 'c1', name: 'read', args: { path: 'a' } },
              { type: 'tool_call', id: 'c2', name: 'read', args: null, raw: '{"pa' },
            ],
          },
          {
            role: 'user',
            content: [{ type: 'tool_result', callId: 'c1', name: 'read', content: 'A', isError: false }],
          },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'Hurry.' },
              { type: 'tool_result', callId: 'c2', name: 'read', content: '', isError: true },
            ],
          },
        ],
      }),
      TARGET,
    );
    expect(body.messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Read a and b' }] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'Both.', signature: 'sig' },
          { type: 'thinking', thinking: 'Before signers had names.', signature: 'old' },
          { type: 'text', text: 'Reading.' },
          { type: 'tool_use', id: 'c1', name: 'read', input: { path: 'a' } },
          { type: 'tool_use', id: 'c2', name: 'read', input: { invalid_arguments: '{"pa' } },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'c1', content: 'A' },
          { type: 'tool_result', tool_use_id: 'c2', is_error: true },
          { type: 'text', text: 'Hurry.' },
        ],
      },
    ]);
  });

  it('PRO-01 leaves out unsigned thinking, blank text and a message of nothing else', () => {
    const body = renderAnthropic(
      request({
        messages: [
          user('a'),
          {
            role: 'assistant',
            content: [
              { type: 'thinking', text: 'from another wire' },
              { type: 'text', text: ' ' },
            ],
          },
          user('b'),
        ],
      }),
      TARGET,
    );
    expect(body.messages).toEqual([
      {
        role: 'user',
        content: [
          { type: 'text', text: 'a' },
          { type: 'text', text: 'b' },
        ],
      },
    ]);
    expect(body).not.toHaveProperty('system');
    expect(body).not.toHaveProperty('tools');
  });

  const tools = ['one', 'two'].map((name) => ({ name, description: name, inputSchema: { type: 'object' } }));
  const messages = ['m0', 'm1', 'm2', 'm3', 'm4', 'm5'].map(user);
  const hints = (...breakpoints: number[]) => ({ cache: { key: 'k', breakpoints } });

  it('PRO-01 marks the end of system and tools once, on the last of them', () => {
    expect(marks({ system: 's', tools, messages, ...hints(-1) })).toEqual(['system']);
    expect(marks({ tools, messages, ...hints(-1) })).toEqual(['tool']);
    const body = renderAnthropic(request({ tools, messages, ...hints(-1) }), TARGET);
    expect(body.tools).toMatchObject([{ name: 'one' }, { name: 'two', ...mark }]);
    expect(body.tools?.[0]).not.toHaveProperty('cache_control');
  });

  it('PRO-01 ASM-04 marks no more than four: the prefix and the latest messages', () => {
    expect(marks({ system: 's', messages, ...hints(-1, 0, 1, 2, 4, 5) })).toEqual([
      'system',
      'm2',
      'm4',
      'm5',
    ]);
    expect(marks({ messages, ...hints(5, 0, 1, 2, 4) })).toEqual(['m1', 'm2', 'm4', 'm5']);
  });

  it('PRO-01 marks nothing without hints or for messages that are not there', () => {
    expect(marks({ system: 's', tools, messages })).toEqual([]);
    expect(marks({ messages, ...hints(6, 99, 2, 2) })).toEqual(['m2']);
  });

  it('PRO-01 marks the last block that came from the hinted message, after merging and sorting', () => {
    const call = { type: 'tool_call', id: 'c', name: 't', args: {} } as const;
    const conversation: ChatMessage[] = [
      { role: 'assistant', content: [call, { type: 'thinking', text: 'x', signature: 's' }] },
      user('before'),
      {
        role: 'user',
        content: [{ type: 'tool_result', callId: 'c', name: 't', content: 'r', isError: false }],
      },
    ];
    expect(marks({ messages: conversation, ...hints(0) })).toEqual(['tool_use']);
    expect(marks({ messages: conversation, ...hints(1) })).toEqual(['before']);
    expect(marks({ messages: conversation, ...hints(2) })).toEqual(['tool_result']);
  });
});

describe('the Anthropic reply', () => {
  const read = (...events: unknown[]) => {
    const reply = new AnthropicReply(silentWire());
    for (const event of events) if (reply.take(event)) break;
    return reply.finish('asked-model');
  };
  const start = { type: 'message_start', message: { usage: { input_tokens: 0, output_tokens: 1 } } };
  const stop = (stop_reason: string, usage: object = { output_tokens: 9 }) => ({
    type: 'message_delta',
    delta: { stop_reason },
    usage,
  });
  const block = (index: number, content_block: object) => ({
    type: 'content_block_start',
    index,
    content_block,
  });

  it.each([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['refusal', 'content_filter'],
    ['constructor', 'other'],
  ])('PRO-01 reads stop reason %s as %s', (reason, finish) => {
    expect(read(start, stop(reason)).finish).toBe(finish);
  });

  it('PRO-01 takes the counts of a gateway that states the prompt only at the end', () => {
    const usage = { input_tokens: 12, cache_read_input_tokens: 3, output_tokens: 9 };
    expect(read(start, stop('end_turn', usage)).usage).toEqual({
      inputTokens: 12,
      cacheReadTokens: 3,
      cacheWriteTokens: 0,
      outputTokens: 9,
    });
  });

  it('PRO-01 states how much of the output was thinking, where the message does', () => {
    const usage = { output_tokens: 9, output_tokens_details: { thinking_tokens: 4 } };
    expect(read(start, stop('end_turn', usage)).usage).toMatchObject({ outputTokens: 9, reasoningTokens: 4 });
    expect(read(start, stop('end_turn')).usage).not.toHaveProperty('reasoningTokens');
  });

  it.each([{}, { input_tokens: 'many' }, { input_tokens: 1e300 }, { input_tokens: -1 }])(
    'PRO-01 reports no usage when the count is not one: %j',
    (usage) => {
      const startWith = { type: 'message_start', message: { usage } };
      expect(read(startWith, stop('end_turn')).usage).toBeNull();
    },
  );

  it('PRO-01 keeps signed thinking whole, and strips every signature when part of it was redacted', () => {
    const thinking = block(0, { type: 'thinking', thinking: 'a', signature: 's' });
    expect(read(start, thinking, stop('end_turn')).content).toEqual([
      { type: 'thinking', text: 'a', signature: 's', signedBy: 'anthropic' },
    ]);
    const redacted = block(1, { type: 'redacted_thinking', data: 'opaque' });
    expect(read(start, thinking, redacted, stop('end_turn')).content).toEqual([
      { type: 'thinking', text: 'a' },
    ]);
  });

  it('PRO-01 passes over blocks and events it does not know', () => {
    const events = [
      start,
      { type: 'a_new_event' },
      block(0, { type: 'server_tool_use', id: 'x', name: 'y', input: {} }),
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{}' } },
      block(1, { type: 'text', text: 'hi' }),
      { type: 'content_block_delta', index: 1, delta: { type: 'citations_delta' } },
      stop('end_turn'),
    ];
    expect(read(...events)).toMatchObject({ content: [{ type: 'text', text: 'hi' }], model: 'asked-model' });
  });

  it('PRO-01 takes any sequence of events for a storable reply or a malformed one', () => {
    readsAnything(
      ['message_start', 'content_block_start', 'content_block_delta', 'message_delta', 'message_stop'],
      [
        'type',
        'index',
        'delta',
        'content_block',
        'message',
        'usage',
        'stop_reason',
        'text',
        'text_delta',
        'input',
        'server_tool_use',
        'tool_search_tool_bm25',
        'tool_search_tool_result',
        'input_json_delta',
        'partial_json',
        'name',
      ],
      (events) => read(...events),
    );
  });
});
