import { once } from 'node:events';
import http from 'node:http';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ChatRequest } from '../../src/context/request.ts';
import type { Leg, Provider, ProviderKind } from '../../src/providers/contract.ts';
import { createProvider } from '../../src/providers/index.ts';
import { DEFAULT_SIM_MODELS, type OverLengthWording, startSimulator } from '../../src/sim/index.ts';
import {
  type ProviderSubject,
  providerConformance,
  type SuiteOverLength,
} from '../contract/provider.suite.ts';
import {
  anthropicDialect,
  type Counts,
  cut,
  type Dialect,
  ollamaDialect,
  openAiDialect,
  type Script,
  type Streamed,
  WireServer,
  whole,
} from '../support/wire-server.ts';

const SECRET = 'plantedMarker0123456789';
const COUNTS: Counts = { fresh: 5, cacheRead: 0, cacheWrite: 0, output: 2 };
const TIMEOUT_MS = 10_000;
const ENDLESS_PIECE_CHARS = 65_536;

interface Wire {
  readonly kind: ProviderKind;
  readonly id: string;
  readonly dialect: Dialect;
  readonly path: string;
  readonly hasCacheTiers: boolean;
  readonly overLength: SuiteOverLength;
}

/** https://docs.claude.com/en/docs/build-with-claude/context-windows */
const ANTHROPIC_OVER_LENGTH: SuiteOverLength = {
  status: 400,
  body: {
    type: 'error',
    error: { type: 'invalid_request_error', message: 'prompt is too long: 208310 tokens > 200000 maximum' },
  },
  limitTokens: 200_000,
};

/** https://docs.ollama.com/context-length, with the error of the runner inside */
const OLLAMA_OVER_LENGTH: SuiteOverLength = {
  status: 400,
  body: {
    error:
      '{"error":{"code":400,"message":"request (8889 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error","n_ctx":4096}}',
  },
  limitTokens: 4_096,
};

/** https://platform.openai.com/docs/guides/error-codes */
const OPENAI_OVER_LENGTH: SuiteOverLength = {
  status: 400,
  body: {
    error: {
      code: 'context_length_exceeded',
      message: 'Your input exceeds the context window of this model. Please adjust your input and try again.',
      type: 'invalid_request_error',
    },
  },
};

/** https://github.com/google-gemini/gemini-cli/issues/4118 */
const GOOGLE_OVER_LENGTH: SuiteOverLength = {
  status: 400,
  body: [
    {
      error: {
        code: 400,
        message: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
        status: 'INVALID_ARGUMENT',
      },
    },
  ],
  limitTokens: 1_048_576,
};

/** https://github.com/tailcallhq/forgecode/issues/1146 */
const OPENROUTER_OVER_LENGTH: SuiteOverLength = {
  status: 413,
  body: {
    error: {
      message: 'Provider returned error',
      code: 413,
      metadata: { raw: JSON.stringify(ANTHROPIC_OVER_LENGTH.body), provider_name: 'Google' },
    },
  },
  limitTokens: 200_000,
};

/** https://github.com/vllm-project/vllm/pull/33425 */
const VLLM_OVER_LENGTH: SuiteOverLength = {
  status: 400,
  body: {
    error: {
      message:
        "This model's maximum context length is 16384 tokens. However, your request has 122946 input tokens.",
      type: 'BadRequestError',
      param: 'input_tokens',
      code: 400,
    },
  },
  limitTokens: 16_384,
};

/** https://github.com/aws-samples/assessment-generator/issues/2 */
const BEDROCK_OVER_LENGTH: SuiteOverLength = {
  status: 400,
  body: { error: { message: 'Input is too long for requested model.', code: 'validation_error' } },
};

const CHAT = { dialect: openAiDialect, path: '/v1', hasCacheTiers: true } as const;

