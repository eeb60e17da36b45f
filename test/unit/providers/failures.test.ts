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
