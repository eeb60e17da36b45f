import Anthropic from '@anthropic-ai/sdk';
import { Ollama } from 'ollama';
import OpenAI from 'openai';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Fault, type SimCall, type Simulator, startSimulator } from '../../src/sim/index.ts';

const MESSAGES = [{ role: 'user' as const, content: 'The gate code is 2299. What is the gate code?' }];

let sim: Simulator;

beforeEach(async () => {
  sim = await startSimulator({ seed: 3 });
});

afterEach(async () => {
  await sim.close();
});

const openai = () => new OpenAI({ baseURL: `${sim.url}/v1`, apiKey: 'any', maxRetries: 0 });
const anthropic = () => new Anthropic({ baseURL: sim.url, apiKey: 'any', maxRetries: 0 });
const ollama = () => new Ollama({ host: sim.url });

const once = (fault: Fault) => sim.setFaults([{ match: { count: 1 }, fault }]);
const viaOpenai = async (signal?: AbortSignal) =>
  await openai().chat.completions.create(
    { model: 'sim-small', messages: MESSAGES },
    signal ? { signal } : {},
  );
const viaAnthropic = async () =>
  await anthropic().messages.create({ model: 'sim-small', max_tokens: 100, messages: MESSAGES });
const viaOllama = async () => await ollama().chat({ model: 'sim-small', messages: MESSAGES });

async function drain(stream: AsyncIterable<unknown>): Promise<number> {
  let parts = 0;
  for await (const _ of stream) parts += 1;
  return parts;
}

/** The last call once it has ended: a broken connection is seen by both sides at their own time. */
async function lastEnded(): Promise<SimCall | undefined> {
  await vi.waitFor(() => expect(sim.calls().at(-1)?.state).toBe('ended'), { timeout: 10_000, interval: 5 });
  return sim.calls().at(-1);
}

describe('refusals', () => {
  const statuses: readonly [Fault, number, number, number][] = [
    [{ name: 'rate_limit', retryAfterMs: 1_500 }, 429, 429, 429],
    [{ name: 'overloaded' }, 503, 529, 503],
    [{ name: 'server_error' }, 500, 500, 500],
    [{ name: 'auth' }, 401, 401, 401],
    [{ name: 'over_length' }, 400, 400, 400],
  ];

  it.each(statuses)(
    '$name comes with the status of each wire and is logged by name',
    async (fault, one, two, three) => {
      sim.setFaults([{ fault }]);
      await expect(viaOpenai()).rejects.toMatchObject({ status: one });
      await expect(viaAnthropic()).rejects.toMatchObject({ status: two });
      await expect(viaOllama()).rejects.toMatchObject({ status_code: three });
      expect(sim.calls().map((call) => [call.outcome, call.status])).toEqual([
        [`fault:${fault.name}`, one],
        [`fault:${fault.name}`, two],
        [`fault:${fault.name}`, three],
      ]);
    },
  );

  it('rate limits tell when to come back', async () => {
    sim.setFaults([{ fault: { name: 'rate_limit', retryAfterMs: 1_500 } }]);
    const headers = async (work: Promise<unknown>) =>
      await work.catch((error: { headers: Headers }) => error.headers);
    const one = (await headers(viaOpenai())) as Headers;
    expect([one.get('retry-after'), one.get('retry-after-ms')]).toEqual(['2', '1500']);
    const two = (await headers(viaAnthropic())) as Headers;
    expect(two.get('retry-after')).toBe('2');
    expect(two.get('anthropic-ratelimit-requests-reset')).toMatch(/^\d{4}-.*Z$/);
  });
});

