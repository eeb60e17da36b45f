import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Anthropic from '@anthropic-ai/sdk';
import { Ollama, type Tool as OllamaTool } from 'ollama';
import OpenAI from 'openai';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type SimCall, type Simulator, startSimulator } from '../../src/sim/index.ts';

const QUESTION = 'In pond.md, what is the depth of the pond?';
const FACT = 'The depth of the pond is 317 cm.';
const SCHEMA = {
  type: 'object' as const,
  properties: { path: { type: 'string', description: 'Path of the file.' } },
  required: ['path'],
};
const ABOUT = 'Returns the contents of one file.';

let sim: Simulator;
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sim-'));
  sim = await startSimulator({ seed: 3, callLog: join(folder, 'calls.jsonl') });
});

afterEach(async () => {
  await sim.close();
  await rm(folder, { recursive: true });
});

describe('the OpenAI wire', () => {
  const client = () => new OpenAI({ baseURL: `${sim.url}/v1`, apiKey: 'any', maxRetries: 0 });
  const tools: OpenAI.ChatCompletionTool[] = [
    { type: 'function', function: { name: 'fetch_file', description: ABOUT, parameters: SCHEMA } },
  ];

  it('holds a tool-using turn without streaming', async () => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: QUESTION }];
    const first = await client().chat.completions.create({ model: 'sim-large', messages, tools });
    const call = first.choices[0]?.message.tool_calls?.[0];
    expect(first.choices[0]?.finish_reason).toBe('tool_calls');
    expect(call).toMatchObject({ function: { name: 'fetch_file', arguments: '{"path":"pond.md"}' } });
    const assistant = first.choices[0]?.message;
    if (call === undefined || assistant === undefined) throw new Error('no call came');
    messages.push(assistant, { role: 'tool', tool_call_id: call.id, content: FACT });
    const second = await client().chat.completions.create({ model: 'sim-large', messages, tools });
    expect(second.choices[0]?.finish_reason).toBe('stop');
    expect(second.choices[0]?.message.content).toContain('317');
    expect(second.usage?.prompt_tokens_details?.cached_tokens).toBe(first.usage?.prompt_tokens);
  });

  it('streams the same text in several deltas and reports usage last when asked', async () => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: 'user', content: FACT },
      { role: 'assistant', content: 'Noted.' },
      { role: 'user', content: 'What is the depth of the pond?' },
    ];
    const whole = await client().chat.completions.create({ model: 'sim-small', messages });
    const stream = await client().chat.completions.create({
      model: 'sim-small',
      messages,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks: OpenAI.ChatCompletionChunk[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    const deltas = chunks.flatMap((chunk) => chunk.choices[0]?.delta.content || []);
    expect(deltas.length).toBeGreaterThan(1);
    expect(deltas.join('')).toBe(whole.choices[0]?.message.content);
    expect(chunks.at(-1)?.choices).toEqual([]);
    expect(chunks.at(-1)?.usage?.prompt_tokens).toBe(whole.usage?.prompt_tokens);
  });

  it('streams tool calls that the SDK assembles', async () => {
    const stream = client().chat.completions.stream({
      model: 'sim-large',
      messages: [{ role: 'user', content: 'Compare a.md with b.md.' }],
      tools,
    });
    const done = await stream.finalChatCompletion();
    const calls = done.choices[0]?.message.tool_calls?.map((call) => call.function.arguments);
    expect(calls).toEqual(['{"path":"a.md"}', '{"path":"b.md"}']);
  });

  it('lists its models as simulated', async () => {
    const page = await client().models.list();
    expect(page.data.map((model) => model.id)).toEqual(['sim-small', 'sim-large']);
    const response = await client().models.retrieve('sim-small').asResponse();
    expect(response.headers.get('x-simulated')).toBe('true');
    expect(await response.json()).toMatchObject({ id: 'sim-small', owned_by: 'simulation' });
    await expect(client().models.retrieve('nobody')).rejects.toThrow(OpenAI.NotFoundError);
  });
});

