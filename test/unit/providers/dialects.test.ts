/** What one chat request looks like to each of the servers that speak chat completions. */
import { describe, expect, it } from 'vitest';
import type { AssistantMessage, ChatMessage, ChatReply, ChatRequest } from '../../../src/context/request.ts';
import { type ChatKind, chatBaseUrl, chatDialect } from '../../../src/providers/openai/dialect.ts';
import { OpenAiReply } from '../../../src/providers/openai/read.ts';
import { renderOpenAi } from '../../../src/providers/openai/render.ts';
import { readsAnything, silentWire } from './reading-law.ts';

const LEG = { name: 'main', model: 'm', timeoutMs: 1_000 } as const;

function dialectOf(kind: ChatKind, baseUrl?: string) {
  const leg = { ...LEG, provider: kind, ...(baseUrl === undefined ? {} : { baseUrl }) };
  return chatDialect(kind, chatBaseUrl(kind, leg));
}

const DIALECTS = {
  openai: dialectOf('openai'),
  google: dialectOf('google'),
  openrouter: dialectOf('openrouter'),
  compatible: dialectOf('compatible', 'http://localhost:8000/v1'),
  bedrock: dialectOf('bedrock', 'https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1'),
} as const;

const user = (text: string): ChatMessage => ({ role: 'user', content: [{ type: 'text', text }] });
const cache = { key: 'prefix-1', breakpoints: [-1, 0] };
const REQUEST: ChatRequest = { system: 'Be brief.', tools: [], messages: [user('Hi')], maxTokens: 64, cache };

function render(kind: ChatKind, fields: Partial<ChatRequest> = {}, model = 'm', dialect = DIALECTS[kind]) {
  return renderOpenAi({ ...REQUEST, ...fields }, { model, maxTokens: 64, dialect });
}

describe('the servers that speak chat completions', () => {
  const common = {
    model: 'm',
    stream: true,
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
    ],
  };
  const usage = { stream_options: { include_usage: true } };

  it('PRO-02 ASM-04 are told the prefix by its key at OpenAI', () => {
    expect(render('openai')).toEqual({
      ...common,
      ...usage,
      max_completion_tokens: 64,
      prompt_cache_key: 'prefix-1',
    });
  });

  it('PRO-04 are sent nothing at Google that it does not know', () => {
    expect(render('google')).toEqual({ ...common, ...usage, max_completion_tokens: 64 });
  });

  it('PRO-05 ASM-04 are kept to one upstream by a session at OpenRouter, which must not cut the prompt', () => {
    expect(render('openrouter')).toEqual({
      ...common,
      ...usage,
      max_completion_tokens: 64,
      session_id: 'prefix-1',
      plugins: [{ id: 'context-compression', enabled: false }],
    });
  });

  it('PRO-07 are sent the least behind a compatible gateway', () => {
    expect(render('compatible')).toEqual({ ...common, ...usage, max_tokens: 64 });
  });

  it('PRO-09 are sent the newer limit at Bedrock, and no cache key', () => {
    expect(render('bedrock')).toEqual({ ...common, ...usage, max_completion_tokens: 64 });
  });

  it('PRO-07 PRO-09 must be named by the leg where there is no address for all', () => {
    const baseUrlOf = (kind: ChatKind) => () => chatBaseUrl(kind, { ...LEG, provider: kind });
    expect(baseUrlOf('compatible')).toThrow(/Leg main .* baseUrl such as http:\/\/127\.0\.0\.1:8000\/v1/);
    expect(baseUrlOf('bedrock')).toThrow(/Leg main .*bedrock-runtime\.us-east-1\.amazonaws\.com\/openai\/v1/);
    expect(baseUrlOf('google')()).toBe('https://generativelanguage.googleapis.com/v1beta/openai');
    expect(baseUrlOf('openrouter')()).toBe('https://openrouter.ai/api/v1');
    expect(baseUrlOf('openai')()).toBe('https://api.openai.com/v1');
  });
});