const WIRES = [
  { kind: 'openai', id: 'PRO-02', ...CHAT, overLength: OPENAI_OVER_LENGTH },
  {
    kind: 'anthropic',
    id: 'PRO-01',
    dialect: anthropicDialect,
    path: '',
    hasCacheTiers: true,
    overLength: ANTHROPIC_OVER_LENGTH,
  },
  {
    kind: 'ollama',
    id: 'PRO-08',
    dialect: ollamaDialect,
    path: '',
    hasCacheTiers: false,
    overLength: OLLAMA_OVER_LENGTH,
  },
  { kind: 'google', id: 'PRO-04', ...CHAT, overLength: GOOGLE_OVER_LENGTH },
  { kind: 'openrouter', id: 'PRO-05', ...CHAT, overLength: OPENROUTER_OVER_LENGTH },
  { kind: 'compatible', id: 'PRO-07', ...CHAT, overLength: VLLM_OVER_LENGTH },
  { kind: 'bedrock', id: 'PRO-09', ...CHAT, overLength: BEDROCK_OVER_LENGTH },
] as const satisfies readonly Wire[];

for (const wire of WIRES) {
  const makeSubject = async (): Promise<ProviderSubject> => {
    const server = await WireServer.start();
    return subjectOf(server, providerAt(server, wire.kind, wire.path), wire);
  };
  providerConformance(wire.kind, makeSubject, wire.id);
}

function legAt(server: WireServer, kind: ProviderKind, path: string): Leg {
  return {
    name: kind,
    provider: kind,
    model: 'some/model',
    baseUrl: `${server.url}${path}`,
    apiKeyEnv: 'SOME_KEY',
    timeoutMs: TIMEOUT_MS,
  };
}

function providerAt(server: WireServer, kind: ProviderKind, path: string, more: Partial<Leg> = {}): Provider {
  return createProvider({ ...legAt(server, kind, path), ...more }, (name) =>
    name === 'SOME_KEY' ? SECRET : undefined,
  );
}

function subjectOf(
  server: WireServer,
  provider: Provider,
  { dialect, hasCacheTiers, overLength }: Wire,
): ProviderSubject {
  let set: Streamed | null = null;
  const answer = (streamed: Streamed): number => {
    set = streamed;
    server.script(whole(streamed));
    return streamed.terminalAt;
  };
  return {
    provider,
    secret: SECRET,
    hasCacheTiers,
    overLength,
    replyText: (pieces, usage = COUNTS) => answer(dialect.text(pieces, usage)),
    replyThinking: (thought, reply) => void answer(dialect.thinking(thought, reply)),
    replyToolCalls: (calls) => void answer(dialect.calls(calls)),
    replyFinish: (reason) => void answer(dialect.finish(reason)),
    failInStream: (piece) => void answer(dialect.overloadedAfter(piece)),
    fail: (status, body, headers = {}) =>
      server.script({ status, chunks: [body], headers: { 'content-type': 'application/json', ...headers } }),
    replyBytes: (bytes) => server.script({ headers: dialect.headers, chunks: [bytes] }),
    replyEndlessly: (bytes) => {
      const event = dialect.textEvent('y'.repeat(ENDLESS_PIECE_CHARS));
      const events = Array.from({ length: Math.ceil(bytes / event.length) }, () => event);
      server.script({
        headers: dialect.headers,
        chunks: [dialect.opening, ...events].filter((part) => part !== ''),
      });
    },
    cutAfter: (bytes, how) => {
      if (set !== null) server.rescript(cut(set, bytes, how));
    },
    hang: (after) => server.script(hanging(dialect, after)),
    arrived: () => server.requests(server.received.length === 0 ? 1 : server.received.length),
    disconnected: () => server.last().closed,
    requestCount: () => server.received.length,
    close: () => server.close(),
  };
}

function hanging(dialect: Dialect, after: string | undefined): Script {
  if (after === undefined) return { silent: true };
  return {
    headers: dialect.headers,
    chunks: [dialect.opening, dialect.textEvent(after)].filter((part) => part !== ''),
    end: 'hang',
  };
}

const REQUEST: ChatRequest = {
  system: 'Be brief.',
  tools: [{ name: 'read_file', description: 'Reads.', inputSchema: { type: 'object', properties: {} } }],
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'What is on this picture?' },
        { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' },
      ],
    },
  ],
  maxTokens: 64,
  cache: { key: 'prefix-1', breakpoints: [-1, 0] },
};

