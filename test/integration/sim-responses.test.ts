import OpenAI from 'openai';
import type {
  FunctionTool,
  Response,
  ResponseCreateParamsNonStreaming,
  ResponseInput,
  ResponseStreamEvent,
} from 'openai/resources/responses/responses';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type SimModel, type Simulator, startSimulator } from '../../src/sim/index.ts';

const QUESTION = 'In pond.md, what is the depth of the pond?';
const FACT = 'The depth of the pond is 317 cm.';
const TOOL: FunctionTool = {
  type: 'function',
  name: 'fetch_file',
  description: 'Returns the contents of one file.',
  parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  strict: false,
};
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
  supportsImages: true,
};
const SEALED = { include: ['reasoning.encrypted_content' as const], store: false };

let sim: Simulator;

beforeEach(async () => {
  sim = await startSimulator({ seed: 3, models: [MODEL] });
});

afterEach(async () => {
  await sim.close();
});

type More = Omit<Partial<ResponseCreateParamsNonStreaming>, 'stream'>;

const client = () => new OpenAI({ baseURL: `${sim.url}/v1`, apiKey: 'any', maxRetries: 0 });

async function ask(input: string | ResponseInput, more: More = {}): Promise<Response> {
  return await client().responses.create({ model: 'measured', input, tools: [TOOL], ...more });
}

async function eventsOf(
  input: string | ResponseInput,
  more: More = {},
): Promise<readonly ResponseStreamEvent[]> {
  const body = { model: 'measured', input, tools: [TOOL], ...more, stream: true as const };
  const events: ResponseStreamEvent[] = [];
  for await (const event of await client().responses.create(body)) events.push(event);
  return events;
}

/** The error a promise rejects with. */
async function refused(work: Promise<unknown>): Promise<{ message: string; status?: number; code?: string }> {
  return await work.then(
    () => {
      throw new Error('the call was answered');
    },
    (error: { message: string; status?: number; code?: string }) => error,
  );
}

function callIn(response: Response) {
  const call = response.output.find((item) => item.type === 'function_call');
  if (call === undefined) throw new Error('no call came');
  return call;
}

function reasoningIn(response: Response) {
  const item = response.output.find((one) => one.type === 'reasoning');
  if (item === undefined) throw new Error('no reasoning came');
  return item;
}

const outputOf = (call: { readonly call_id: string }, output = FACT) =>
  ({ type: 'function_call_output', call_id: call.call_id, output }) as const;