describe('cache breakpoints at OpenRouter', () => {
  const mark = { cache_control: { type: 'ephemeral' } };
  const call = { type: 'tool_call', id: 'c', name: 't', args: {} } as const;
  const messages: readonly ChatMessage[] = [
    user('first'),
    { role: 'assistant', content: [call] },
    {
      role: 'user',
      content: [
        { type: 'tool_result', callId: 'c', name: 't', content: 'r', isError: false },
        { type: 'text', text: 'and' },
        { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' },
      ],
    },
    { role: 'assistant', content: [{ type: 'text', text: 'said' }, call] },
    {
      role: 'user',
      content: [{ type: 'tool_result', callId: 'c', name: 't', content: 'last', isError: false }],
    },
  ];

  it.each(['anthropic/claude-sonnet-5', '~anthropic/claude-sonnet-latest'])(
    'PRO-05 ASM-04 stand at the last text of what %s is to cache',
    (model) => {
      const hinted = { key: 'k', breakpoints: [-1, 0, 1, 2, 4] };
      const { messages: rendered } = render('openrouter', { messages, cache: hinted }, model);
      const part = (text: string) => [{ type: 'text', text, ...mark }];
      expect(rendered.map(({ content }) => content)).toEqual([
        part('Be brief.'),
        'first',
        null,
        'r',
        [
          { type: 'text', text: 'and', ...mark },
          { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
        ],
        'said',
        part('last'),
      ]);
    },
  );

  it('PRO-05 are not set for models that cache unasked, nor anywhere without hints', () => {
    expect(JSON.stringify(render('openrouter', { messages }, 'openai/gpt-5'))).not.toContain('cache_control');
    const { cache: _hints, ...unhinted } = { ...REQUEST, messages };
    const target = { model: 'anthropic/claude', maxTokens: 1, dialect: DIALECTS.openrouter };
    expect(JSON.stringify(renderOpenAi(unhinted, target))).not.toContain('cache_control');
    expect(JSON.stringify(render('compatible', { messages }, 'anthropic/claude'))).not.toContain(
      'cache_control',
    );
  });
});

const end = (finish_reason: string) => ({ choices: [{ index: 0, delta: {}, finish_reason }] });
const delta = (fields: object) => ({ choices: [{ index: 0, delta: fields, finish_reason: null }] });

function read(kind: ChatKind, chunks: readonly unknown[], model = 'm'): ChatReply {
  const reply = new OpenAiReply(silentWire(), DIALECTS[kind], model);
  for (const chunk of chunks) reply.take(chunk);
  return reply.finish(true);
}

/** The assistant messages of the next request, after this reply. */
function replayed(kind: ChatKind, { content }: Pick<AssistantMessage, 'content'>, model = 'm') {
  const unhinted = { key: 'k', breakpoints: [] };
  return render(kind, { messages: [{ role: 'assistant', content }], cache: unhinted }, model).messages.slice(
    1,
  );
}

describe('signatures of calls at Google', () => {
  const call = (id: string, signature?: string) => ({
    id,
    type: 'function',
    function: { name: 'look', arguments: '{}' },
    ...(signature === undefined ? {} : { extra_content: { google: { thought_signature: signature } } }),
  });
  const reply = read('google', [delta({ tool_calls: [call('a', 'sig-a'), call('b')] }), end('stop')]);

  it('PRO-04 are kept as thinking in front of the call, and go back on it unaltered', () => {
    expect(reply.content).toMatchObject([
      { type: 'thinking', text: '', signature: 'sig-a', signedBy: 'google' },
      { type: 'tool_call', id: 'a' },
      { type: 'tool_call', id: 'b' },
    ]);
    expect(reply.finish).toBe('tool_calls');
    expect(replayed('google', reply)).toMatchObject([{ tool_calls: [call('a', 'sig-a'), call('b')] }]);
  });

  it('PRO-04 are kept where they come after the call began', () => {
    const late = { index: 0, extra_content: { google: { thought_signature: 'late' } } };
    const chunks = [delta({ tool_calls: [{ index: 0, ...call('a') }] }), delta({ tool_calls: [late] })];
    expect(read('google', [...chunks, end('stop')]).content).toMatchObject([
      { type: 'thinking', signature: 'late' },
      { type: 'tool_call' },
    ]);
  });

  it('PRO-04 are waived for the first call of a message that another model wrote', () => {
    const content = [
      { type: 'thinking', text: 'hm', signature: 'foreign', signedBy: 'anthropic' },
      { type: 'tool_call', id: 'a', name: 'look', args: {} },
      { type: 'tool_call', id: 'b', name: 'look', args: {} },
    ] as const;
    expect(replayed('google', { content })).toEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: [call('a', 'skip_thought_signature_validator'), call('b')],
      },
    ]);
  });

  it('PRO-04 PRO-10 go to no other kind of server', () => {
    for (const kind of ['openai', 'openrouter', 'compatible', 'bedrock'] as const) {
      expect(JSON.stringify(replayed(kind, reply))).not.toContain('sig-a');
    }
  });

  it('PRO-04 leaves thinking counted as output although Google counts it in the total alone', () => {
    const usage = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 105 };
    const counted = (kind: ChatKind) => read(kind, [end('stop'), { choices: [], usage }]).usage;
    expect(counted('google')).toMatchObject({ inputTokens: 9, outputTokens: 96, reasoningTokens: 93 });
    expect(counted('compatible')).toMatchObject({ inputTokens: 9, outputTokens: 3 });
  });
});