describe('over a real connection', () => {
  let server: WireServer;
  beforeEach(async () => {
    server = await WireServer.start();
  });
  afterEach(async () => {
    await server.close();
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
  });

  const options = { signal: new AbortController().signal, timeoutMs: TIMEOUT_MS };

  it('PRO-01 posts an Anthropic message with system, tools, image and breakpoints', async () => {
    server.script(whole(anthropicDialect.text(['A cat.'], COUNTS)));
    await providerAt(server, 'anthropic', '').call(REQUEST, options);
    const { method, path, headers, body } = server.last();
    expect([method, path]).toEqual(['POST', '/v1/messages']);
    expect(credentialIn(headers)).toBe(true);
    expect(body).toEqual({
      model: 'some/model',
      max_tokens: 64,
      stream: true,
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      tools: [{ name: 'read_file', description: 'Reads.', input_schema: { type: 'object', properties: {} } }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is on this picture?' },
            {
              type: 'image',
              source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' },
              cache_control: { type: 'ephemeral' },
            },
          ],
        },
      ],
    });
  });

  it('PRO-02 ASM-04 posts an OpenAI chat completion that asks for usage and names its prefix', async () => {
    server.script(whole(openAiDialect.text(['A cat.'], COUNTS)));
    await providerAt(server, 'openai', '/v1').call(REQUEST, options);
    const { method, path, headers, body } = server.last();
    expect([method, path]).toEqual(['POST', '/v1/chat/completions']);
    expect(headers.authorization).toBe(`Bearer ${SECRET}`);
    expect(body).toEqual({
      model: 'some/model',
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 64,
      prompt_cache_key: 'prefix-1',
      messages: [
        { role: 'system', content: 'Be brief.' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is on this picture?' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } },
          ],
        },
      ],
      tools: [
        {
          type: 'function',
          function: {
            name: 'read_file',
            description: 'Reads.',
            parameters: { type: 'object', properties: {} },
          },
        },
      ],
    });
  });

  it('PRO-05 ASM-04 posts to OpenRouter with the session of its prefix and the ends of what to cache', async () => {
    server.script(whole(openAiDialect.text(['A cat.'], COUNTS)));
    await providerAt(server, 'openrouter', '/v1', { model: 'anthropic/claude' }).call(REQUEST, options);
    const mark = { cache_control: { type: 'ephemeral' } };
    expect(server.last().body).toMatchObject({
      model: 'anthropic/claude',
      session_id: 'prefix-1',
      messages: [
        { role: 'system', content: [{ type: 'text', text: 'Be brief.', ...mark }] },
        { role: 'user', content: [{ type: 'text', ...mark }, { type: 'image_url' }] },
      ],
    });
  });

  it('PRO-08 posts an Ollama chat that is kept loaded, sized and never silently cut', async () => {
    server.script(whole(ollamaDialect.text(['A cat.'], COUNTS)));
    await providerAt(server, 'ollama', '', { window: 16_384 }).call(REQUEST, options);
    const { method, path, body } = server.last();
    expect([method, path]).toEqual(['POST', '/api/chat']);
    expect(body).toEqual({
      model: 'some/model',
      stream: true,
      truncate: false,
      shift: false,
      keep_alive: '30m',
      options: { num_ctx: 16_384, num_predict: 64 },
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'What is on this picture?', images: ['iVBORw0KGgo='] },
      ],
      tools: [
        {
          type: 'function',
          function: {
            name: 'read_file',
            description: 'Reads.',
            parameters: { type: 'object', properties: {} },
          },
        },
      ],
    });
  });

  it('PRO-08 sends an image whose base64 text is also the path of a file as that image', async () => {
    server.script(whole(ollamaDialect.text(['a'], COUNTS)));
    const data = '/etc//passwd';
    const content = [{ type: 'image', mediaType: 'image/png', data }] as const;
    await providerAt(server, 'ollama', '').call(
      { ...REQUEST, messages: [{ role: 'user', content }] },
      options,
    );
    expect(server.last().body).toMatchObject({ messages: [{ role: 'system' }, { images: [data] }] });
  });

  it('PRO-02 gives a server that states a wait only in its reset headers that wait', async () => {
    server.script({
      status: 429,
      headers: { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '1m2.5s' },
      chunks: ['{"error":{"message":"slow down","code":"rate_limit_exceeded"}}'],
    });
    const outcome = await providerAt(server, 'openai', '/v1').call(REQUEST, options);
    expect(outcome).toMatchObject({ failure: { code: 'rate_limited', retryAfterMs: 62_500 } });
  });

  it('PRO-02 ends at [DONE] although the server keeps the connection open', async () => {
    const { headers, bytes } = openAiDialect.text(['done'], COUNTS);
    server.script({ headers, chunks: [bytes], end: 'hang' });
    const outcome = await providerAt(server, 'openai', '/v1').call(REQUEST, options);
    expect(outcome).toMatchObject({ ok: true, reply: { content: [{ type: 'text', text: 'done' }] } });
    await server.last().closed;
  });

  it.each(WIRES)('$id uses one connection for call after call', async ({ kind, dialect, path }) => {
    const provider = providerAt(server, kind, path);
    server.script(whole(dialect.text(['a'], COUNTS)), whole(dialect.text(['b'], COUNTS)));
    const freed = once(http.globalAgent, 'free');
    await provider.call(REQUEST, options);
    await freed;
    await provider.call(REQUEST, options);
    const ports = server.received.map((received) => received.clientPort);
    expect(ports).toHaveLength(2);
    expect(new Set(ports).size).toBe(1);
  });

  it.each(WIRES)(
    '$id sends the key its leg names and no key of the environment',
    async ({ kind, dialect, path }) => {
      for (const name of ['OPENAI_API_KEY', 'OPENAI_ADMIN_KEY', 'OPENAI_ORG_ID', 'OPENAI_PROJECT_ID']) {
        vi.stubEnv(name, 'ambientValue');
      }
      for (const name of ['ANTHROPIC_API_KEY', 'ANTHROPIC_AUTH_TOKEN', 'OLLAMA_API_KEY']) {
        vi.stubEnv(name, 'ambientValue');
      }
      server.script(whole(dialect.text(['a'], COUNTS)), whole(dialect.text(['b'], COUNTS)));
      await providerAt(server, kind, path).call(REQUEST, options);
      expect(credentialIn(server.last().headers)).toBe(true);
      const { apiKeyEnv: _named, ...keyless } = legAt(server, kind, path);
      await createProvider(keyless, () => SECRET).call(REQUEST, options);
      expect(server.received).toHaveLength(2);
      expect(credentialIn(server.last().headers)).toBe(false);
      expect(server.last().headers).not.toHaveProperty('authorization');
      expect(JSON.stringify(server.received.map((received) => received.headers))).not.toContain(
        'ambientValue',
      );
    },
  );

  it.each(WIRES)('$id prints nothing, whatever the server sends', async ({ kind, dialect, path }) => {
    const methods = ['log', 'info', 'warn', 'error', 'debug'] as const;
    const spies = methods.map((method) => vi.spyOn(console, method).mockImplementation(() => {}));
    const provider = providerAt(server, kind, path);
    server.script(
      { status: 500, chunks: [`plain text with ${SECRET}`] },
      { status: 400, headers: { 'content-type': 'application/json' }, chunks: ['{"error":'] },
      { headers: dialect.headers, chunks: ['{oops\n\ndata: {oops\n\n'] },
    );
    for (let count = 0; count < 3; count += 1) expect((await provider.call(REQUEST, options)).ok).toBe(false);
    for (const spy of spies) expect(spy).not.toHaveBeenCalled();
  });

  it.each(WIRES)(
    '$id calls a connection that cannot be secured a network failure',
    async ({ kind, path }) => {
      const baseUrl = `${server.url.replace('http:', 'https:')}${path}`;
      const outcome = await providerAt(server, kind, path, { baseUrl }).call(REQUEST, options);
      expect(outcome).toMatchObject({ ok: false, failure: { kind: 'retryable', code: 'network' } });
    },
  );

  it.each(WIRES)('$id ends at once when the server switches to another protocol', async ({ kind, path }) => {
    server.script({ status: 101, headers: { connection: 'upgrade', upgrade: 'other' } });
    const outcome = await providerAt(server, kind, path).call(REQUEST, options);
    expect(outcome).toMatchObject({ ok: false, failure: { kind: 'retryable', code: 'network' } });
  });

  it('PRO-02 describes a model by whichever field a compatible server states its window in', async () => {
    const provider = providerAt(server, 'openai', '/v1');
    const describeWith = async (fields: object): Promise<unknown> => {
      server.script(json({ id: 'some/model', object: 'model', ...fields }));
      const outcome = await provider.describe(options);
      return outcome.ok ? outcome.metadata : outcome.failure;
    };
    const unknown = { declaredWindow: null, maxOutputTokens: null, quantisation: null };
    expect(await describeWith({})).toEqual(unknown);
    expect(server.last()).toMatchObject({ method: 'GET', path: '/v1/models/some%2Fmodel' });
    expect(await describeWith({ max_model_len: 32_768 })).toEqual({ ...unknown, declaredWindow: 32_768 });
    expect(await describeWith({ context_window: 131_072, max_completion_tokens: 8_192 })).toEqual({
      ...unknown,
      declaredWindow: 131_072,
      maxOutputTokens: 8_192,
    });
    expect(await describeWith({ max_context_length: 1_000, quantization: 'awq' })).toEqual({
      ...unknown,
      declaredWindow: 1_000,
      quantisation: 'awq',
    });
    expect(await describeWith({ meta: { n_ctx: 4_096 } })).toEqual({ ...unknown, declaredWindow: 4_096 });
    expect(await describeWith({ context_window: -1, max_model_len: 1e300 })).toEqual(unknown);
  });

  it('PRO-05 describes a model of OpenRouter by what its first upstream takes', async () => {
    const provider = providerAt(server, 'openrouter', '/v1');
    const top_provider = { context_length: 262_000, max_completion_tokens: 65_536 };
    server.script(json({ data: { id: 'some/model', context_length: 1_048_576, top_provider } }));
    expect(await provider.describe(options)).toEqual({
      ok: true,
      metadata: { declaredWindow: 262_000, maxOutputTokens: 65_536, quantisation: null },
    });
    expect(server.last()).toMatchObject({ method: 'GET', path: '/v1/model/some/model' });
    server.script(json({ data: { id: 'some/model', context_length: 8_192, top_provider: null } }));
    expect(await provider.describe(options)).toMatchObject({ metadata: { declaredWindow: 8_192 } });
  });

  it('PRO-01 describes a model by the limits Anthropic states', async () => {
    const provider = providerAt(server, 'anthropic', '');
    server.script(json({ id: 'm', type: 'model', max_input_tokens: 200_000, max_tokens: 64_000 }));
    expect(await provider.describe(options)).toEqual({
      ok: true,
      metadata: { declaredWindow: 200_000, maxOutputTokens: 64_000, quantisation: null },
    });
    expect(server.last()).toMatchObject({ method: 'GET', path: '/v1/models/some%2Fmodel' });
    server.script(json({ id: 'm', type: 'model', max_input_tokens: null }));
    expect(await provider.describe(options)).toMatchObject({ metadata: { declaredWindow: null } });
  });

  it('PRO-08 describes a model by its trained context, its own override and its quantisation', async () => {
    const provider = providerAt(server, 'ollama', '');
    const shown = {
      details: { quantization_level: 'Q4_K_M' },
      model_info: {
        'general.architecture': 'llama',
        'clip.context_length': 77,
        'llama.context_length': 131_072,
      },
    };
    server.script(json(shown));
    expect(await provider.describe(options)).toEqual({
      ok: true,
      metadata: { declaredWindow: 131_072, maxOutputTokens: null, quantisation: 'Q4_K_M' },
    });
    expect(server.last()).toMatchObject({ method: 'POST', path: '/api/show', body: { model: 'some/model' } });
    server.script(
      json({
        ...shown,
        parameters: 'stop                           "<|eot|>"\nnum_ctx                        8192',
      }),
    );
    expect(await provider.describe(options)).toMatchObject({ metadata: { declaredWindow: 8_192 } });
  });

  it.each(WIRES)('$id answers a failed or unreadable description with a failure', async ({ kind, path }) => {
    const provider = providerAt(server, kind, path);
    const body = '{"error":{"message":"no such model"}}';
    server.script({ status: 404, headers: { 'content-type': 'application/json' }, chunks: [body] });
    expect(await provider.describe(options)).toMatchObject({ ok: false, failure: { kind: 'bad_request' } });
    for (const chunk of ['[]', 'null', '{"a":']) {
      server.script({ headers: { 'content-type': 'application/json' }, chunks: [chunk] });
      expect(await provider.describe(options)).toMatchObject({ failure: { code: 'malformed_reply' } });
    }
    server.script({ silent: true });
    expect(await provider.describe({ ...options, timeoutMs: 50 })).toMatchObject({
      failure: { code: 'timeout' },
    });
    await server.last().closed;
  });
});

