import Anthropic from '@anthropic-ai/sdk';
import { Ollama } from 'ollama';
import OpenAI from 'openai';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type SimModel, type Simulator, startSimulator } from '../../src/sim/index.ts';

/** One token a byte, so that sizes can be written down. */
const MODEL: SimModel = {
  name: 'measured',
  window: 6_000,
  horizon: 4_000,
  tokensPerByte: 1,
  maxOutputTokens: 500,
  prefillTokensPerSecond: 1_000,
  decodeTokensPerSecond: 100,
  quantisation: 'none',
  supportsImages: false,
};

let sim: Simulator;
let nowMs: number;

beforeEach(async () => {
  nowMs = 1_000_000;
  sim = await startSimulator({ seed: 3, models: [MODEL], clock: () => nowMs });
});

afterEach(async () => {
  await sim.close();
});

const openai = () => new OpenAI({ baseURL: `${sim.url}/v1`, apiKey: 'any', maxRetries: 0 });
const anthropic = () => new Anthropic({ baseURL: sim.url, apiKey: 'any', maxRetries: 0 });
const ollama = () => new Ollama({ host: sim.url });
const user = (content: string) => [{ role: 'user' as const, content }];

/** The error a promise rejects with. */
async function refused(
  work: Promise<unknown>,
): Promise<{ status?: number; message: string; error?: unknown }> {
  return await work.then(
    () => {
      throw new Error('the call was answered');
    },
    (error: { status?: number; message: string; error?: unknown }) => error,
  );
}

describe('the window', () => {
  it('holds exactly: the last token is accepted, the next is refused with the figures', async () => {
    const fits = await openai().chat.completions.create({
      model: 'measured',
      messages: user('x'.repeat(6_000)),
    });
    expect(fits.usage?.prompt_tokens).toBe(6_000);
    const error = await refused(
      openai().chat.completions.create({ model: 'measured', messages: user('x'.repeat(6_001)) }),
    );
    expect(error).toMatchObject({ status: 400, code: 'context_length_exceeded', param: 'messages' });
    expect(error.message).toContain(
      "This model's maximum context length is 6000 tokens. However, your messages resulted in 6001 tokens.",
    );
    expect(sim.calls().at(-1)).toMatchObject({ outcome: 'rejected', status: 400, promptTokens: 6_001 });
  });

  it('counts the reply limit on OpenAI and Anthropic, each in its words', async () => {
    const content = 'x'.repeat(5_600);
    const one = await refused(
      openai().chat.completions.create({
        model: 'measured',
        max_completion_tokens: 500,
        messages: user(content),
      }),
    );
    expect(one.message).toContain('you requested 6100 tokens (5600 in the messages, 500 in the completion)');
    const two = await refused(
      anthropic().messages.create({ model: 'measured', max_tokens: 500, messages: user(content) }),
    );
    expect(two.status).toBe(400);
    expect(two.message).toContain(
      'input length and `max_tokens` exceed context limit: 5600 + 500 > 6000, decrease input length or `max_tokens` and try again',
    );
    const three = await refused(
      anthropic().messages.create({ model: 'measured', max_tokens: 1, messages: user('x'.repeat(7_000)) }),
    );
    expect(three.message).toContain('prompt is too long: 7000 tokens > 6000 maximum');
    const four = await refused(
      anthropic().messages.create({ model: 'measured', max_tokens: 501, messages: user('x') }),
    );
    expect(four.message).toContain(
      'max_tokens: 501 > 500, which is the maximum allowed number of output tokens for measured',
    );
  });

  it('cuts a long prompt silently on Ollama, oldest messages first, and refuses where cutting is forbidden', async () => {
    const messages = [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: `The old gate code is 1188. ${'a'.repeat(1_500)}` },
      { role: 'assistant', content: 'Noted.' },
      { role: 'user', content: `Cells. ${'b'.repeat(1_500)}. What is the old gate code?` },
    ];
    const cut = await ollama().chat({ model: 'measured', messages, options: { num_ctx: 2_000 } });
    expect(cut.prompt_eval_count).toBeLessThanOrEqual(2_000);
    expect(cut.message.content).not.toContain('1188');
    const whole = await ollama().chat({ model: 'measured', messages, options: { num_ctx: 6_000 } });
    expect(whole.message.content).toContain('1188');
    const forbidding = { model: 'measured', messages, truncate: false, options: { num_ctx: 2_000 } };
    const error = await refused(ollama().chat(forbidding));
    expect(error.message).toBe('the input length exceeds the context length');
  });

  it('cuts a reply at the limit asked for and says so', async () => {
    const messages = user(`The gate is ${'very '.repeat(40)}old. What is the gate like?`);
    const one = await openai().chat.completions.create({ model: 'measured', max_tokens: 20, messages });
    expect(one.choices[0]?.finish_reason).toBe('length');
    expect(one.usage?.completion_tokens).toBe(20);
    const two = await anthropic().messages.create({ model: 'measured', max_tokens: 20, messages });
    expect(two.stop_reason).toBe('max_tokens');
    const three = await ollama().chat({ model: 'measured', messages, options: { num_predict: 20 } });
    expect(three.done_reason).toBe('length');
  });
});