describe('the Anthropic wire', () => {
  const client = () => new Anthropic({ baseURL: sim.url, apiKey: 'any', maxRetries: 0 });
  const tools: Anthropic.Tool[] = [{ name: 'fetch_file', description: ABOUT, input_schema: SCHEMA }];
  const base = { model: 'sim-large', max_tokens: 2_000, tools } as const;

  it('holds a tool-using turn, streaming, with signed thinking sent back as it came', async () => {
    const thinking = { type: 'enabled', budget_tokens: 1_024 } as const;
    const messages: Anthropic.MessageParam[] = [{ role: 'user', content: QUESTION }];
    const first = await client()
      .messages.stream({ ...base, thinking, messages })
      .finalMessage();
    expect(first.content.map((block) => block.type)).toEqual(['thinking', 'tool_use']);
    expect(first.stop_reason).toBe('tool_use');
    const call = first.content.find((block) => block.type === 'tool_use');
    if (call === undefined) throw new Error('no call came');
    expect(call.input).toEqual({ path: 'pond.md' });
    messages.push(
      { role: 'assistant', content: first.content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: FACT }] },
    );
    const second = await client()
      .messages.stream({ ...base, thinking, messages })
      .finalMessage();
    expect(second.stop_reason).toBe('end_turn');
    expect(second.content.find((block) => block.type === 'text')?.text).toContain('317');
  });

  it('gives the same text without streaming', async () => {
    const messages: Anthropic.MessageParam[] = [
      { role: 'user', content: `${FACT} Now, what is the depth of the pond?` },
    ];
    const streamed = await client()
      .messages.stream({ ...base, tools: [], messages })
      .finalMessage();
    const whole = await client().messages.create({ ...base, tools: [], messages });
    expect(whole.content).toEqual(streamed.content);
    expect(whole.usage.output_tokens).toBe(streamed.usage.output_tokens);
    expect(whole.usage.output_tokens).toBeGreaterThan(0);
  });

  it('describes a model with its window', async () => {
    expect(await client().models.retrieve('sim-small')).toMatchObject({
      type: 'model',
      max_input_tokens: 8_192,
      max_tokens: 1_024,
    });
  });
});

describe('the Ollama wire', () => {
  const client = () => new Ollama({ host: sim.url });
  const tools: OllamaTool[] = [
    { type: 'function', function: { name: 'fetch_file', description: ABOUT, parameters: SCHEMA } },
  ];

  it('holds a tool-using turn, streaming and not', async () => {
    const messages = [{ role: 'user', content: QUESTION }];
    const first = await client().chat({ model: 'sim-small', messages, tools });
    expect(first.message.tool_calls).toEqual([
      { function: { name: 'fetch_file', arguments: { path: 'pond.md' } } },
    ]);
    const after = [...messages, first.message, { role: 'tool', tool_name: 'fetch_file', content: FACT }];
    const whole = await client().chat({ model: 'sim-small', messages: after, tools });
    let text = '';
    let lines = 0;
    let done = '';
    for await (const part of await client().chat({
      model: 'sim-small',
      messages: after,
      tools,
      stream: true,
    })) {
      text += part.message.content;
      lines += 1;
      if (part.done) done = part.done_reason;
    }
    expect(text).toBe(whole.message.content);
    expect(text).toContain('317');
    expect(lines).toBeGreaterThan(2);
    expect(done).toBe('stop');
  });

  it('times the prefill by what its cache did not hold', async () => {
    const messages = [{ role: 'user', content: 'Stone. '.repeat(400) }];
    const cold = await client().chat({ model: 'sim-small', messages });
    const warm = await client().chat({ model: 'sim-small', messages });
    expect(warm.prompt_eval_count).toBe(cold.prompt_eval_count);
    expect(cold.prompt_eval_duration).toBe(Math.round((cold.prompt_eval_count / 1_500) * 1e9));
    expect(warm.prompt_eval_duration * 5).toBeLessThan(cold.prompt_eval_duration);
  });

  it('describes a model with its window and quantisation', async () => {
    const shown = await client().show({ model: 'sim-small' });
    expect(shown.details.quantization_level).toBe('Q4_K_M');
    expect(shown.model_info).toMatchObject({ 'simulated.context_length': 8_192 });
    expect((await client().list()).models.map((model) => model.name)).toEqual(['sim-small', 'sim-large']);
    expect((await client().version()).version).toContain('simulated');
    await expect(client().show({ model: 'nobody' })).rejects.toThrow("model 'nobody' not found");
  });
});

