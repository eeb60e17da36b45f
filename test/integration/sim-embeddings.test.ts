import { Ollama } from 'ollama';
import OpenAI from 'openai';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EMBEDDING_DIMENSIONS, type Simulator, startSimulator } from '../../src/sim/index.ts';

const TEXTS = ['refund the payment', 'payments were refunded'];

let sim: Simulator;

beforeEach(async () => {
  sim = await startSimulator({ seed: 3 });
});

afterEach(async () => {
  await sim.close();
});

const openai = () => new OpenAI({ baseURL: `${sim.url}/v1`, apiKey: 'any', maxRetries: 0 });
const ollama = () => new Ollama({ host: sim.url });

describe('embeddings', () => {
  it('come as base64, which the OpenAI client asks for, with the numbers they have as floats', async () => {
    const decoded = await openai().embeddings.create({ model: 'sim-small', input: TEXTS });
    const floats = await openai().embeddings.create({
      model: 'sim-small',
      input: TEXTS,
      encoding_format: 'float',
    });
    expect(decoded.data.map((one) => one.index)).toEqual([0, 1]);
    for (const [at, { embedding }] of decoded.data.entries()) {
      expect(embedding).toHaveLength(EMBEDDING_DIMENSIONS);
      for (const [place, value] of embedding.entries()) {
        expect(value).toBeCloseTo(floats.data[at]?.embedding[place] ?? Number.NaN, 6);
      }
    }
    const bytes = TEXTS.map((text) => Math.ceil(text.length * 0.27));
    expect(decoded.usage.prompt_tokens).toBe((bytes[0] ?? 0) + (bytes[1] ?? 0));
  });

  it('are the same on both wires and of every model', async () => {
    const [one] = (await openai().embeddings.create({ model: 'sim-large', input: TEXTS[0] ?? '' })).data;
    const local = await ollama().embed({ model: 'sim-small', input: TEXTS });
    expect(local.embeddings).toHaveLength(2);
    expect(local.prompt_eval_count).toBeGreaterThan(0);
    for (const [at, value] of (local.embeddings[0] ?? []).entries()) {
      expect(value).toBeCloseTo(one?.embedding[at] ?? Number.NaN, 6);
    }
  });

  it('are refused in the words of the wire: no model, no text, too long a text', async () => {
    await expect(openai().embeddings.create({ model: 'nobody', input: 'x' })).rejects.toMatchObject({
      status: 404,
    });
    await expect(ollama().embed({ model: 'nobody', input: 'x' })).rejects.toThrow("model 'nobody' not found");
    for (const input of ['', [], [1, 2]]) {
      await expect(openai().embeddings.create({ model: 'sim-small', input })).rejects.toThrow(
        "'$.input' is invalid",
      );
    }
    const input = 'word '.repeat(8_000);
    await expect(openai().embeddings.create({ model: 'sim-small', input })).rejects.toThrow(
      "This model's maximum context length is 8192 tokens, however you requested 10800 tokens",
    );
    expect((await ollama().embed({ model: 'sim-small', input })).prompt_eval_count).toBe(8_192);
    await expect(ollama().embed({ model: 'sim-small', input, truncate: false })).rejects.toThrow(
      'the input length exceeds the context length',
    );
    await expect(
      openai().embeddings.create({ model: 'sim-small', input: 'x', dimensions: 8 }),
    ).rejects.toThrow('does not support specifying dimensions');
  });

  it('are not counted among the replies', async () => {
    await openai().embeddings.create({ model: 'sim-small', input: TEXTS });
    expect(sim.calls()).toEqual([]);
  });
});