describe('embeddings', () => {
  let server: WireServer;
  beforeEach(async () => {
    server = await WireServer.start();
  });
  afterEach(async () => {
    await server.close();
  });

  const options = { signal: new AbortController().signal, timeoutMs: TIMEOUT_MS };
  const embed = (kind: ProviderKind, path: string, texts: readonly string[]) => {
    const provider = providerAt(server, kind, path);
    if (provider.embed === null) throw new Error(`${kind} has no embeddings`);
    return provider.embed(texts, options);
  };

  it.each([
    ['PRO-02', 'openai'],
    ['PRO-04', 'google'],
    ['PRO-05', 'openrouter'],
    ['PRO-07', 'compatible'],
  ] as const)('%s come from %s in one request, in the order of their texts', async (_id, kind) => {
    const data = [
      { index: 1, embedding: [0, 1] },
      { index: 0, embedding: [1, 0.5] },
    ];
    server.script(json({ data, usage: { prompt_tokens: 7 } }));
    const vectors = [
      [1, 0.5],
      [0, 1],
    ];
    expect(await embed(kind, '/v1', ['a', 'b'])).toEqual({ ok: true, vectors, inputTokens: 7 });
    expect(server.received).toHaveLength(1);
    expect(server.last()).toMatchObject({
      method: 'POST',
      path: '/v1/embeddings',
      body: { model: 'some/model', input: ['a', 'b'], encoding_format: 'float' },
    });
  });

  it('PRO-08 come from Ollama, which must not cut a text', async () => {
    server.script(json({ embeddings: [[1, 2]], prompt_eval_count: 3 }));
    expect(await embed('ollama', '', ['a'])).toEqual({ ok: true, vectors: [[1, 2]], inputTokens: 3 });
    expect(server.last()).toMatchObject({
      path: '/api/embed',
      body: { model: 'some/model', input: ['a'], truncate: false, keep_alive: '30m' },
    });
  });

  it.each([
    ['PRO-02', 'openai', '/v1'],
    ['PRO-08', 'ollama', ''],
  ] as const)(
    '%s that %s sends in another shape are malformed, and its refusals keep their class',
    async (_id, kind, path) => {
      for (const body of [
        {},
        { data: [], embeddings: [] },
        { data: [{ embedding: 'AAAA' }], embeddings: ['AAAA'] },
      ]) {
        server.script(json(body));
        expect(await embed(kind, path, ['a'])).toMatchObject({ failure: { code: 'malformed_reply' } });
      }
      server.script({ status: 429, chunks: ['{"error":{"message":"busy"}}'] });
      expect(await embed(kind, path, ['a'])).toMatchObject({ failure: { code: 'rate_limited' } });
    },
  );

  it.each([
    ['PRO-01', 'anthropic'],
    ['PRO-03', 'openai-responses'],
    ['PRO-06', 'openrouter-responses'],
    ['PRO-09', 'bedrock'],
  ] as const)('%s are not to be had from %s', (_id, kind) => {
    expect(providerAt(server, kind, '/v1').embed).toBeNull();
  });
});

