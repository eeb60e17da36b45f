import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ProviderFailure } from '../../../src/providers/contract.ts';
import { classify } from '../../../src/providers/failures.ts';

const NOW_MS = Date.parse('2026-05-01T12:00:00Z');

function failure(
  status: number | undefined,
  body: unknown,
  headers: Record<string, string> = {},
): ProviderFailure {
  return classify(
    { ...(status === undefined ? {} : { status }), headers: new Headers(headers), body },
    NOW_MS,
  );
}

describe('an over-long prompt', () => {
  it.each<[string, number | undefined, unknown, number | undefined]>([
    [
      'OpenAI by code',
      400,
      {
        error: {
          code: 'context_length_exceeded',
          message: "This model's maximum context length is 128,000 tokens.",
        },
      },
      128_000,
    ],
    [
      'Anthropic by text',
      400,
      {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message: 'prompt is too long: 208310 tokens > 200000 maximum',
        },
      },
      200_000,
    ],
    [
      'Anthropic with the reply counted in',
      400,
      {
        error: {
          type: 'invalid_request_error',
          message:
            'input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length',
        },
      },
      200_000,
    ],
    [
      'vLLM',
      400,
      {
        object: 'error',
        message: "This model's maximum context length is 16384 tokens. However, you requested 122946",
      },
      16_384,
    ],
    [
      'llama.cpp by its field',
      400,
      {
        error: {
          code: 400,
          message: 'the request exceeds it',
          type: 'exceed_context_size_error',
          n_ctx: 8_192,
        },
      },
      8_192,
    ],
    [
      'Ollama, which wraps its runner',
      400,
      {
        error:
          '{"error":{"code":400,"message":"request (8889 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":8889,"n_ctx":4096}}',
      },
      4_096,
    ],
    [
      'Ollama without a limit',
      400,
      { error: 'the prompt is longer than the context length currently available' },
      undefined,
    ],
    [
      'Gemini compatible',
      400,
      {
        error: {
          message: 'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
        },
      },
      1_048_576,
    ],
    [
      'Gemini by status, in the list Google wraps it in',
      400,
      [
        {
          error: {
            code: 400,
            message: 'The input token count exceeds the maximum number of tokens allowed 1048576.',
            status: 'INVALID_ARGUMENT',
          },
        },
      ],
      1_048_576,
    ],
    [
      'OpenRouter, which wraps its upstream',
      400,
      {
        error: {
          message: 'Provider returned error',
          code: 400,
          metadata: {
            provider_name: 'Google',
            raw: '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 208310 tokens > 200000 maximum"}}',
          },
        },
      },
      200_000,
    ],
    [
      'OpenRouter by its own words',
      400,
      {
        error: {
          code: 400,
          message:
            "This endpoint's maximum context length is 131072 tokens. However, you requested about 132463 tokens.",
          metadata: { provider_name: null },
        },
      },
      131_072,
    ],
    [
      'OpenRouter by type, in a stream',
      undefined,
      { error: { code: 400, message: 'no', metadata: { error_type: 'context_length_exceeded' } } },
      undefined,
    ],
    ['Bedrock', 400, { message: 'Input is too long for requested model.' }, undefined],
    [
      'Bedrock with a limit',
      400,
      {
        message:
          'ValidationException: Too many input tokens. Max input tokens: 8192, request input token count: 9279',
      },
      8_192,
    ],
    [
      'DeepSeek',
      400,
      {
        error: {
          message:
            "This model's maximum context length is 131072 tokens. However, you requested 131134 tokens (122942 in the messages, 8192 in the completion).",
          type: 'invalid_request_error',
          code: 'invalid_request_error',
        },
      },
      131_072,
    ],
    [
      'Mistral',
      400,
      {
        object: 'error',
        message:
          'Prompt contains 40960 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
        type: 'invalid_request_prompt',
      },
      32_768,
    ],
    [
      'Groq',
      400,
      { error: { message: 'Please reduce the length of the messages or completion.', param: 'messages' } },
      undefined,
    ],
    [
      'xAI',
      400,
      {
        code: 'invalid-argument',
        error: "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
      },
      131_072,
    ],
    [
      'Together',
      422,
      {
        error: {
          message: "The input (40000 tokens) is longer than the model's context length (32768 tokens).",
        },
      },
      32_768,
    ],
    [
      'Moonshot',
      400,
      { error: { message: 'Your request exceeded model token limit: 262144 (requested: 291351)' } },
      262_144,
    ],
    [
      'LM Studio',
      400,
      {
        error:
          'The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096).',
      },
      4_096,
    ],
    [
      'LM Studio in a stream',
      undefined,
      {
        error: {
          message:
            'Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough.',
        },
      },
      32_768,
    ],
    [
      'Text Generation Inference',
      422,
      {
        error:
          'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8192. Given: 37500 `inputs` tokens and 20 `max_new_tokens`',
      },
      8_192,
    ],
    [
      'a request above the minute of its account, which no wait makes smaller',
      413,
      {
        error: {
          message: 'Request too large for model on tokens per minute (TPM): Limit 6000, Requested 14368',
          type: 'tokens',
          code: 'rate_limit_exceeded',
        },
      },
      undefined,
    ],
    ['a runner that says 500', 500, { error: 'input exceeds context length' }, undefined],
    [
      'a body over the byte limit',
      413,
      { error: { type: 'request_too_large', message: 'too big' } },
      undefined,
    ],
    [
      'an event in a stream',
      undefined,
      { error: { code: 'context_length_exceeded', message: 'no' } },
      undefined,
    ],
  ])('is recognised: %s', (_name, status, body, limitTokens) => {
    const found = failure(status, body);
    expect(found.kind).toBe('over_length');
    expect(found.kind === 'over_length' && found.limitTokens).toBe(limitTokens);
  });

  it.each([
    [400, { error: { message: 'max_tokens is too large: 100000' } }],
    [400, { error: { message: 'Unknown parameter: context' } }],
    [404, { error: 'model "long-context" not found' }],
  ])('is not seen in status %i %j', (status, body) => {
    expect(failure(status, body).kind).toBe('bad_request');
  });

  it('is not seen in a rate limit that counts tokens', () => {
    const body = { error: { message: 'Limit 10000 tokens per min. Reduce the length of your prompt.' } };
    expect(failure(429, body)).toMatchObject({ kind: 'retryable', code: 'rate_limited' });
    const throttled = { message: 'Too many tokens, please wait before trying again.' };
    expect(failure(429, throttled)).toMatchObject({ kind: 'retryable', code: 'rate_limited' });
  });
});