describe('the horizon', () => {
  const tools = [
    { name: 'probe_ack', description: 'Acknowledges.', input_schema: { type: 'object' as const } },
  ];
  const schemaBytes = Buffer.byteLength('probe_ackAcknowledges.{"type":"object"}');
  const ask = async (promptTokens: number) => {
    const order = ' Now call probe_ack.';
    const content = 'y'.repeat(promptTokens - schemaBytes - order.length) + order;
    return await anthropic().messages.create({
      model: 'measured',
      max_tokens: 100,
      tools,
      messages: user(content),
    });
  };

  it('is the largest prompt at which an ordered call is made', async () => {
    const within = await ask(4_000);
    expect(within.usage.input_tokens).toBe(4_000);
    expect(within.content.map((block) => block.type)).toEqual(['tool_use']);
    const beyond = await ask(4_001);
    expect(beyond.usage.input_tokens).toBe(4_001);
    expect(beyond.content.map((block) => block.type)).toEqual(['text']);
  });
});

describe('the cache', () => {
  it('reads on Anthropic only what a breakpoint wrote, and only for five minutes after its last use', async () => {
    const system = [
      { type: 'text' as const, text: 's'.repeat(2_000), cache_control: { type: 'ephemeral' as const } },
    ];
    const ask = async (content: string, marked = true) =>
      (
        await anthropic().messages.create({
          model: 'measured',
          max_tokens: 50,
          system: marked ? system : 's'.repeat(2_000),
          messages: user(content),
        })
      ).usage;
    expect(await ask('one')).toMatchObject({
      input_tokens: 3,
      cache_creation_input_tokens: 2_000,
      cache_read_input_tokens: 0,
    });
    expect(await ask('two')).toMatchObject({
      input_tokens: 3,
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: 2_000,
    });
    expect(await ask('three', false)).toMatchObject({ input_tokens: 2_005, cache_read_input_tokens: 0 });
    nowMs += 299_999;
    expect(await ask('four')).toMatchObject({ cache_read_input_tokens: 2_000 });
    nowMs += 299_999;
    expect(await ask('five')).toMatchObject({ cache_read_input_tokens: 2_000 });
    nowMs += 300_000;
    expect(await ask('six')).toMatchObject({
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 2_000,
    });
  });

  it('of one wire holds nothing for another', async () => {
    const messages = user('s'.repeat(2_000));
    await openai().chat.completions.create({ model: 'measured', messages });
    const content = [
      { type: 'text' as const, text: 's'.repeat(2_000), cache_control: { type: 'ephemeral' as const } },
    ];
    const ask = anthropic().messages.create({
      model: 'measured',
      max_tokens: 50,
      messages: [{ role: 'user', content }],
    });
    expect((await ask).usage).toMatchObject({
      cache_read_input_tokens: 0,
      cache_creation_input_tokens: 2_000,
    });
    const local = await ollama().chat({ model: 'measured', messages });
    expect(local.prompt_eval_duration).toBe(2e9);
  });

  it('refuses a fifth breakpoint', async () => {
    const content = Array.from({ length: 5 }, (_, at) => ({
      type: 'text' as const,
      text: `part ${at}`,
      cache_control: { type: 'ephemeral' as const },
    }));
    const error = await refused(
      anthropic().messages.create({
        model: 'measured',
        max_tokens: 10,
        messages: [{ role: 'user', content }],
      }),
    );
    expect(error.message).toContain('A maximum of 4 blocks with cache_control may be provided. Found 5.');
  });
});