describe('the adapters against the simulator', () => {
  const LEGS = [
    ['PRO-01', 'anthropic', '', 'openai'],
    ['PRO-02', 'openai', '/v1', 'openai'],
    ['PRO-03', 'openai-responses', '/v1', 'openai'],
    ['PRO-04', 'google', '/v1', 'google'],
    ['PRO-05', 'openrouter', '/v1', 'openrouter'],
    ['PRO-06', 'openrouter-responses', '/v1', 'openrouter'],
    ['PRO-07', 'compatible', '/v1', 'vllm'],
    ['PRO-08', 'ollama', '', 'openai'],
    ['PRO-09', 'bedrock', '/v1', 'bedrock'],
  ] as const satisfies readonly (readonly [string, ProviderKind, string, OverLengthWording])[];
  const [model] = DEFAULT_SIM_MODELS;
  if (model === undefined) throw new Error('the simulator serves no model');

  it.each(LEGS)(
    '%s holds a turn with a tool, and is told its limits, as %s',
    async (_id, kind, path, wording) => {
      const served = { ...model, name: 'small', window: 4_000, overLengthWording: wording };
      const sim = await startSimulator({ seed: 3, models: [served] });
      try {
        const leg: Leg = {
          name: kind,
          provider: kind,
          model: 'small',
          baseUrl: `${sim.url}${path}`,
          timeoutMs: TIMEOUT_MS,
        };
        const provider = createProvider(leg, () => undefined);
        const options = { signal: new AbortController().signal, timeoutMs: TIMEOUT_MS };
        const tool = {
          name: 'fetch_file',
          description: 'Returns the contents of one file.',
          inputSchema: {
            type: 'object',
            properties: { path: { type: 'string', description: 'Path of the file.' } },
            required: ['path'],
          },
        };
        const question = { type: 'text', text: 'In pond.md, what is the depth of the pond?' } as const;
        const request: ChatRequest = {
          system: 'Be brief.',
          tools: [tool],
          messages: [{ role: 'user', content: [question] }],
          maxTokens: 200,
        };
        const asked = await provider.call(request, options);
        if (!asked.ok) throw new Error(asked.failure.message);
        const calls = asked.reply.content.flatMap((block) => (block.type === 'tool_call' ? [block] : []));
        expect(calls).toMatchObject([{ name: 'fetch_file', args: { path: 'pond.md' } }]);
        expect(asked.reply.usage?.outputTokens).toBeGreaterThan(0);
        const results = calls.map(({ id, name }) => ({
          type: 'tool_result' as const,
          callId: id,
          name,
          content: 'The depth of the pond is 317 cm.',
          isError: false,
        }));
        const messages: ChatRequest['messages'] = [
          ...request.messages,
          { role: 'assistant', content: asked.reply.content },
          { role: 'user', content: results },
        ];
        const answered = await provider.call({ ...request, messages }, options);
        expect(answered).toMatchObject({ ok: true, reply: { finish: 'stop' } });
        expect(JSON.stringify(answered)).toContain('317');
        const long = { type: 'text', text: 'word '.repeat(20_000) } as const;
        const refused = await provider.call(
          { ...request, messages: [{ role: 'user', content: [long] }] },
          options,
        );
        expect(refused).toMatchObject({ ok: false, failure: { kind: 'over_length' } });
      } finally {
        await sim.close();
      }
    },
  );
});