describe('a reply on the Responses wire', () => {
  it('holds a tool-using turn whose items are sent back as they came', async () => {
    const first = await ask(QUESTION);
    const call = callIn(first);
    expect(call).toMatchObject({ name: 'fetch_file', arguments: '{"path":"pond.md"}', status: 'completed' });
    const input: ResponseInput = [{ role: 'user', content: QUESTION }, call, outputOf(call)];
    const second = await ask(input, { store: false });
    expect(second.output_text).toContain('317');
    expect(second.status).toBe('completed');
    expect(second.usage?.input_tokens_details.cached_tokens).toBe(first.usage?.input_tokens);
    expect(sim.calls().map((one) => [one.wire, one.outcome])).toEqual([
      ['openai-responses', 'answered'],
      ['openai-responses', 'answered'],
    ]);
  });

  it('streams a text in numbered events that the SDK assembles into the whole reply', async () => {
    const said = `${FACT} What is the depth of the pond?`;
    const whole = await ask(said, { tools: [] });
    const events = await eventsOf(said, { tools: [] });
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, at) => at));
    const deltas = events.flatMap((event) =>
      event.type === 'response.output_text.delta' ? [event.delta] : [],
    );
    expect(deltas.length).toBeGreaterThan(1);
    expect(deltas.join('')).toBe(whole.output_text);
    expect(events.map((event) => event.type).filter((type) => !type.endsWith('delta'))).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    const stream = client().responses.stream({ model: 'measured', input: said });
    const final = await stream.finalResponse();
    expect(final.output_text).toBe(whole.output_text);
    expect(final.usage?.output_tokens).toBe(whole.usage?.output_tokens);
  });

  it('streams calls with their arguments in pieces', async () => {
    const events = await eventsOf('Compare a.md with b.md.');
    const text = events.map((event) =>
      event.type === 'response.function_call_arguments.delta' ? event.delta : '',
    );
    expect(text.join('')).toBe('{"path":"a.md"}{"path":"b.md"}');
    const done = events.filter((event) => event.type === 'response.function_call_arguments.done');
    expect(done.map((event) => [event.name, event.arguments])).toEqual([
      ['fetch_file', '{"path":"a.md"}'],
      ['fetch_file', '{"path":"b.md"}'],
    ]);
    const added = events.filter((event) => event.type === 'response.output_item.added');
    expect(new Set(added.map((event) => event.item.id)).size).toBe(2);
  });

  it('gives every call ids of its own, for the same request too', async () => {
    const one = await ask(QUESTION);
    const two = await ask(QUESTION);
    expect(one.id).toMatch(/^resp_/);
    expect(callIn(one).id).toMatch(/^fc_/);
    expect(callIn(one).call_id).toMatch(/^call_/);
    expect(new Set([one.id, two.id, callIn(one).call_id, callIn(two).call_id]).size).toBe(4);
  });

  it('is incomplete, with the reason, where the limit cut it', async () => {
    const long = `The gate is ${'very '.repeat(40)}old. What is the gate like?`;
    const cut = await ask(long, { max_output_tokens: 20 });
    expect(cut).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
    expect(cut.usage?.output_tokens).toBe(20);
    const last = (await eventsOf(long, { max_output_tokens: 20 })).at(-1);
    expect(last?.type).toBe('response.incomplete');
  });

  it('counts instructions, tools and text, and steers tools as told', async () => {
    const bytes = Buffer.byteLength(
      `fetch_file${TOOL.description}${JSON.stringify(TOOL.parameters)}Be brief.${QUESTION}`,
    );
    const plain = await ask(QUESTION, { instructions: 'Be brief.', tool_choice: 'none' });
    expect(plain.usage?.input_tokens).toBe(bytes);
    expect(plain.output.every((item) => item.type === 'message')).toBe(true);
    const forced = await ask('Hello.', { tool_choice: { type: 'function', name: 'fetch_file' } });
    expect(callIn(forced).name).toBe('fetch_file');
    const serial = await ask('Compare a.md with b.md.', { parallel_tool_calls: false });
    expect(serial.output).toHaveLength(1);
  });

  it('reads pictures', async () => {
    const png = Buffer.from('89504e470d0a1a0a0000000d49484452000000400000003008060000', 'hex');
    const image_url = `data:image/png;base64,${png.toString('base64')}`;
    const content = [
      { type: 'input_text', text: 'What are the dimensions of the image?' },
      { type: 'input_image', image_url, detail: 'auto' },
    ] as const;
    const input: ResponseInput = [{ role: 'user', content: [...content] }];
    expect((await ask(input, { tools: [] })).output_text).toContain('64 pixels wide');
  });
});

describe('a reply that is stored', () => {
  it('is continued by its id: the prompt is what was said before and what is new', async () => {
    const first = await ask(QUESTION, { instructions: 'Be brief.' });
    const second = await ask([outputOf(callIn(first))], {
      previous_response_id: first.id,
      instructions: 'Be brief.',
    });
    expect(second.output_text).toContain('317');
    expect(second.previous_response_id).toBe(first.id);
    const whole: ResponseInput = [
      { role: 'user', content: QUESTION },
      callIn(first),
      outputOf(callIn(first)),
    ];
    const sent = await ask(whole, { instructions: 'Be brief.', store: false });
    expect(sent.usage?.input_tokens).toBe(second.usage?.input_tokens);
    const third = await ask('And again, what is the depth of the pond?', {
      previous_response_id: second.id,
      instructions: 'Be brief.',
    });
    expect(third.output_text).toContain('317');
    expect(third.usage?.input_tokens_details.cached_tokens).toBe(second.usage?.input_tokens);
  });

  it('does not pass its instructions on', async () => {
    const first = await ask('Hello.', { instructions: 'x'.repeat(500), tools: [] });
    const second = await ask('Hello.', { previous_response_id: first.id, tools: [] });
    expect(second.usage?.input_tokens).toBeLessThan(200);
  });

  it('is unknown when it was not stored, in the words of the API', async () => {
    const unstored = await ask('Hello.', { store: false });
    for (const id of [unstored.id, 'resp_nobody']) {
      const error = await refused(ask('And?', { previous_response_id: id }));
      expect(error).toMatchObject({ status: 400, code: 'previous_response_not_found' });
      expect(error).toMatchObject({ param: 'previous_response_id', type: 'invalid_request_error' });
      expect(error.message).toContain(`Previous response with id '${id}' not found.`);
    }
  });
});