describe('other refusals', () => {
  it.each<[string, number | undefined, unknown, object]>([
    [
      'a filtered prompt by code',
      400,
      { error: { code: 'content_filter', message: 'm' } },
      { kind: 'content' },
    ],
    [
      'a filtered prompt by inner code',
      400,
      { error: { code: null, message: 'm', innererror: { code: 'ResponsibleAIPolicyViolation' } } },
      { kind: 'content' },
    ],
    [
      'a filtered reply by text',
      400,
      { error: { type: 'invalid_request_error', message: 'Output blocked by content filtering policy' } },
      { kind: 'content' },
    ],
    [
      'a spent quota that comes as 429',
      429,
      { error: { code: 'insufficient_quota', message: 'm' } },
      { kind: 'auth' },
    ],
    [
      'a spend limit that comes as 429',
      429,
      {
        error: {
          type: 'rate_limit_error',
          message: 'm',
          details: { error_code: 'enforced_spend_limit_reached' },
        },
      },
      { kind: 'auth' },
    ],
    ['an unpaid bill', 402, { error: { type: 'billing_error', message: 'm' } }, { kind: 'auth' }],
    [
      'credit that ran out',
      400,
      {
        error: {
          type: 'invalid_request_error',
          message: 'Your credit balance is too low to access the API.',
        },
      },
      { kind: 'auth' },
    ],
    [
      'an overload in a stream',
      undefined,
      { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
      { kind: 'retryable', code: 'overloaded' },
    ],
    [
      'a rate limit in a stream',
      undefined,
      { error: { type: 'rate_limit_error', message: 'm' } },
      { kind: 'retryable', code: 'rate_limited' },
    ],
    [
      'a status as the code of an error in a stream',
      undefined,
      { error: { code: 503, message: 'm' } },
      { kind: 'retryable', code: 'overloaded' },
    ],
    [
      'a bad request in a stream',
      undefined,
      { error: { type: 'invalid_request_error', message: 'm' } },
      { kind: 'bad_request' },
    ],
    [
      'trouble of unknown type in a stream',
      undefined,
      { error: { message: 'm' } },
      { kind: 'retryable', code: 'server_error' },
    ],
    [
      'a key that Google does not know, which comes as 400',
      400,
      [{ error: { code: 400, message: 'm', details: [{ reason: 'API_KEY_INVALID' }] } }],
      { kind: 'auth', message: 'm' },
    ],
    [
      'what OpenRouter moderates, which comes as 403',
      403,
      { error: { code: 403, message: 'm', metadata: { reasons: ['r'], flagged_input: 'i' } } },
      { kind: 'content' },
    ],
    [
      'what a guardrail of OpenRouter blocks, which comes as 403',
      403,
      { error: { code: 403, message: 'm', metadata: { patterns: ['p'] } } },
      { kind: 'content' },
    ],
    [
      'a rate limit of an upstream of OpenRouter, in its own words',
      429,
      { error: { code: 429, message: 'Provider returned error', metadata: { raw: 'busy upstream' } } },
      { code: 'rate_limited', message: 'Provider returned error: busy upstream' },
    ],
    ['a refusal of AWS', 403, { Message: 'expired token' }, { kind: 'auth', message: 'expired token' }],
    [
      'an overload under another status',
      500,
      { error: { type: 'overloaded_error' } },
      { code: 'overloaded' },
    ],
  ])('classify: %s', (_name, status, body, expected) => {
    expect(failure(status, body)).toMatchObject(expected);
  });

  it('carry Retry-After for an overload, but no rate limit reset', () => {
    const reset = { 'x-ratelimit-reset-requests': '10s' };
    expect(failure(529, '', { 'retry-after': '3', ...reset })).toMatchObject({ retryAfterMs: 3_000 });
    expect(failure(529, '', reset)).not.toHaveProperty('retryAfterMs');
  });

  it('carry the wait that Google states in the body alone', () => {
    const limited = (retryDelay: unknown) => {
      const details = [{ '@type': 'type.googleapis.com/google.rpc.QuotaFailure' }, { retryDelay }];
      return failure(429, [{ error: { code: 429, message: 'm', status: 'RESOURCE_EXHAUSTED', details } }]);
    };
    expect(limited('45.837906927s')).toMatchObject({ code: 'rate_limited', retryAfterMs: 45_838 });
    expect(limited('soon')).not.toHaveProperty('retryAfterMs');
  });

  it.each([
    [{ detail: 'Not here' }, 'Not here'],
    ['plain words', 'plain words'],
    [{ error: { message: 17 } }, 'The provider answered 404 without a message.'],
    ['', 'The provider answered 404 without a message.'],
  ])('take the message from %j', (body, message) => {
    expect(failure(404, body)).toEqual({ kind: 'bad_request', status: 404, message });
  });

  it('are read from bodies whose members hide what objects inherit', () => {
    const hostile = JSON.parse('{"code":{"toString":1},"type":"constructor","message":"m"}');
    expect(failure(undefined, { error: hostile })).toMatchObject({ code: 'server_error', message: 'm' });
  });

  it('are one of the known kinds for any status and any body', () => {
    fc.assert(
      fc.property(
        fc.option(fc.integer({ min: 100, max: 999 }), { nil: undefined }),
        fc.jsonValue(),
        (status, body) => {
          const found = failure(status, { error: body });
          expect(['retryable', 'over_length', 'auth', 'bad_request', 'content']).toContain(found.kind);
          expect(found.message).not.toBe('');
        },
      ),
    );
  });
});