describe('the rules of a transcript', () => {
  const call = { type: 'tool_use' as const, id: 'toolu_1', name: 'go', input: {} };
  const result = { type: 'tool_result' as const, tool_use_id: 'toolu_1', content: 'done' };
  const send = async (messages: Anthropic.MessageParam[], more: object = {}) =>
    (await refused(anthropic().messages.create({ model: 'measured', max_tokens: 400, messages, ...more })))
      .message;

  it('are kept by Anthropic: every call answered in the next message, before any text, and no result alone', async () => {
    const opening: Anthropic.MessageParam[] = [...user('Go.'), { role: 'assistant', content: [call] }];
    const unanswered =
      'messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1.';
    expect(await send([...opening, ...user('And?')])).toContain(unanswered);
    expect(
      await send([...opening, { role: 'user', content: [{ type: 'text', text: 'Here:' }, result] }]),
    ).toContain(unanswered);
    expect(await send(opening)).toContain(unanswered);
    expect(await send([{ role: 'user', content: [result] }])).toContain(
      'messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1.',
    );
    expect(await send([...opening, { role: 'user', content: [result, result] }])).toContain(
      'each tool_use must have a single result',
    );
    expect(await send([{ role: 'assistant', content: 'Hello' }])).toContain('first message must use the');
    expect(await send(user(''))).toContain('must have non-empty content');
    const accepted = await anthropic().messages.create({
      model: 'measured',
      max_tokens: 50,
      messages: [...opening, { role: 'user', content: [result] }, ...user('And?')],
    });
    expect(accepted.type).toBe('message');
  });

  it('let no thinking pass that was changed', async () => {
    const thinking = { type: 'thinking' as const, thinking: 'mine', signature: 'forged' };
    const messages: Anthropic.MessageParam[] = [
      ...user('Go.'),
      { role: 'assistant', content: [thinking, { type: 'text', text: 'Yes.' }] },
      ...user('More?'),
    ];
    expect(await send(messages)).toContain('messages.1.content.0: Invalid `signature` in `thinking` block');
  });

  it('are kept by OpenAI: each call answered right after it, no tool message alone', async () => {
    const assistant = {
      role: 'assistant' as const,
      content: null,
      tool_calls: [{ id: 'call_1', type: 'function' as const, function: { name: 'go', arguments: '{}' } }],
    };
    const ask = async (messages: OpenAI.ChatCompletionMessageParam[]) =>
      await refused(openai().chat.completions.create({ model: 'measured', messages }));
    const open = await ask([...user('Go.'), assistant, ...user('And?')]);
    expect(open).toMatchObject({ status: 400, param: 'messages.[2].role' });
    expect(open.message).toContain('The following tool_call_ids did not have response messages: call_1');
    const orphan = await ask([...user('Go.'), { role: 'tool', tool_call_id: 'call_1', content: 'done' }]);
    expect(orphan.message).toContain(
      "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    );
    const strange = await ask([
      ...user('Go.'),
      assistant,
      { role: 'tool', tool_call_id: 'call_2', content: 'done' },
    ]);
    expect(strange.message).toContain(
      "'tool_call_id' of 'call_2' not found in 'tool_calls' of previous message.",
    );
  });

  it('name a model nobody serves', async () => {
    const model = 'nobody';
    expect(await refused(openai().chat.completions.create({ model, messages: user('x') }))).toMatchObject({
      status: 404,
      code: 'model_not_found',
    });
    expect(
      await refused(anthropic().messages.create({ model, max_tokens: 1, messages: user('x') })),
    ).toMatchObject({ status: 404 });
    expect((await refused(ollama().chat({ model, messages: user('x') }))).message).toBe(
      "model 'nobody' not found",
    );
  });

  it('answer a body that is no JSON in the words of each wire', async () => {
    for (const path of ['/v1/chat/completions', '/v1/messages', '/api/chat']) {
      const response = await fetch(`${sim.url}${path}`, { method: 'POST', body: '{"model": ' });
      expect(response.status).toBe(400);
      expect(await response.json()).toHaveProperty('error');
    }
    expect(sim.calls().map((call) => call.outcome)).toEqual(['rejected', 'rejected', 'rejected']);
  });
});