describe('a rate limit that tells nothing', () => {
  it('has no header that says when to come back, on any wire', async () => {
    sim.setFaults([{ fault: { name: 'rate_limit' } }]);
    for (const [path, body] of [
      ['/v1/chat/completions', { messages: MESSAGES }],
      ['/v1/responses', { input: MESSAGES }],
      ['/v1/messages', { messages: MESSAGES, max_tokens: 100 }],
      ['/api/chat', { messages: MESSAGES }],
    ] as const) {
      const sent = JSON.stringify({ model: 'sim-small', ...body });
      const response = await fetch(`${sim.url}${path}`, { method: 'POST', body: sent });
      expect(response.status).toBe(429);
      const names = [...response.headers.keys()];
      expect(names.filter((name) => /retry|ratelimit/.test(name))).toEqual([]);
      expect(await response.text()).not.toContain('try again in');
    }
  });
});

describe('call ids', () => {
  const schema = { type: 'object' as const, properties: { path: { type: 'string' } }, required: ['path'] };
  const parameters = { ...schema };
  const description = 'Returns the contents of one file.';
  const both = 'Compare a.md with b.md.';
  const chat = async (messages: OpenAI.ChatCompletionMessageParam[]) => {
    const tool = { type: 'function' as const, function: { name: 'fetch_file', description, parameters } };
    const done = await openai().chat.completions.create({ model: 'sim-large', messages, tools: [tool] });
    return (done.choices[0]?.message.tool_calls ?? []).map((call) => call.id);
  };
  const responses = async (input: OpenAI.Responses.ResponseInput) => {
    const tool = { type: 'function' as const, name: 'fetch_file', description, parameters, strict: false };
    const done = await openai().responses.create({ model: 'sim-large', input, tools: [tool] });
    return done.output.flatMap((item) => (item.type === 'function_call' ? [item.call_id] : []));
  };
  const messages = async (said: Anthropic.MessageParam[]) => {
    const tools = [{ name: 'fetch_file', description, input_schema: schema }];
    const done = await anthropic().messages.create({
      model: 'sim-large',
      max_tokens: 500,
      messages: said,
      tools,
    });
    return done.content.flatMap((block) => (block.type === 'tool_use' ? [block.id] : []));
  };
  const idsOfEachWire = async (content: string) => [
    await chat([{ role: 'user', content }]),
    await responses([{ role: 'user', content }]),
    await messages([{ role: 'user', content }]),
  ];

  it('are all different without a fault', async () => {
    for (const ids of await idsOfEachWire(both)) expect(new Set(ids).size).toBe(2);
  });

  it('are shared by two calls of a reply under duplicate_call_ids', async () => {
    sim.setFaults([{ fault: { name: 'duplicate_call_ids' } }]);
    for (const ids of await idsOfEachWire(both)) {
      expect(ids).toHaveLength(2);
      expect(new Set(ids).size).toBe(1);
    }
    const three = await chat([{ role: 'user', content: 'Compare a.md, b.md and c.md.' }]);
    expect([three.length, new Set(three).size]).toEqual([3, 2]);
  });

  it('repeat the last reply where a reply has a single call, or start anew', async () => {
    sim.setFaults([{ fault: { name: 'duplicate_call_ids' } }]);
    for (const ids of await idsOfEachWire('Read a.md.')) expect(ids).toEqual(['call_0']);
    const call = { id: 'call_of_before', type: 'function' as const };
    const made = { ...call, function: { name: 'fetch_file', arguments: '{"path":"a.md"}' } };
    const again = await chat([
      { role: 'user', content: 'Read a.md.' },
      { role: 'assistant', content: null, tool_calls: [made] },
      { role: 'tool', tool_call_id: call.id, content: 'Nothing.' },
      { role: 'user', content: 'Read b.md.' },
    ]);
    expect(again).toEqual(['call_of_before']);
  });

  it('are empty under missing_call_ids', async () => {
    sim.setFaults([{ fault: { name: 'missing_call_ids' } }]);
    for (const ids of await idsOfEachWire(both)) expect(ids).toEqual(['', '']);
    expect(sim.calls().map((one) => one.outcome)).toContain('fault:missing_call_ids');
  });
});