describe('createProvider', () => {
  const leg: Leg = { name: 'main', provider: 'openai', model: 'm', timeoutMs: 1_000 };
  const request: ChatRequest = { system: '', tools: [], messages: [], maxTokens: 1 };
  const options = { signal: new AbortController().signal, timeoutMs: 1_000 };

  it('refuses a base URL that is no web address and names the leg', () => {
    for (const baseUrl of ['api.example.com', 'file:///etc/passwd', '']) {
      expect(() => createProvider({ ...leg, baseUrl }, () => 'k')).toThrow(/Leg main has the base URL/);
    }
  });

  it.each([
    ['PRO-07', 'compatible'],
    ['PRO-09', 'bedrock'],
  ] as const)(
    '%s refuses a leg of the kind %s without a base URL, and says what to write',
    (_id, provider) => {
      expect(() => createProvider({ ...leg, provider }, () => 'k')).toThrow(
        /Leg main .* baseUrl such as http/,
      );
    },
  );

  it('fails every call as auth when the key is not set, naming the variable', async () => {
    const provider = createProvider({ ...leg, apiKeyEnv: 'MY_KEY' }, () => undefined);
    const failure = { kind: 'auth', message: expect.stringContaining('MY_KEY') };
    expect(await provider.call(request, options)).toEqual({ ok: false, failure });
    expect(await provider.describe(options)).toEqual({ ok: false, failure });
    expect(await provider.embed?.(['a'], options)).toEqual({ ok: false, failure });
  });

  it('fails every call as auth when the key cannot be a header, without showing it', async () => {
    const provider = createProvider({ ...leg, apiKeyEnv: 'MY_KEY' }, () => 'half\nhidden');
    const outcome = await provider.call(request, options);
    expect(outcome).toMatchObject({ ok: false, failure: { kind: 'auth' } });
    expect(JSON.stringify(outcome)).not.toContain('hidden');
  });
});

function json(body: object): Script {
  return { headers: { 'content-type': 'application/json' }, chunks: [JSON.stringify(body)] };
}

function credentialIn(headers: object): boolean {
  return JSON.stringify(headers).includes(SECRET);
}
