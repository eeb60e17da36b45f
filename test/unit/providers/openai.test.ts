import { describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../../src/context/request.ts';
import { chatDialect } from '../../../src/providers/openai/dialect.ts';
import { DoneWatch, OpenAiReply } from '../../../src/providers/openai/read.ts';
import { renderOpenAi } from '../../../src/providers/openai/render.ts';
import { readsAnything, silentWire } from './reading-law.ts';

const DIALECT = chatDialect('openai', 'https://api.openai.com/v1');
const OWN = { model: 'm', maxTokens: 50, dialect: DIALECT };

function request(fields: Partial<ChatRequest>): ChatRequest {
  return { system: '', tools: [], messages: [], maxTokens: 50, ...fields };
}

describe('the OpenAI request', () => {
  it('PRO-02 answers each call by a tool message, before what the user says', () => {
    const { messages } = renderOpenAi(
      request({
        messages: [
          {
            role: 'assistant',
            content: [
              { type: 'thinking', text: 'hidden', signature: 's' },
              { type: 'text', text: 'One.' },
              { type: 'text', text: 'Two.' },
              { type: 'tool_call', id: 'c1', name: 'read', args: { path: 'a' } },
            ],
          },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'Hurry.' },
              { type: 'tool_result', callId: 'c1', name: 'read', content: 'A', isError: false },
            ],
          },
          {
            role: 'assistant',
            content: [{ type: 'tool_call', id: 'c2', name: 'read', args: null, raw: '{"pa' }],
          },
          {
            role: 'user',
            content: [{ type: 'tool_result', callId: 'c2', name: 'read', content: 'E', isError: true }],
          },
          { role: 'assistant', content: [{ type: 'thinking', text: 'only thought' }] },
        ],
      }),
      OWN,
    );
    const call = (id: string, args: string) => ({
      id,
      type: 'function',
      function: { name: 'read', arguments: args },
    });
    expect(messages).toEqual([
      { role: 'assistant', content: 'One.\nTwo.', tool_calls: [call('c1', '{"path":"a"}')] },
      { role: 'tool', tool_call_id: 'c1', content: 'A' },
      { role: 'user', content: 'Hurry.' },
      { role: 'assistant', content: null, tool_calls: [call('c2', '{"invalid_arguments":"{\\"pa"}')] },
      { role: 'tool', tool_call_id: 'c2', content: 'E' },
    ]);
  });

  it.each([
    ['https://api.openai.com/v1', 'max_completion_tokens'],
    ['https://me.openai.azure.com/openai/v1', 'max_completion_tokens'],
    ['http://localhost:8000/v1', 'max_tokens'],
    ['https://api.openai.com.example.org/v1', 'max_tokens'],
  ])('PRO-02 limits the reply for %s by %s', (baseUrl, field) => {
    const body = renderOpenAi(request({}), { ...OWN, dialect: chatDialect('openai', baseUrl) });
    const limits = Object.entries(body).filter(([name]) => name.startsWith('max_'));
    expect(limits).toEqual([[field, 50]]);
  });

  it('PRO-02 leaves out what the request does not have', () => {
    expect(renderOpenAi(request({}), OWN)).toEqual({
      model: 'm',
      messages: [],
      stream: true,
      stream_options: { include_usage: true },
      max_completion_tokens: 50,
    });
  });
});