describe('broken replies', () => {
  it('bad_json cannot be parsed, whole or streamed', async () => {
    sim.setFaults([{ fault: { name: 'bad_json' } }]);
    await expect(viaOpenai()).rejects.toThrow();
    await expect(viaAnthropic()).rejects.toThrow();
    await expect(viaOllama()).rejects.toThrow();
    const silent = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const stream = await openai().chat.completions.create({
      model: 'sim-small',
      messages: MESSAGES,
      stream: true,
    });
    await expect(drain(stream)).rejects.toThrow();
    const events = anthropic().messages.stream({ model: 'sim-small', max_tokens: 100, messages: MESSAGES });
    await expect(events.finalMessage()).rejects.toThrow();
    silent.mockRestore();
  });

  it('cut_stream ends the body after so many bytes', async () => {
    for (const afterBytes of [0, 1, 300]) {
      once({ name: 'cut_stream', afterBytes });
      const response = await fetch(`${sim.url}/v1/messages`, {
        method: 'POST',
        body: JSON.stringify({ model: 'sim-small', max_tokens: 100, messages: MESSAGES, stream: true }),
      });
      let bytes = 0;
      const read = async () => {
        for await (const chunk of response.body ?? []) bytes += (chunk as Uint8Array).length;
      };
      await expect(read()).rejects.toThrow();
      expect(bytes).toBe(afterBytes);
      expect(await lastEnded()).toMatchObject({ outcome: 'fault:cut_stream', status: 200 });
    }
  });

  it('drop_connection ends before any answer', async () => {
    once({ name: 'drop_connection' });
    await expect(viaOpenai()).rejects.toThrow(OpenAI.APIConnectionError);
    expect(await lastEnded()).toMatchObject({ outcome: 'fault:drop_connection', status: null });
    expect((await viaOpenai()).choices[0]?.message.content).toContain('2299');
  });

  it('empty holds thinking and no word', async () => {
    sim.setFaults([{ fault: { name: 'empty' } }]);
    const one = await viaOpenai();
    expect(one.choices[0]?.message.content).toBeNull();
    expect(one.usage?.completion_tokens_details?.reasoning_tokens).toBeGreaterThan(0);
    expect((await viaAnthropic()).content.map((block) => block.type)).toEqual(['thinking']);
    expect((await viaOllama()).message).toMatchObject({ content: '', thinking: expect.any(String) });
  });

  it('malformed_tool_args breaks the arguments of a call', async () => {
    once({ name: 'malformed_tool_args' });
    const tool = {
      name: 'fetch_file',
      parameters: { type: 'object', properties: { path: { type: 'string' } } },
    };
    const done = await openai().chat.completions.create({
      model: 'sim-small',
      messages: [{ role: 'user', content: 'Read pond.md.' }],
      tools: [{ type: 'function', function: tool }],
    });
    const call = done.choices[0]?.message.tool_calls?.[0];
    const text = call?.type === 'function' ? call.function.arguments : '{}';
    expect(() => JSON.parse(text)).toThrow(SyntaxError);
  });

  it('unknown_finish names a reason no SDK lists', async () => {
    sim.setFaults([{ fault: { name: 'unknown_finish' } }]);
    expect((await viaOpenai()).choices[0]?.finish_reason).toBe('simulated_unlisted_reason');
    expect((await viaAnthropic()).stop_reason).toBe('simulated_unlisted_reason');
    expect((await viaOllama()).done_reason).toBe('simulated_unlisted_reason');
  });
});