describe('the rules of items', () => {
  it('let no output stand without its call and no call without its output', async () => {
    const call = { type: 'function_call', call_id: 'call_1', name: 'go', arguments: '{}' } as const;
    const user = { role: 'user', content: 'Go.' } as const;
    const orphan = await refused(ask([user, outputOf(call)]));
    expect(orphan).toMatchObject({ status: 400, param: 'input' });
    expect(orphan.message).toContain('No tool call found for function call output with call_id call_1.');
    expect((await refused(ask([user, outputOf(call), call]))).message).toContain('No tool call found');
    const open = await refused(ask([user, call, user]));
    expect(open.message).toContain('No tool output found for function call call_1.');
    expect((await ask([user, call, outputOf(call)])).object).toBe('response');
  });

  it('hold for what is continued, too', async () => {
    const first = await ask(QUESTION);
    const error = await refused(ask('Never mind.', { previous_response_id: first.id }));
    expect(error.message).toContain(`No tool output found for function call ${callIn(first).call_id}.`);
  });
});

describe('reasoning', () => {
  const user = { role: 'user', content: QUESTION } as const;

  it('is an item of its own, with a summary and a sealed text where they are asked for', async () => {
    const bare = reasoningIn(await ask(QUESTION, { reasoning: { effort: 'low' } }));
    expect(bare).toMatchObject({ type: 'reasoning', summary: [] });
    expect(bare).not.toHaveProperty('encrypted_content');
    const full = await ask(QUESTION, { ...SEALED, reasoning: { summary: 'auto' } });
    expect(reasoningIn(full).summary[0]?.text).toMatch(/\w+/);
    expect(reasoningIn(full).encrypted_content).toMatch(/^gAAAA/);
    expect(full.usage?.output_tokens_details.reasoning_tokens).toBeGreaterThan(0);
    expect((await ask(QUESTION)).output.map((item) => item.type)).toEqual(['function_call']);
  });

  it('streams its summary, and its sealed text with the finished item only', async () => {
    const events = await eventsOf(QUESTION, { ...SEALED, reasoning: { summary: 'auto' } });
    const deltas = events.map((event) =>
      event.type === 'response.reasoning_summary_text.delta' ? event.delta : '',
    );
    const done = events.find((event) => event.type === 'response.reasoning_summary_text.done');
    expect(deltas.join('')).toBe(done?.text);
    const items = events.flatMap((event) =>
      event.type === 'response.output_item.added' || event.type === 'response.output_item.done'
        ? [event.item]
        : [],
    );
    const sealed = items.filter((item) => item.type === 'reasoning').map((item) => item.encrypted_content);
    expect(sealed).toEqual([undefined, expect.stringMatching(/^gAAAA/)]);
  });

  it('comes back sealed as it was issued, or is refused', async () => {
    const first = await ask(QUESTION, SEALED);
    const item = reasoningIn(first);
    const sealed = item.encrypted_content ?? '';
    const rest = [callIn(first), outputOf(callIn(first))];
    expect((await ask([user, item, ...rest], SEALED)).output_text).toContain('317');
    const changed = `${sealed.slice(0, 10)}${sealed[10] === 'x' ? 'y' : 'x'}${sealed.slice(11)}`;
    const error = await refused(ask([user, { ...item, encrypted_content: changed }, ...rest], SEALED));
    expect(error).toMatchObject({ status: 400, code: 'invalid_encrypted_content' });
    expect(error.message).toContain('could not be verified');
    expect((await ask([user, ...rest], SEALED)).output_text).toContain('317');
    const other = await startSimulator({ seed: 4, models: [MODEL] });
    const elsewhere = new OpenAI({ baseURL: `${other.url}/v1`, apiKey: 'any', maxRetries: 0 });
    const foreign = elsewhere.responses.create({ model: 'measured', input: [user, item, ...rest] });
    expect(await refused(foreign)).toMatchObject({ code: 'invalid_encrypted_content' });
    await other.close();
  });

  it('may come back by its id alone when its reply was stored', async () => {
    const reasoning = { effort: 'low' } as const;
    const kept = await ask(QUESTION, { reasoning });
    const lost = await ask(QUESTION, { reasoning, store: false });
    const back = (from: Response) => {
      const { encrypted_content: _, ...named } = reasoningIn(from);
      return ask([user, named, callIn(from), outputOf(callIn(from))], { reasoning });
    };
    expect((await back(kept)).output_text).toContain('317');
    const error = await refused(back(lost));
    expect(error.status).toBe(404);
    expect(error.message).toContain('Items are not persisted when `store` is set to false.');
  });

  it('does not stand without what it led to', async () => {
    const first = await ask(QUESTION, SEALED);
    const error = await refused(ask([user, reasoningIn(first), user], SEALED));
    expect(error.message).toContain("of type 'reasoning' was provided without its required following item.");
  });
});

