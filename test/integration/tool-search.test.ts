/** Deferred tools over the real SDK against the simulator, and the rules that the simulator holds requests to. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import Anthropic from '@anthropic-ai/sdk';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ChatMessage, ChatReply, ChatRequest, ToolDefinition } from '../../src/context/request.ts';
import { promptTokens } from '../../src/context/request.ts';
import type { NativeBlock } from '../../src/ledger/blocks.ts';
import type { Delta, Provider, ProviderKind } from '../../src/providers/contract.ts';
import { createProvider } from '../../src/providers/index.ts';
import { DEFAULT_SIM_MODELS, type Simulator, startSimulator } from '../../src/sim/index.ts';

const MODEL = 'claude-opus-5';
const TIMEOUT_MS = 10_000;
/** Long enough for the least prefix that is cached. */
const SYSTEM = 'Answer from what the tools return, and name the berth. '.repeat(120);
const SEARCH_TOOL = { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' } as const;

const about = (name: string, description: string, member: string): ToolDefinition => ({
  name,
  description,
  inputSchema: { type: 'object', properties: { [member]: { type: 'string' } } },
});
const LOADED = about('pilot_roster', 'Names the pilots on duty.', 'shift');
const DEPTH = about('berth_depth', 'Tells how deep the water is at a berth.', 'berth');
const CRANES = about('crane_count', 'Counts the cranes of a yard.', 'yard');
const ASKED: ChatMessage = {
  role: 'user',
  content: [{ type: 'text', text: 'Use the berth_depth tool for berth 4.' }],
};
const ANSWER = 'The water at berth 4 is 11 m deep.';

/** The simulator behind a server that keeps what is sent to it. */
class Recorder {
  readonly bodies: string[] = [];
  readonly #server = createServer((request, response) => void this.#forward(request, response));
  readonly #to: string;

  constructor(to: string) {
    this.#to = to;
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const body = Buffer.concat(parts).toString('utf8');
    this.bodies.push(body);
    const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' };
    const answer = await fetch(`${this.#to}${request.url}`, { method: 'POST', headers, body });
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
    response.end(await answer.text());
  }
}

let sim: Simulator;
let recorder: Recorder;
let url: string;

beforeEach(async () => {
  const models = DEFAULT_SIM_MODELS.map((model, index) => (index === 1 ? { ...model, name: MODEL } : model));
  sim = await startSimulator({ seed: 3, models });
  recorder = new Recorder(sim.url);
  url = await recorder.start();
});

afterEach(async () => {
  await recorder.close();
  await sim.close();
});

function provider(kind: ProviderKind = 'anthropic', path = ''): Provider {
  const leg = { name: kind, provider: kind, model: MODEL, baseUrl: `${url}${path}`, timeoutMs: TIMEOUT_MS };
  return createProvider(leg, () => undefined);
}

function request(messages: readonly ChatMessage[], fields: Partial<ChatRequest> = {}): ChatRequest {
  return {
    system: SYSTEM,
    tools: [LOADED],
    deferred: [DEPTH, CRANES],
    messages,
    maxTokens: 500,
    cache: { key: 'k', breakpoints: [-1, messages.length - 1] },
    ...fields,
  };
}

async function replyTo(
  asked: ChatRequest,
  by = provider(),
  onDelta = (_: Delta): void => {},
): Promise<ChatReply> {
  const signal = new AbortController().signal;
  const outcome = await by.call(asked, { signal, timeoutMs: TIMEOUT_MS, onDelta });
  if (!outcome.ok) throw new Error(outcome.failure.message);
  return outcome.reply;
}

/** The step after a reply that called one tool. */
function answered({ content }: ChatReply): readonly ChatMessage[] {
  const results = content.flatMap((block) =>
    block.type === 'tool_call'
      ? [
          {
            type: 'tool_result' as const,
            callId: block.id,
            name: block.name,
            content: ANSWER,
            isError: false,
          },
        ]
      : [],
  );
  return [ASKED, { role: 'assistant', content }, { role: 'user', content: results }];
}

function natives({ content }: ChatReply): readonly NativeBlock[] {
  return content.flatMap((block) => (block.type === 'native' ? [block] : []));
}

describe('a deferred tool', () => {
  it('SUR-03 is found and called in one step, and the search is no text and no delta', async () => {
    const deltas: Delta[] = [];
    const reply = await replyTo(request([ASKED]), provider(), (delta) => void deltas.push(delta));
    expect(reply.content).toMatchObject([
      { type: 'native', by: 'anthropic', data: { type: 'server_tool_use', name: SEARCH_TOOL.name } },
      {
        type: 'native',
        data: { content: { tool_references: [{ type: 'tool_reference', tool_name: 'berth_depth' }] } },
      },
      { type: 'tool_call', name: 'berth_depth' },
    ]);
    expect(reply.finish).toBe('tool_calls');
    expect(deltas).toEqual([]);
    expect(sim.banner).toMatch(/simulat/iu);
  });

  it('SUR-03 is searched once: the next step gives the blocks back byte for byte, and no second search comes', async () => {
    const first = await replyTo(request([ASKED]));
    const second = await replyTo(request(answered(first)));
    const [asked, found] = natives(first);
    expect(recorder.bodies[1]).toContain(`${JSON.stringify(asked?.data)},${JSON.stringify(found?.data)}`);
    expect(second).toMatchObject({ finish: 'stop', content: [{ type: 'text' }] });
    expect(JSON.stringify(second.content)).toContain('11 m');
    const again: ChatMessage = {
      role: 'user',
      content: [{ type: 'text', text: 'Use the berth_depth tool for berth 5.' }],
    };
    const third = await replyTo(
      request([...answered(first), { role: 'assistant', content: second.content }, again]),
    );
    expect(third.content.map(({ type }) => type)).toEqual(['tool_call']);
  });

  it('SUR-03 costs nothing until it is found, and finding it leaves all that was cached before in the cache', async () => {
    const plain = await replyTo(request([ASKED], { deferred: [CRANES] }));
    const more = Array.from({ length: 40 }, (_, at) =>
      about(`gauge_${at}`, 'Reads a gauge. '.repeat(20), 'gauge'),
    );
    const first = await replyTo(request([ASKED], { deferred: [DEPTH, CRANES, ...more] }));
    if (plain.usage === null || first.usage === null) throw new Error('no usage came');
    expect(promptTokens(first.usage)).toBe(promptTokens(plain.usage));
    const messages = answered(first);
    const second = await replyTo(request(messages, { deferred: [DEPTH, CRANES, ...more] }));
    expect(second.usage?.cacheReadTokens).toBe(promptTokens(first.usage));
    const search = messages.map((message) => ({
      ...message,
      content: message.content.filter(({ type }) => type !== 'native'),
    })) as ChatMessage[];
    const unfound = await replyTo(request(search, { deferred: [DEPTH, CRANES, ...more] }));
    if (second.usage === null || unfound.usage === null) throw new Error('no usage came');
    const definition = DEPTH.name + DEPTH.description + JSON.stringify(DEPTH.inputSchema);
    expect(promptTokens(second.usage) - promptTokens(unfound.usage)).toBeGreaterThan(definition.length * 0.2);
  });

  it.each([
    ['openai', '/v1'],
    ['ollama', ''],
  ] as const)('SUR-03 leaves no trace at %s, which reads the same ledger', async (kind, path) => {
    const first = await replyTo(request([ASKED]));
    const reply = await replyTo(request(answered(first), { tools: [] }), provider(kind, path));
    expect(JSON.stringify(reply.content)).toContain('11 m');
    expect(recorder.bodies.at(-1)).toContain('berth_depth');
    expect(recorder.bodies.at(-1)).not.toMatch(
      /srvtoolu|tool_reference|server_tool_use|native|defer_loading|crane_count/u,
    );
  });

  it('SUR-03 comes out of a stream as it does without one', async () => {
    const client = new Anthropic({ baseURL: url, apiKey: 'any', maxRetries: 0 });
    await replyTo(request([ASKED]));
    const sent = JSON.parse(recorder.bodies[0] ?? '') as Anthropic.MessageCreateParamsStreaming;
    const whole = await client.messages.create({ ...sent, stream: false });
    const { stream: _streams, ...params } = sent;
    const starts: unknown[] = [];
    const streaming = client.messages.stream(params).on('streamEvent', (event) => {
      if (event.type === 'content_block_start') starts.push(structuredClone(event.content_block));
    });
    const streamed = await streaming.finalMessage();
    expect(starts[0]).toMatchObject({ type: 'server_tool_use', input: {} });
    expect(Object.keys((starts[0] as { input: object }).input)).toEqual([]);
    const read = await replyTo(request([ASKED]));
    const bare = (value: unknown) =>
      JSON.parse(JSON.stringify(value).replaceAll(/(?:srvtoolu|toolu)_\w+/gu, 'id')) as unknown;
    expect(bare(streamed.content)).toEqual(bare(whole.content));
    const searches = whole.content.filter(({ type }) => type !== 'tool_use');
    expect(bare(natives(read).map(({ data }) => data))).toEqual(bare(searches));
    expect(searches).toHaveLength(2);
    expect(streamed.stop_reason).toBe('tool_use');
  });
});

describe('the simulated search', () => {
  const client = () => new Anthropic({ baseURL: sim.url, apiKey: 'any', maxRetries: 0 });
  const tool = ({ name, description }: ToolDefinition, fields: object = {}): Anthropic.ToolUnion => ({
    name,
    description,
    input_schema: { type: 'object' },
    ...fields,
  });
  const deferred = { defer_loading: true };
  const TOOLS = [tool(LOADED), SEARCH_TOOL, tool(DEPTH, deferred)];
  const ask = (messages: unknown, tools: Anthropic.ToolUnion[] = TOOLS) =>
    client().messages.create({
      model: MODEL,
      max_tokens: 300,
      messages: messages as Anthropic.MessageParam[],
      tools,
    });
  const question = { role: 'user', content: 'Use the berth_depth tool for berth 4.' };
  const use = (id: string) => ({
    type: 'server_tool_use',
    id,
    name: SEARCH_TOOL.name,
    input: { query: 'berth' },
  });
  const found = (id: string, ...names: string[]) => ({
    type: 'tool_search_tool_result',
    tool_use_id: id,
    content: {
      type: 'tool_search_tool_search_result',
      tool_references: names.map((tool_name) => ({ type: 'tool_reference', tool_name })),
    },
  });
  const history = (...content: object[]) => [
    question,
    { role: 'assistant', content },
    { role: 'user', content: 'Go on.' },
  ];

  it('SUR-03 refuses tools that are deferred one and all, the search tool deferred, and a mark on a deferred one', async () => {
    const late = { ...SEARCH_TOOL, ...deferred };
    const marked = tool(DEPTH, { ...deferred, cache_control: { type: 'ephemeral' } });
    await expect(ask([question], [tool(DEPTH, deferred)])).rejects.toThrow(/All tools cannot be deferred/);
    await expect(ask([question], [late, tool(DEPTH, deferred)])).rejects.toThrow(
      /All tools cannot be deferred/,
    );
    await expect(ask([question], [tool(LOADED), late])).rejects.toThrow(/search tool cannot be deferred/);
    await expect(ask([question], [SEARCH_TOOL, marked])).rejects.toThrow(/cannot use prompt caching/);
    await expect(ask([question], [SEARCH_TOOL, tool(DEPTH, deferred), tool(DEPTH)])).rejects.toThrow(
      /must be unique/,
    );
    expect(sim.calls().every(({ status }) => status === 400)).toBe(true);
  });

  it('SUR-03 refuses a result without its search, a second one, and a reference to a tool it was not told of', async () => {
    const done = history(use('srvtoolu_a'), found('srvtoolu_a', 'berth_depth'));
    expect((await ask(done)).type).toBe('message');
    const lost = /must have a corresponding `server_tool_use` block before it/;
    await expect(ask(history(found('srvtoolu_a', 'berth_depth')))).rejects.toThrow(lost);
    await expect(ask(history(found('srvtoolu_a', 'berth_depth'), use('srvtoolu_a')))).rejects.toThrow(lost);
    const twice = [use('srvtoolu_a'), found('srvtoolu_a'), found('srvtoolu_a')];
    await expect(ask(history(...twice))).rejects.toThrow(lost);
    const gone = history(use('srvtoolu_a'), found('srvtoolu_a', 'berth_depth', 'gone'));
    await expect(ask(gone)).rejects.toThrow(/Tool reference 'gone' not found in available tools/);
    await expect(ask(done, [tool(LOADED), SEARCH_TOOL])).rejects.toThrow(/Tool reference 'berth_depth'/);
  });

  it('SUR-03 answers a search that waits with the next reply, and refuses one that was passed over', async () => {
    const callId = 'toolu_1';
    const toolUse = { type: 'tool_use', id: callId, name: LOADED.name, input: {} };
    const waiting = [question, { role: 'assistant', content: [use('srvtoolu_a'), toolUse] }];
    const results = [{ type: 'tool_result', tool_use_id: callId, content: 'Two pilots.' }];
    const reply = await ask([...waiting, { role: 'user', content: results }]);
    expect(reply.content[0]).toEqual(found('srvtoolu_a', 'berth_depth'));
    expect(reply.content.map(({ type }) => type)).toEqual(['tool_search_tool_result', 'tool_use']);
    const unfitting = [
      question,
      { ...waiting[1], content: [{ ...use('srvtoolu_a'), input: { query: 'sky' } }, toolUse] },
    ];
    const both = await ask([...unfitting, { role: 'user', content: results }]);
    expect(both.content[0]).toEqual(found('srvtoolu_a'));
    expect(both.content.map(({ type }) => type)).toEqual([
      'tool_search_tool_result',
      'server_tool_use',
      'tool_search_tool_result',
      'tool_use',
    ]);
    const hurried = [...results, { type: 'text', text: 'Hurry.' }];
    await expect(ask([...waiting, { role: 'user', content: hurried }])).rejects.toThrow(
      /srvtoolu_a` was found without a corresponding `tool_search_tool_result` block/,
    );
    await expect(ask(history(use('srvtoolu_a')))).rejects.toThrow(/without a corresponding/);
  });

  it('SUR-03 notices when a search of its own comes back changed', async () => {
    const { content } = await ask([question]);
    const [asked, answer, call] = content;
    if (asked?.type !== 'server_tool_use' || call?.type !== 'tool_use')
      throw new Error('nothing was searched');
    const turn = (...blocks: unknown[]) => [
      question,
      { role: 'assistant', content: [...blocks, call] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: call.id, content: ANSWER }] },
    ];
    expect((await ask(turn(asked, answer))).stop_reason).toBe('end_turn');
    expect((await ask(turn())).type).toBe('message');
    const changed = { ...asked, input: { query: 'another' } };
    await expect(ask(turn(changed, answer))).rejects.toThrow(/does not come back as it was sent/);
    await expect(ask(turn(asked, found(asked.id)))).rejects.toThrow(/does not come back as it was sent/);
  });
});
