import Anthropic from '@anthropic-ai/sdk';
import { Ollama } from 'ollama';
import OpenAI from 'openai';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type OverLengthWording,
  type SimModel,
  type Simulator,
  startSimulator,
} from '../../src/sim/index.ts';

/** One token a byte, so that sizes can be written down. */
const MODEL: SimModel = {
  name: 'measured',
  window: 20_000,
  horizon: 12_000,
  tokensPerByte: 1,
  maxOutputTokens: 500,
  prefillTokensPerSecond: 1_000,
  decodeTokensPerSecond: 100,
  quantisation: 'none',
  supportsImages: false,
};
const CODES = { head: 'heron-4127', middle: 'copper-1830', tail: 'willow-9007' };
const LOOKUP = {
  name: 'lookup',
  description: 'Looks up pages about a subject.',
  parameters: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
};
const ACK = {
  name: 'probe_ack',
  description: 'Confirms that the conversation was read.',
  parameters: {
    type: 'object',
    properties: { head: { type: 'string' }, middle: { type: 'string' }, tail: { type: 'string' } },
    required: ['head', 'middle', 'tail'],
  },
};
const TOOLS: OpenAI.ChatCompletionTool[] = [LOOKUP, ACK].map((one) => ({ type: 'function', function: one }));

let sim: Simulator;

beforeEach(async () => {
  sim = await startSimulator({ seed: 3, models: [MODEL] });
});

afterEach(async () => {
  await sim.close();
});

const serve = (more: Partial<SimModel>) => sim.setModels([{ ...MODEL, ...more }]);
const openai = () => new OpenAI({ baseURL: `${sim.url}/v1`, apiKey: 'any', maxRetries: 0 });
const anthropic = () => new Anthropic({ baseURL: sim.url, apiKey: 'any', maxRetries: 0 });
const user = (content: string) => [{ role: 'user' as const, content }];

/** A history of so many questions with a call, a result and an answer each, then the order. */
function probe(turns: number): OpenAI.ChatCompletionMessageParam[] {
  const codes = new Map([
    [0, ` The head code is ${CODES.head}.`],
    [Math.floor((turns - 1) / 2), ` The middle code is ${CODES.middle}.`],
    [turns - 1, ` The tail code is ${CODES.tail}.`],
  ]);
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'system', content: 'You use tools.' }];
  for (let at = 0; at < turns; at += 1) {
    const id = `call_${at}`;
    messages.push(
      { role: 'user', content: `What is known of orchard ${at}?${codes.get(at) ?? ''}` },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id, type: 'function', function: { name: 'lookup', arguments: `{"query":"orchard ${at}"}` } },
        ],
      },
      {
        role: 'tool',
        tool_call_id: id,
        content: `[{"title":"Orchard ${at}","url":"https://example.test/${at}"}]`,
      },
      { role: 'assistant', content: `Orchard ${at} is known for its harbour, its copper and its lanterns.` },
    );
  }
  const asked = 'Call probe_ack once now with the head code, the middle code and the tail code named above.';
  return [...messages, { role: 'user', content: asked }];
}

async function send(messages: OpenAI.ChatCompletionMessageParam[]) {
  const body = { model: 'measured', messages, tools: TOOLS, max_completion_tokens: 96 };
  const done = await openai().chat.completions.create(body);
  const [call] = done.choices[0]?.message.tool_calls ?? [];
  const args = call?.type === 'function' ? (JSON.parse(call.function.arguments) as unknown) : null;
  return { name: call?.type === 'function' ? call.function.name : null, args, usage: done.usage };
}

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

describe('a probe', () => {
  it('is followed within the horizon, with every code that the questions name', async () => {
    for (const turns of [3, 12, 30]) {
      const made = await send(probe(turns));
      expect(made.usage?.prompt_tokens).toBeLessThanOrEqual(MODEL.horizon);
      expect(made).toMatchObject({ name: 'probe_ack', args: CODES });
    }
  });

  it('is not followed beyond it', async () => {
    const made = await send(probe(80));
    expect(made.usage?.prompt_tokens).toBeGreaterThan(MODEL.horizon);
    expect(made.name).toBeNull();
  });

  it('is followed and not followed by chance where the model flips, seeded by the number of the call', async () => {
    const run = async (seed: number, flipRate: number, turns: number) => {
      const own = await startSimulator({ seed, models: [{ ...MODEL, flipRate }] });
      const body = JSON.stringify({ model: 'measured', messages: probe(turns), tools: TOOLS });
      const followed: boolean[] = [];
      for (let at = 0; at < 40; at += 1) {
        const response = await fetch(`${own.url}/v1/chat/completions`, { method: 'POST', body });
        followed.push((await response.text()).includes('"tool_calls":['));
      }
      await own.close();
      return followed;
    };
    const within = await run(5, 0.25, 3);
    const beyond = await run(5, 0.25, 80);
    const count = (all: readonly boolean[]) => all.filter((one) => one).length;
    expect(count(within)).toBeGreaterThan(20);
    expect(count(within)).toBeLessThan(40);
    expect(beyond).toEqual(within.map((one) => !one));
    expect(await run(5, 0.25, 3)).toEqual(within);
    expect(await run(6, 0.25, 3)).not.toEqual(within);
    expect(count(await run(5, 1, 3))).toBe(0);
    expect(count(await run(5, 1, 80))).toBe(40);
  });
});

