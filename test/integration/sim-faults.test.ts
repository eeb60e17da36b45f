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
    const wrong = await put([{ fault: { name: 'rate_limit' } }]);
    expect(wrong.status).toBe(400);
    expect(JSON.stringify(await wrong.json())).toContain('0.fault.retryAfterMs');
    await expect(viaOpenai()).rejects.toMatchObject({ status: 503 });
    expect((await put([])).status).toBe(200);
    expect((await viaOpenai()).object).toBe('chat.completion');
  });
});
