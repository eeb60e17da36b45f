import { describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../../src/context/request.ts';
import { ChatWatch, OllamaReply } from '../../../src/providers/ollama/read.ts';
import { renderOllama } from '../../../src/providers/ollama/render.ts';
import { readsAnything, silentWire } from './reading-law.ts';

const TARGET = { model: 'm', maxTokens: 1_000, window: undefined };

function request(fields: Partial<ChatRequest>): ChatRequest {
  return { system: '', tools: [], messages: [], maxTokens: 1_000, ...fields };
}

describe('the Ollama request', () => {
  it('PRO-08 names the tool of each result and returns only thinking of its own kind', () => {
    const { messages } = renderOllama(
      request({
        messages: [
          {
            role: 'assistant',
            content: [
              { type: 'thinking', text: 'mine' },
              { type: 'thinking', text: 'of another wire', signature: 's', signedBy: 'google' },
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
          { role: 'assistant', content: [{ type: 'thinking', text: 'only thought' }] },
        ],
      }),
      TARGET,
    );
    expect(messages).toEqual([
      {
        role: 'assistant',
        content: '',
        thinking: 'mine',
        tool_calls: [{ function: { name: 'read', arguments: { path: 'a' } } }],
      },
      { role: 'tool', tool_name: 'read', content: 'A' },
      { role: 'user', content: 'Hurry.' },
    ]);
  });

  it('PRO-08 turns thinking off when asked to, and otherwise leaves it to the model', () => {
    expect(renderOllama(request({ thinking: 'off' }), TARGET)).toMatchObject({ think: false });
    expect(renderOllama(request({}), TARGET)).not.toHaveProperty('think');
  });

  it('PRO-08 hands images over as bytes, which the SDK cannot take for a path', () => {
    const image = { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' } as const;
    const { messages } = renderOllama(request({ messages: [{ role: 'user', content: [image] }] }), TARGET);
    expect(messages?.[0]?.images?.[0]).toEqual(Buffer.from(image.data, 'base64'));
  });

  const contextFor = (textBytes: number, window?: number) => {
    const content = [{ type: 'text', text: 'x'.repeat(textBytes) }] as const;
    const body = renderOllama(request({ messages: [{ role: 'user', content }] }), { ...TARGET, window });
    return body.options?.num_ctx ?? 0;
  };

  it("PRO-08 takes the leg's window for the context", () => {
    expect(contextFor(100_000, 6_000)).toBe(6_000);
  });

  it('PRO-08 sizes the context to prompt and reply in powers of two, so that it rarely reloads the model', () => {
    expect(contextFor(10)).toBe(8_192);
    expect(contextFor(13_000)).toBe(8_192);
    expect(contextFor(15_000)).toBe(16_384);
    expect(contextFor(200_000)).toBe(131_072);
  });
});

describe('the Ollama reply', () => {
  const read = (...lines: unknown[]) => {
    const reply = new OllamaReply(silentWire());
    for (const line of lines) {
      const finished = reply.take(line, 'asked-model');
      if (finished !== null) return finished;
    }
    return null;
  };
  const done = (fields: object = {}) => ({
    done: true,
    done_reason: 'stop',
    message: { content: '' },
    ...fields,
  });

  it('PRO-08 gives its calls ids and says tool_calls although the wire says stop', () => {
    const calls = [
      { function: { name: 'a', arguments: { n: 1 } } },
      { function: { name: 'b', arguments: '{"m":2}' } },
      { function: { name: 'c' } },
    ];
    expect(
      read(
        { message: { tool_calls: calls.slice(0, 2) } },
        { message: { tool_calls: calls.slice(2) } },
        done(),
      ),
    ).toMatchObject({
      content: [
        { id: 'call_0', name: 'a', args: { n: 1 } },
        { id: 'call_1', name: 'b', args: { m: 2 } },
        { id: 'call_2', name: 'c', args: {} },
      ],
      finish: 'tool_calls',
    });
  });

  it.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['load', 'other'],
  ])('PRO-08 reads done reason %s as %s', (done_reason, finish) => {
    expect(read({ message: { content: 'a' } }, done({ done_reason }))?.finish).toBe(finish);
  });

  it('PRO-08 reports no usage rather than a prompt of nothing', () => {
    expect(read(done({ eval_count: 3 }))?.usage).toBeNull();
    expect(read(done({ prompt_eval_count: 0, eval_count: 3 }))?.usage).toBeNull();
    expect(read(done({ prompt_eval_count: 8, eval_count: 3 }))?.usage).toMatchObject({
      inputTokens: 8,
      outputTokens: 3,
    });
  });

  it('PRO-08 takes the prefill time of the server, and its own where that is absent or impossible', () => {
    // The wire of this test always says 5 ms.
    const firstTokenMs = (prompt_eval_duration: unknown) =>
      read({ message: { content: 'a' } }, done({ prompt_eval_duration }))?.firstTokenMs;
    expect(firstTokenMs(2_000_000)).toBe(2);
    expect(firstTokenMs(undefined)).toBe(5);
    expect(firstTokenMs(9_000_000_000)).toBe(5);
    expect(firstTokenMs('soon')).toBe(5);
  });

  it('PRO-08 refuses a line that is no object, keeps an error line, and ends at done', () => {
    const watch = new ChatWatch();
    expect(watch.see(Buffer.from('{"done":false}')).type).toBe('pass');
    expect(watch.see(Buffer.from('oops')).type).toBe('fault');
    expect(watch.see(Buffer.from('')).type).toBe('fault');
    expect(watch.error).toBeUndefined();
    expect(watch.see(Buffer.from('{"error":"gone"}')).type).toBe('pass');
    expect(watch.error).toEqual({ error: 'gone' });
    expect(watch.see(Buffer.from('{"done":true}')).type).toBe('end');
  });

  it('PRO-08 takes any sequence of lines for a storable reply or a malformed one', () => {
    readsAnything(
      ['chat'],
      [
        'message',
        'content',
        'thinking',
        'tool_calls',
        'function',
        'name',
        'arguments',
        'id',
        'done_reason',
        'eval_count',
        'prompt_eval_count',
      ],
      (events) => read(...events, done()),
    );
  });
});