describe('a silent window', () => {
  it('drops the oldest messages without a word, and usage tells what was read', async () => {
    serve({ silentWindow: 4_000 });
    const made = await send(probe(40));
    expect(made.usage?.prompt_tokens).toBeLessThanOrEqual(4_000);
    expect(made.usage?.prompt_tokens).toBeGreaterThan(3_500);
    expect(made).toMatchObject({ name: 'probe_ack', args: { tail: CODES.tail } });
    expect(made.args).not.toMatchObject({ head: CODES.head });
    expect(sim.calls().at(-1)).toMatchObject({ promptTokens: made.usage?.prompt_tokens, status: 200 });
    expect(await send(probe(3))).toMatchObject({ args: CODES });
  });

  it('refuses nothing on any wire, not even what the declared window is too small for', async () => {
    serve({ silentWindow: 20_000 });
    const content = 'x'.repeat(30_000);
    const one = await openai().chat.completions.create({
      model: 'measured',
      max_completion_tokens: 500,
      messages: user(content),
    });
    expect(one.usage?.prompt_tokens).toBeLessThanOrEqual(19_500);
    const two = await openai().responses.create({ model: 'measured', input: content });
    expect(two.usage?.input_tokens).toBeLessThanOrEqual(20_000);
    const three = await anthropic().messages.create({
      model: 'measured',
      max_tokens: 500,
      messages: user(content),
    });
    expect(three.usage.input_tokens).toBeLessThanOrEqual(19_500);
    serve({ silentWindow: 2_000 });
    const four = await new Ollama({ host: sim.url }).chat({ model: 'measured', messages: user(content) });
    expect(four.prompt_eval_count).toBeLessThanOrEqual(2_000);
  });

  it('leaves the marks of a cache where they stood: on the system text, and on the messages that are left', async () => {
    serve({ silentWindow: 6_000 });
    const mark = { type: 'ephemeral' as const };
    const ask = async (old: string) =>
      (
        await anthropic().messages.create({
          model: 'measured',
          max_tokens: 50,
          system: [{ type: 'text', text: 's'.repeat(2_000), cache_control: mark }],
          messages: [
            ...user(old),
            { role: 'assistant', content: 'Noted.' },
            { role: 'user', content: [{ type: 'text', text: 'q'.repeat(3_000), cache_control: mark }] },
          ],
        })
      ).usage;
    expect(await ask('a'.repeat(5_000))).toMatchObject({ cache_creation_input_tokens: 5_006 });
    expect(await ask('b'.repeat(5_000))).toMatchObject({ cache_read_input_tokens: 5_006 });
  });
});

