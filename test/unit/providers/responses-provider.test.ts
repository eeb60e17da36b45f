import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../../src/context/request.ts';
import type { Leg, Provider } from '../../../src/providers/contract.ts';
import { responsesProvider } from '../../../src/providers/responses/provider.ts';
import { WireServer } from '../../support/wire-server.ts';

const REQUEST: ChatRequest = {
  system: '',
  tools: [],
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'One?' }] },
    { role: 'assistant', content: [{ type: 'text', text: 'One.' }] },
    { role: 'user', content: [{ type: 'text', text: 'Two?' }] },
  ],
  maxTokens: 50,
};
const CONTINUED: ChatRequest = { ...REQUEST, continues: { responseId: 'resp_1', from: 2, callIds: {} } };
/** https://github.com/maximhq/bifrost/issues/2441 */
const NOT_FOUND = {
  type: 'invalid_request_error',
  code: 'previous_response_not_found',
  param: 'previous_response_id',
  message: "Previous response with id 'resp_1' not found.",
};

describe('a Responses leg', () => {
  let server: WireServer;
  beforeEach(async () => {
    server = await WireServer.start();
  });
  afterEach(async () => {
    await server.close();
  });

  const provider = (fields: Partial<Leg> = {}): Provider =>
    responsesProvider(
      {
        name: 'leg',
        provider: 'openai-responses',
        model: 'some/model',
        baseUrl: `${server.url}/v1`,
        timeoutMs: 10_000,
        ...fields,
      },
      'a-key',
    );
  const options = { signal: new AbortController().signal, timeoutMs: 10_000 };
  const stream = (...events: readonly object[]) =>
    server.script({
      headers: { 'content-type': 'text/event-stream' },
      chunks: events.map((event) => `data: ${JSON.stringify(event)}\n\n`),
    });
  const refuse = (status: number, error: object) =>
    server.script({
      status,
      headers: { 'content-type': 'application/json' },
      chunks: [JSON.stringify({ error })],
    });
  const completed = { type: 'response.completed', response: { id: 'resp_2', model: 'served' } };

  it.each([
    ['PRO-10', { provider: 'openai-responses' }, 1, { store: true, previous_response_id: 'resp_1' }],
    ['PRO-10', { provider: 'openai-responses', serverState: false }, 3, { store: false }],
    ['PRO-06', { provider: 'openrouter-responses', serverState: true }, 3, { store: false }],
  ] as const)('%s of %o sends %i messages of a continued request', async (_id, leg, count, state) => {
    stream(completed);
    const outcome = await provider(leg).call(CONTINUED, options);
    expect(outcome.ok && outcome.reply.responseId).toBe(state.store ? 'resp_2' : undefined);
    const { method, path, headers, body } = server.last();
    expect([method, path, headers.authorization]).toEqual(['POST', '/v1/responses', 'Bearer a-key']);
    const { store, previous_response_id, input } = body as Record<string, unknown>;
    expect({ store, ...(previous_response_id === undefined ? {} : { previous_response_id }) }).toEqual(state);
    expect(input).toHaveLength(count);
  });

  it('PRO-03 caps the reply at what the operator allows', async () => {
    stream(completed);
    await provider({ maxOutputTokens: 20 }).call(REQUEST, options);
    expect(server.last().body).toMatchObject({ max_output_tokens: 20 });
  });

  it('PRO-03 asks for nothing more at the terminal event, though the server keeps the connection open', async () => {
    server.script({
      headers: { 'content-type': 'text/event-stream' },
      chunks: [`data: ${JSON.stringify(completed)}\n\n`],
      end: 'hang',
    });
    expect(await provider().call(REQUEST, options)).toMatchObject({ ok: true });
    await server.last().closed;
  });

  it.each([
    [400, NOT_FOUND],
    [404, { message: NOT_FOUND.message }],
    [
      400,
      {
        code: 'unsupported_parameter',
        message: 'Previous response cannot be used for this organization due to Zero Data Retention.',
      },
    ],
  ])('PRO-10 calls status %i for %o a lost continuation', async (status, error) => {
    refuse(status, error);
    const outcome = await provider().call(CONTINUED, options);
    expect(outcome).toEqual({
      ok: false,
      failure: { kind: 'lost_continuation', status, message: error.message },
    });
  });

  it.each([
    ['nested', { type: 'error', error: NOT_FOUND }],
    ['flat', { ...NOT_FOUND, type: 'error' }],
  ])('PRO-10 calls a lost continuation one in a %s event too', async (_name, event) => {
    stream(event);
    expect(await provider().call(CONTINUED, options)).toEqual({
      ok: false,
      failure: { kind: 'lost_continuation', message: NOT_FOUND.message },
    });
  });

  it('PRO-10 loses no continuation to other trouble, nor one that was never sent', async () => {
    refuse(400, { message: 'Unknown parameter.' });
    expect(await provider().call(CONTINUED, options)).toMatchObject({ failure: { kind: 'bad_request' } });
    refuse(429, { message: 'Too many requests for the previous response.' });
    expect(await provider().call(CONTINUED, options)).toMatchObject({ failure: { code: 'rate_limited' } });
    refuse(400, NOT_FOUND);
    expect(await provider().call(REQUEST, options)).toMatchObject({ failure: { kind: 'bad_request' } });
    refuse(400, NOT_FOUND);
    expect(await provider({ serverState: false }).call(CONTINUED, options)).toMatchObject({
      failure: { kind: 'bad_request' },
    });
  });

  const failed = (code: string, error_type?: string) => ({
    type: 'response.failed',
    response: { status: 'failed', error: { code, message: 'said' }, error_type },
  });
  it.each([
    ['PRO-03', failed('server_error'), { kind: 'retryable', code: 'server_error' }],
    ['PRO-03', failed('rate_limit_exceeded'), { kind: 'retryable', code: 'rate_limited' }],
    ['PRO-03', failed('vector_store_timeout'), { kind: 'retryable', code: 'server_error' }],
    ['PRO-03', failed('context_length_exceeded'), { kind: 'over_length' }],
    ['PRO-03', failed('invalid_prompt'), { kind: 'bad_request' }],
    ['PRO-03', failed('bio_policy'), { kind: 'content' }],
    ['PRO-03', failed('image_parse_error'), { kind: 'bad_request' }],
    [
      'PRO-03',
      { type: 'error', code: 'server_error', message: 'said', param: null },
      { code: 'server_error' },
    ],
    [
      'PRO-03',
      { type: 'error', error: { type: 'overloaded_error', message: 'said' } },
      { code: 'overloaded' },
    ],
    ['PRO-06', failed('server_error', 'authentication'), { kind: 'auth' }],
    ['PRO-06', failed('server_error', 'payment_required'), { kind: 'auth' }],
    ['PRO-06', failed('server_error', 'provider_overloaded'), { kind: 'retryable', code: 'overloaded' }],
    ['PRO-06', failed('invalid_prompt', 'context_length_exceeded'), { kind: 'over_length' }],
    ['PRO-06', failed('invalid_prompt', 'invalid_request'), { kind: 'bad_request' }],
  ])('%s classifies %j in the stream as %j', async (_id, event, failure) => {
    stream({ type: 'response.created', response: { model: 'served' } }, event);
    const outcome = await provider({ provider: 'openrouter-responses' }).call(REQUEST, options);
    expect(outcome).toMatchObject({ ok: false, failure: { ...failure, message: 'said' } });
  });

  it('PRO-03 takes no stream for a reply that ends before its terminal event', async () => {
    stream({ type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'Hel' });
    expect(await provider().call(REQUEST, options)).toMatchObject({ failure: { code: 'malformed_reply' } });
  });

  it('PRO-06 describes a model by what OpenRouter states, and embeds nothing', async () => {
    const stated = {
      id: 'some/model',
      context_length: 200_000,
      top_provider: { max_completion_tokens: 8_192 },
    };
    server.script({ headers: { 'content-type': 'application/json' }, chunks: [JSON.stringify(stated)] });
    const leg = provider({ provider: 'openrouter-responses' });
    expect(await leg.describe(options)).toEqual({
      ok: true,
      metadata: { declaredWindow: 200_000, maxOutputTokens: 8_192, quantisation: null },
    });
    expect(leg.embed).toBeNull();
  });
});