describe('the OpenAI reply', () => {
  const read = (...chunks: unknown[]) => {
    const reply = new OpenAiReply(silentWire(), DIALECT, 'asked-model');
    for (const chunk of chunks) reply.take(chunk);
    return reply.finish(true);
  };
  const delta = (fields: object, finish_reason: unknown = null) => ({
    choices: [{ index: 0, delta: fields, finish_reason }],
  });
  const tool = (fields: object) => delta({ tool_calls: [fields] });
  const end = (reason: unknown = 'stop') => delta({}, reason);

  it.each([
    ['reasoning_content', 'https://api.deepseek.com'],
    ['reasoning', 'https://openrouter.ai'],
  ])('PRO-02 reads %s as thinking', (field) => {
    expect(read(delta({ [field]: 'hm' }), delta({ content: 'a' }), end()).content).toEqual([
      { type: 'thinking', text: 'hm' },
      { type: 'text', text: 'a' },
    ]);
  });

  it('PRO-02 reads a refusal as text', () => {
    expect(read(delta({ refusal: 'I cannot.' }), end()).content).toEqual([
      { type: 'text', text: 'I cannot.' },
    ]);
  });

  const f = (name: string | undefined, args: unknown) => ({ function: { name, arguments: args } });
  it.each([
    [
      'by index',
      [
        { index: 0, id: 'a', ...f('x', '') },
        { index: 1, id: 'b', ...f('y', '{}') },
        { index: 0, ...f(undefined, '{"n":1}') },
      ],
    ],
    ['without an index', [{ id: 'a', ...f('x', '{"n"') }, f(undefined, ':1}'), { id: 'b', ...f('y', '{}') }]],
    [
      'with index 0 for every call',
      [
        { index: 0, id: 'a', ...f('x', '{"n":1}') },
        { index: 0, id: 'b', ...f('y', '') },
      ],
    ],
    [
      'with the id and name again on every piece',
      [
        { index: 0, id: 'a', ...f('x', '{"n"') },
        { index: 0, id: 'a', ...f('x', ':1}') },
        { index: 1, id: 'b', ...f('y', '{}') },
      ],
    ],
    [
      'as objects',
      [
        { index: 0, id: 'a', ...f('x', { n: 1 }) },
        { index: 1, id: 'b', ...f('y', {}) },
      ],
    ],
  ])('PRO-02 assembles calls that come %s', (_name, pieces) => {
    const reply = read(...pieces.map(tool), end());
    expect(reply.content).toEqual([
      { type: 'tool_call', id: 'a', name: 'x', args: { n: 1 } },
      { type: 'tool_call', id: 'b', name: 'y', args: {} },
    ]);
    expect(reply.finish).toBe('tool_calls');
  });

  it.each([
    ['length', 'length'],
    ['content_filter', 'content_filter'],
    ['tool_calls', 'other'],
    [17, 'other'],
    ['constructor', 'other'],
  ])('PRO-02 reads finish reason %s of a reply without calls as %s', (reason, finish) => {
    expect(read(delta({ content: 'a' }), end(reason)).finish).toBe(finish);
  });

  it('PRO-02 counts cached tokens once and never below zero', () => {
    const usage = { prompt_tokens: 10, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 99 } };
    expect(read(end(), { choices: [], usage }).usage).toEqual({
      inputTokens: 0,
      cacheReadTokens: 10,
      cacheWriteTokens: 0,
      outputTokens: 1,
    });
  });

  it('PRO-02 states the reasoning of a reply where the server does, never more than its output', () => {
    const usage = (reasoning_tokens: unknown) => {
      const completion_tokens_details = { reasoning_tokens };
      const stated = { prompt_tokens: 10, completion_tokens: 8, completion_tokens_details };
      return read(end(), { choices: [], usage: stated }).usage;
    };
    expect(usage(5)).toMatchObject({ outputTokens: 8, reasoningTokens: 5 });
    expect(usage(50)).toMatchObject({ outputTokens: 8, reasoningTokens: 8 });
    expect(usage(null)).not.toHaveProperty('reasoningTokens');
  });

  it('PRO-02 takes the last of running totals and ignores a null', () => {
    const totals = (completion_tokens: number) => ({ usage: { prompt_tokens: 4, completion_tokens } });
    const reply = read(
      { ...delta({ content: 'a' }), ...totals(1) },
      { ...end(), ...totals(2) },
      { usage: null },
    );
    expect(reply.usage).toMatchObject({ inputTokens: 4, outputTokens: 2 });
  });

  it('PRO-02 accepts a finished reply by its usage alone, but not by its finish reason alone', () => {
    const finished = (chunks: readonly unknown[]) => {
      const reply = new OpenAiReply(silentWire(), DIALECT, 'm');
      for (const chunk of chunks) reply.take(chunk);
      return reply.finish(false);
    };
    const usage = { choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } };
    expect(finished([end(), usage]).usage).not.toBeNull();
    expect(() => finished([end()])).toThrow(/ended before/);
    expect(() => finished([usage])).toThrow(/ended before/);
  });

  it('PRO-02 refuses a stream without a choice and text that is no text', () => {
    expect(() => read({ choices: [] })).toThrow(/ended before/);
    expect(() => read(delta({ content: 17 }), end())).toThrow(/not text but number/);
  });

  it('PRO-02 sees [DONE] with or without a space, and nowhere else', () => {
    const verdict = (line: string) => new DoneWatch().see(Buffer.from(line)).type;
    expect([verdict('data: [DONE]'), verdict('data:[DONE]')]).toEqual(['end', 'end']);
    expect([verdict('data: {"a":"data: [DONE]"}'), verdict(': [DONE]'), verdict('')]).toEqual([
      'pass',
      'pass',
      'pass',
    ]);
  });

  it('PRO-02 takes any sequence of chunks for a storable reply or a malformed one', () => {
    readsAnything(
      ['chat.completion.chunk'],
      [
        'choices',
        'delta',
        'content',
        'tool_calls',
        'index',
        'id',
        'function',
        'arguments',
        'finish_reason',
        'usage',
      ],
      (events) => read(...events, end()),
    );
  });
});