describe('reasoning details at OpenRouter', () => {
  const details = (...pieces: readonly object[]) => delta({ reasoning_details: pieces });
  const text = (piece: object) => ({
    type: 'reasoning.text',
    index: 0,
    format: 'anthropic-claude-v1',
    ...piece,
  });
  const encrypted = { type: 'reasoning.encrypted', index: 1, data: 'opaque', format: 'anthropic-claude-v1' };
  const chunks = [
    delta({ reasoning: 'Let me ', reasoning_details: [text({ text: 'Let me ', signature: null })] }),
    delta({ reasoning: 'see.', reasoning_details: [text({ text: 'see.' })] }),
    details(text({ text: '', signature: 'sig' })),
    details(encrypted),
    delta({ content: 'Done.' }),
    end('stop'),
  ];
  const reply = read('openrouter', chunks, 'anthropic/claude');

  it('PRO-05 are put together from their pieces and go back as they came', () => {
    expect(reply.content).toMatchObject([
      { type: 'thinking', text: 'Let me see.', signedBy: 'openrouter' },
      { type: 'text', text: 'Done.' },
    ]);
    expect(replayed('openrouter', reply, 'anthropic/claude')).toEqual([
      {
        role: 'assistant',
        content: 'Done.',
        reasoning_details: [text({ text: 'Let me see.', signature: 'sig' }), encrypted],
      },
    ]);
  });

  it('PRO-05 PRO-10 go neither to another model there nor to another kind of server', () => {
    expect(replayed('openrouter', reply, 'openai/gpt-5')).toEqual([{ role: 'assistant', content: 'Done.' }]);
    for (const kind of ['openai', 'google', 'compatible', 'bedrock'] as const) {
      expect(replayed(kind, reply, 'anthropic/claude')).toEqual([{ role: 'assistant', content: 'Done.' }]);
    }
  });

  it('PRO-05 are bounded', () => {
    const endless = details({ type: 'reasoning.encrypted', index: 0, data: 'x'.repeat(8 * 1_048_576) });
    expect(() => read('openrouter', [endless, endless, endless, endless, endless])).toThrow(/larger than/);
  });

  it('PRO-05 of any shape make a storable reply or a malformed one', () => {
    readsAnything(
      ['reasoning.text', 'reasoning.encrypted'],
      ['choices', 'delta', 'reasoning', 'reasoning_details', 'text', 'data', 'index', 'signature', 'usage'],
      (events) => read('openrouter', [...events, end('stop')]),
    );
  });
});

describe('thinking behind a gateway', () => {
  const content = [
    { type: 'thinking', text: 'hm' },
    { type: 'tool_call', id: 'a', name: 'look', args: {} },
  ] as const;

  it.each(['https://api.deepseek.com/v1', 'https://api.moonshot.ai/v1'])(
    'PRO-07 goes back with the calls that followed it at %s, which refuses them otherwise',
    (baseUrl) => {
      const dialect = dialectOf('compatible', baseUrl);
      const messagesOf = (message: Pick<AssistantMessage, 'content'>) =>
        render('compatible', { messages: [{ role: 'assistant', ...message }] }, 'm', dialect).messages[1];
      expect(messagesOf({ content })).toMatchObject({ reasoning_content: 'hm' });
      expect(messagesOf({ content: content.slice(1) })).toMatchObject({ reasoning_content: '' });
      expect(messagesOf({ content: [{ type: 'text', text: 'a' }] })).not.toHaveProperty('reasoning_content');
    },
  );

  it('PRO-07 is dropped elsewhere', () => {
    expect(replayed('compatible', { content })[0]).not.toHaveProperty('reasoning_content');
  });

  it('PRO-07 reads the cache hits of DeepSeek, which names them its own way', () => {
    const usage = { prompt_tokens: 10, completion_tokens: 1, prompt_cache_hit_tokens: 6 };
    expect(read('compatible', [end('stop'), { choices: [], usage }]).usage).toMatchObject({
      inputTokens: 4,
      cacheReadTokens: 6,
    });
  });
});