describe('the words of a refusal over length', () => {
  const worded: readonly [OverLengthWording, string, object][] = [
    [
      'openai',
      "This model's maximum context length is 20000 tokens.",
      { error: { code: 'context_length_exceeded' } },
    ],
    [
      'google',
      'The input token count (20001) exceeds the maximum number of tokens allowed (20000).',
      [{ error: { code: 400, status: 'INVALID_ARGUMENT' } }],
    ],
    [
      'openrouter',
      "This endpoint's maximum context length is 20000 tokens. However, you requested about 20097 tokens (20001 of text input, 96 in the output).",
      { error: { code: 400 } },
    ],
    ['bedrock', 'Input is too long for requested model.', { error: { code: 'validation_error' } }],
    [
      'vllm',
      "This model's maximum context length is 20000 tokens. However, your request has 20001 input tokens. Please reduce the length of the input messages.",
      { error: { type: 'BadRequestError', param: 'input_tokens', code: 400 } },
    ],
  ];

  it.each(worded)('of %s come with status 400 and its body', async (overLengthWording, words, body) => {
    serve({ overLengthWording });
    const content = 'x'.repeat(20_001);
    const refusal = async (path: string, request: object) => {
      const sent = JSON.stringify({ model: 'measured', ...request });
      const response = await fetch(`${sim.url}${path}`, { method: 'POST', body: sent });
      return { status: response.status, text: await response.text() };
    };
    const chat = await refusal('/v1/chat/completions', {
      messages: user(content),
      max_completion_tokens: 96,
    });
    expect(chat.status).toBe(400);
    expect(chat.text).toContain(JSON.stringify(words).slice(1, -1));
    expect(JSON.parse(chat.text)).toMatchObject(body);
    if (overLengthWording === 'openai') return;
    const request = { input: content, max_output_tokens: 96, stream: true };
    expect(await refusal('/v1/responses', request)).toEqual(chat);
  });

  it('of vllm name prompt and reply where only both together are too long', async () => {
    serve({ overLengthWording: 'vllm' });
    const body = { model: 'measured', messages: user('x'.repeat(19_900)), max_completion_tokens: 200 };
    expect((await refused(openai().chat.completions.create(body))).message).toContain(
      "your request has 19900 input tokens plus 200 'max_tokens'.",
    );
  });
});

describe('a cache that is not reported', () => {
  it('shows in no usage, and still saves its time', async () => {
    serve({ reportsCache: false });
    const content = 's'.repeat(3_000);
    const chat = async () =>
      (await openai().chat.completions.create({ model: 'measured', messages: user(content) })).usage;
    await chat();
    const usage = await chat();
    expect(usage?.prompt_tokens).toBe(3_000);
    expect(usage?.prompt_tokens_details).toBeUndefined();
    expect(sim.calls().at(-1)?.cachedTokens).toBe(3_000);
    const responses = async () =>
      (await openai().responses.create({ model: 'measured', input: content })).usage;
    await responses();
    expect((await responses())?.input_tokens_details.cached_tokens).toBe(0);
    const system = [{ type: 'text' as const, text: content, cache_control: { type: 'ephemeral' as const } }];
    const marked = async () =>
      (
        await anthropic().messages.create({
          model: 'measured',
          max_tokens: 50,
          system,
          messages: user('one'),
        })
      ).usage;
    await marked();
    expect(await marked()).toMatchObject({ input_tokens: 3_003, cache_read_input_tokens: null });
    const local = async () =>
      await new Ollama({ host: sim.url }).chat({ model: 'measured', messages: user(content) });
    const cold = await local();
    expect((await local()).prompt_eval_duration * 5).toBeLessThan(cold.prompt_eval_duration);
  });
});

describe('the served models', () => {
  const put = async (models: unknown) =>
    await fetch(`${sim.url}/sim/models`, { method: 'PUT', body: JSON.stringify(models) });

  it('are replaced while the server runs', async () => {
    const body = { model: 'measured', messages: user('x'.repeat(15_000)) };
    expect((await openai().chat.completions.create(body)).usage?.prompt_tokens).toBe(15_000);
    expect(
      (
        await put([
          { ...MODEL, window: 10_000 },
          { ...MODEL, name: 'second' },
        ])
      ).status,
    ).toBe(200);
    expect((await refused(openai().chat.completions.create(body))).message).toContain('10000 tokens');
    const listed = (await openai().models.list()).data.map((model) => model.id);
    expect(listed).toEqual(['measured', 'second']);
    expect(sim.banner).toContain('measured, second');
    sim.setModels([MODEL]);
    const again = await openai().chat.completions.create(body);
    expect(again.usage?.prompt_tokens_details?.cached_tokens).toBe(0);
  });

  it('are refused with the field that is wrong, and stay as they were', async () => {
    const cases: readonly [unknown, string][] = [
      [[{ ...MODEL, window: 0 }], '0.window'],
      [[MODEL, { ...MODEL, flipRate: 2 }], '1.flipRate'],
      [[{ ...MODEL, overLengthWording: 'loud' }], '0.overLengthWording'],
      [{ models: [] }, 'the body'],
      [[MODEL, MODEL], '1.name'],
    ];
    for (const [models, field] of cases) {
      const wrong = await put(models);
      expect(wrong.status).toBe(400);
      expect(await wrong.text()).toContain(`models refused at ${field}:`);
    }
    expect((await openai().models.list()).data).toHaveLength(1);
  });
});