describe('waiting', () => {
  it('hang answers nothing, shows the call as open, and ends when the client leaves', async () => {
    once({ name: 'hang' });
    const leaving = new AbortController();
    const asked = viaOpenai(leaving.signal);
    const settled = expect(asked).rejects.toThrow(OpenAI.APIUserAbortError);
    await vi.waitFor(() => expect(sim.calls().at(-1)?.state).toBe('open'), { timeout: 10_000, interval: 5 });
    leaving.abort();
    await settled;
    expect(await lastEnded()).toMatchObject({ outcome: 'fault:hang', status: null });
  });

  it('hang ends when the simulator closes', async () => {
    once({ name: 'hang' });
    const settled = expect(viaOpenai()).rejects.toThrow(OpenAI.APIConnectionError);
    await vi.waitFor(() => expect(sim.calls()).toHaveLength(1), { timeout: 10_000, interval: 5 });
    await sim.close();
    await settled;
    expect(sim.calls()[0]).toMatchObject({ state: 'ended', outcome: 'fault:hang' });
  });

  it('slow answers after its delay', async () => {
    once({ name: 'slow', delayMs: 50 });
    const startMs = performance.now();
    expect((await viaOpenai()).choices[0]?.message.content).toContain('2299');
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(49);
    expect(sim.calls()[0]?.outcome).toBe('fault:slow');
  });

  it('a client that leaves a paced stream is logged as aborted', async () => {
    await sim.close();
    sim = await startSimulator({ seed: 3, speed: 'real' });
    const stream = await openai().chat.completions.create({
      model: 'sim-small',
      messages: MESSAGES,
      stream: true,
    });
    for await (const chunk of stream) {
      if (chunk.choices[0]?.delta.content) break;
    }
    expect(await lastEnded()).toMatchObject({ outcome: 'aborted', status: 200 });
  });
});

describe('rules', () => {
  it('choose by wire, model, call number, count and order', async () => {
    sim.setFaults([
      { match: { wire: 'anthropic' }, fault: { name: 'overloaded' } },
      { match: { model: 'sim-large' }, fault: { name: 'auth' } },
      { match: { fromCall: 3, count: 1 }, fault: { name: 'server_error' } },
    ]);
    await viaOpenai();
    await viaAnthropic().catch(() => undefined);
    await viaOpenai().catch(() => undefined);
    await viaOpenai();
    await openai()
      .chat.completions.create({ model: 'sim-large', messages: MESSAGES })
      .catch(() => undefined);
    expect(sim.calls().map((call) => call.outcome)).toEqual([
      'answered',
      'fault:overloaded',
      'fault:server_error',
      'answered',
      'fault:auth',
    ]);
  });

  it('fire by seeded chance: the same for the same seed', async () => {
    const rules = [{ match: { probability: 0.5 }, fault: { name: 'server_error' } }] as const;
    const outcomes = async (seed: number) => {
      const own = await startSimulator({ seed, faults: rules });
      const body = JSON.stringify({ model: 'sim-small', messages: MESSAGES });
      for (let at = 0; at < 40; at += 1) {
        await (await fetch(`${own.url}/v1/chat/completions`, { method: 'POST', body })).text();
      }
      await own.close();
      return own.calls().map((call) => call.outcome);
    };
    const first = await outcomes(11);
    expect(await outcomes(11)).toEqual(first);
    expect(await outcomes(12)).not.toEqual(first);
    expect(first).toContain('answered');
    expect(first).toContain('fault:server_error');
  });

  it('are set over HTTP, and refused with the field that is wrong', async () => {
    const put = async (rules: unknown) =>
      await fetch(`${sim.url}/sim/faults`, { method: 'PUT', body: JSON.stringify(rules) });
    expect((await put([{ fault: { name: 'overloaded' } }])).status).toBe(200);
    await expect(viaOpenai()).rejects.toMatchObject({ status: 503 });
    const wrong = await put([{ fault: { name: 'slow' } }]);
    expect(wrong.status).toBe(400);
    expect(JSON.stringify(await wrong.json())).toContain('0.fault.delayMs');
    await expect(viaOpenai()).rejects.toMatchObject({ status: 503 });
    expect((await put([])).status).toBe(200);
    expect((await viaOpenai()).object).toBe('chat.completion');
  });
});