describe('limits on the Responses wire', () => {
  it("refuse a prompt over length in OpenAI's words, with a status or inside a stream", async () => {
    const input = 'x'.repeat(6_001);
    const words = 'Your input exceeds the context window of this model.';
    const error = await refused(ask(input, { tools: [] }));
    expect(error).toMatchObject({ status: 400, code: 'context_length_exceeded', param: 'input' });
    expect(error.message).toContain(words);
    expect(await refused(eventsOf(input, { tools: [] }))).toMatchObject({ code: 'context_length_exceeded' });
    const response = await fetch(`${sim.url}/v1/responses`, {
      method: 'POST',
      body: JSON.stringify({ model: 'measured', input, stream: true }),
    });
    expect(response.status).toBe(200);
    const text = await response.text();
    expect([...text.matchAll(/^event: (.*)$/gm)].map((match) => match[1])).toEqual([
      'response.created',
      'response.in_progress',
      'error',
      'response.failed',
    ]);
    expect(text).toContain(words);
    expect((await ask('x'.repeat(6_000), { tools: [] })).usage?.input_tokens).toBe(6_000);
    expect(sim.calls().map((call) => call.outcome)).toEqual(['rejected', 'rejected', 'rejected', 'answered']);
  });

  it('name the bounds of the reply limit', async () => {
    const low = await refused(ask('Hello.', { max_output_tokens: 15 }));
    expect(low.message).toContain('integer below minimum value. Expected a value >= 16, but got 15 instead.');
    const high = await refused(ask('Hello.', { max_output_tokens: 501 }));
    expect(high.message).toContain('Expected a value <= 500, but got 501 instead.');
  });

  it('know faults by the wire', async () => {
    sim.setFaults([{ match: { wire: 'openai-responses' }, fault: { name: 'overloaded' } }]);
    expect(await refused(ask('Hello.'))).toMatchObject({ status: 503 });
    sim.setFaults([{ fault: { name: 'unknown_finish' } }]);
    const strange = await ask('Hello.');
    expect(strange.incomplete_details?.reason).toBe('simulated_unlisted_reason');
    sim.setFaults([{ fault: { name: 'empty' } }]);
    expect((await ask('Hello.')).output.map((item) => item.type)).toEqual(['reasoning']);
    sim.setFaults([{ fault: { name: 'bad_json' } }]);
    await expect(ask('Hello.')).rejects.toThrow();
    const silent = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    await expect(eventsOf('Hello.')).rejects.toThrow();
    silent.mockRestore();
    sim.setFaults([{ fault: { name: 'over_length' } }]);
    expect(await refused(eventsOf('Hello.'))).toMatchObject({ code: 'context_length_exceeded' });
    expect(sim.calls().at(-1)?.outcome).toBe('fault:over_length');
  });
});