describe('pictures', () => {
  const png = Buffer.from('89504e470d0a1a0a0000000d49484452000000400000003008060000', 'hex').toString(
    'base64',
  );
  const asked = 'What are the dimensions of the image?';

  it('are read on every wire and refused by a model without sight', async () => {
    const openai = new OpenAI({ baseURL: `${sim.url}/v1`, apiKey: 'any', maxRetries: 0 });
    const content: OpenAI.ChatCompletionContentPart[] = [
      { type: 'text', text: asked },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } },
    ];
    const one = await openai.chat.completions.create({
      model: 'sim-large',
      messages: [{ role: 'user', content }],
    });
    expect(one.choices[0]?.message.content).toContain('64 pixels wide');
    const anthropic = new Anthropic({ baseURL: sim.url, apiKey: 'any', maxRetries: 0 });
    const source = { type: 'base64', media_type: 'image/png', data: png } as const;
    const two = await anthropic.messages.create({
      model: 'sim-large',
      max_tokens: 100,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', source },
            { type: 'text', text: asked },
          ],
        },
      ],
    });
    expect(two.content[0]).toMatchObject({ type: 'text', text: expect.stringContaining('64 pixels wide') });
    const ollama = new Ollama({ host: sim.url });
    const messages = [{ role: 'user', content: asked, images: [png] }];
    expect((await ollama.chat({ model: 'sim-large', messages })).message.content).toContain('64 pixels wide');
    await expect(ollama.chat({ model: 'sim-small', messages })).rejects.toThrow(
      'does not support image input',
    );
  });
});

describe('the call log', () => {
  it('holds each call with its counts, the same in memory, over HTTP and in the file', async () => {
    const client = new OpenAI({ baseURL: `${sim.url}/v1`, apiKey: 'any', maxRetries: 0 });
    const body = { model: 'sim-small', messages: [{ role: 'user' as const, content: FACT }] };
    const done = await client.chat.completions.create(body);
    await client.chat.completions.create(body);
    const calls = sim.calls();
    expect(calls).toHaveLength(2);
    expect(calls[0]).toMatchObject({
      n: 1,
      wire: 'openai',
      model: 'sim-small',
      promptTokens: done.usage?.prompt_tokens,
      outputTokens: done.usage?.completion_tokens,
      state: 'ended',
      outcome: 'answered',
      status: 200,
    });
    expect(calls[1]?.requestDigest).toBe(calls[0]?.requestDigest);
    expect(calls[0]?.requestDigest).toMatch(/^[0-9a-f]{64}$/);
    const served = (await (await fetch(`${sim.url}/sim/calls`)).json()) as { calls: SimCall[] };
    expect(served.calls).toEqual(calls);
    const lines = (await readFile(join(folder, 'calls.jsonl'), 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as SimCall);
    expect(lines.map((line) => [line.n, line.state])).toEqual([
      [1, 'open'],
      [1, 'ended'],
      [2, 'open'],
      [2, 'ended'],
    ]);
    expect(lines[1]).toEqual(calls[0]);
  });

  it('counts prompt tokens as bytes of content and schemas times the ratio of the model', async () => {
    const client = new Anthropic({ baseURL: sim.url, apiKey: 'any', maxRetries: 0 });
    const done = await client.messages.create({
      model: 'sim-small',
      max_tokens: 10,
      system: 'Sé breve.',
      tools: [{ name: 'fetch_file', description: ABOUT, input_schema: SCHEMA }],
      messages: [{ role: 'user', content: 'Näher.' }],
    });
    const bytes = Buffer.byteLength(`fetch_file${ABOUT}${JSON.stringify(SCHEMA)}Sé breve.Näher.`);
    expect(done.usage.input_tokens).toBe(Math.ceil(bytes * 0.27));
  });
});

describe('its life', () => {
  it('says of itself that it is a simulation, and answers unknown routes', async () => {
    expect(sim.banner).toMatch(/^SIMULATION at http:\/\/127\.0\.0\.1:\d+: sim-small, sim-large/);
    const health = await fetch(`${sim.url}/sim/healthz`);
    expect(health.headers.get('x-simulated')).toBe('true');
    expect(await health.json()).toMatchObject({ status: 'ok' });
    expect((await fetch(`${sim.url}/v2/else`)).status).toBe(404);
  });

  it('closes twice without harm and frees its port', async () => {
    const port = Number(new URL(sim.url).port);
    await Promise.all([sim.close(), sim.close()]);
    const next = await startSimulator({ seed: 1, port });
    expect(next.url).toBe(sim.url);
    await next.close();
  });
});
