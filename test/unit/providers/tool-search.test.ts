/** Deferred tools on Anthropic's wire: what is sent, what is read, and what goes back. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatMessage, ChatRequest, ToolDefinition } from '../../../src/context/request.ts';
import type { AssistantBlock, NativeBlock } from '../../../src/ledger/blocks.ts';
import type { JsonObject } from '../../../src/ledger/json.ts';
import { AnthropicReply } from '../../../src/providers/anthropic/read.ts';
import { renderAnthropic } from '../../../src/providers/anthropic/render.ts';
import { type Leg, PROVIDER_KINDS, type ProviderKind } from '../../../src/providers/contract.ts';
import { createProvider } from '../../../src/providers/index.ts';
import { MalformedReply } from '../../../src/providers/malformed-reply.ts';
import { WireServer } from '../../support/wire-server.ts';
import { silentWire } from './reading-law.ts';

const SEARCHING = { model: 'm', maxTokens: 50, searchesTools: true };
const PLAIN = { ...SEARCHING, searchesTools: false };
const SEARCH_TOOL = { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' };
const MARK = { cache_control: { type: 'ephemeral' } };
const TIMEOUT_MS = 10_000;

const named = (name: string): ToolDefinition => ({
  name,
  description: `About ${name}.`,
  inputSchema: { type: 'object' },
});
const rendered = (name: string) => ({
  name,
  description: `About ${name}.`,
  input_schema: { type: 'object' },
});
const user = (text: string): ChatMessage => ({ role: 'user', content: [{ type: 'text', text }] });

function request(fields: Partial<ChatRequest>): ChatRequest {
  return { system: '', tools: [], messages: [user('Go.')], maxTokens: 50, ...fields };
}

function native(data: JsonObject): NativeBlock {
  return { type: 'native', by: 'anthropic', data };
}

function searched(id: string, ...names: string[]): readonly [NativeBlock, NativeBlock] {
  const tool_references = names.map((tool_name) => ({ type: 'tool_reference', tool_name }));
  return [
    native({
      type: 'server_tool_use',
      id,
      name: SEARCH_TOOL.name,
      input: { query: 'q' },
      caller: { type: 'direct' },
    }),
    native({
      type: 'tool_search_tool_result',
      tool_use_id: id,
      content: { type: 'tool_search_tool_search_result', tool_references },
    }),
  ];
}

const call = (id: string, name: string): AssistantBlock => ({ type: 'tool_call', id, name, args: {} });
const result = (callId: string, name: string): ChatMessage => ({
  role: 'user',
  content: [{ type: 'tool_result', callId, name, content: 'r', isError: false }],
});

/** Contents of the assistant messages as sent. */
function sentBack(messages: readonly ChatMessage[], deferred = [named('find_berth')]): unknown[] {
  const body = renderAnthropic(request({ tools: [named('look')], deferred, messages }), SEARCHING);
  return body.messages.flatMap(({ role, content }) => (role === 'assistant' ? [content] : []));
}

describe('deferred tools in an Anthropic request', () => {
  it('SUR-03 stand behind the loaded ones and the search tool, in name order, whatever order they came in', () => {
    const tools = [named('zeta'), named('alpha')];
    const body = renderAnthropic(request({ tools, deferred: [named('b'), named('a')] }), SEARCHING);
    expect(body.tools).toEqual([
      rendered('zeta'),
      rendered('alpha'),
      SEARCH_TOOL,
      { ...rendered('a'), defer_loading: true },
      { ...rendered('b'), defer_loading: true },
    ]);
    const turned = renderAnthropic(request({ tools, deferred: [named('a'), named('b')] }), SEARCHING);
    expect(JSON.stringify(turned)).toBe(JSON.stringify(body));
  });

  it('SUR-03 leave the bytes of a request without them as they were', () => {
    const fields = { system: 's', tools: [named('look')], cache: { key: 'k', breakpoints: [-1, 0] } };
    const before = JSON.stringify(renderAnthropic(request(fields), PLAIN));
    expect(JSON.stringify(renderAnthropic(request(fields), SEARCHING))).toBe(before);
    expect(JSON.stringify(renderAnthropic(request({ ...fields, deferred: [] }), SEARCHING))).toBe(before);
    const deferred = [named('find_berth')];
    expect(JSON.stringify(renderAnthropic(request({ ...fields, deferred }), PLAIN))).toBe(before);
  });

  it('SUR-03 never carry the cache mark: without a system text the search tool does, as the last loaded one', () => {
    const cache = { key: 'k', breakpoints: [-1] };
    const deferred = [named('a')];
    const body = renderAnthropic(request({ tools: [named('look')], deferred, cache }), SEARCHING);
    expect(body.tools).toEqual([
      rendered('look'),
      { ...SEARCH_TOOL, ...MARK },
      { ...rendered('a'), defer_loading: true },
    ]);
    const alone = renderAnthropic(request({ deferred, cache }), SEARCHING);
    expect(alone.tools?.[0]).toEqual({ ...SEARCH_TOOL, ...MARK });
    const withSystem = renderAnthropic(request({ system: 's', deferred, cache }), SEARCHING);
    expect(JSON.stringify(withSystem.tools)).not.toContain('cache_control');
  });

  it('SUR-03 stand once: a tool that is loaded is deferred no more, and without any there is no search', () => {
    const tools = [named('a')];
    const body = renderAnthropic(request({ tools, deferred: [named('a'), named('b')] }), SEARCHING);
    expect(body.tools?.map((tool) => 'name' in tool && tool.name)).toEqual(['a', SEARCH_TOOL.name, 'b']);
    expect(renderAnthropic(request({ tools, deferred: [named('a')] }), SEARCHING).tools).toEqual([
      rendered('a'),
    ]);
  });

  it.each([
    ['claude-opus-4-5-20251101', true],
    ['claude-sonnet-4-5', true],
    ['anthropic/claude-sonnet-4.6', true],
    ['claude-haiku-4-5@20251001', true],
    ['claude-opus-5', true],
    ['claude-fable-5-2', true],
    ['claude-opus-10', true],
    ['claude-opus-4-1-20250805', false],
    ['claude-opus-4-20250514', false],
    ['claude-sonnet-4@20250514', false],
    ['claude-3-7-sonnet-20250219', false],
    ['claude-instant-1.2', false],
    ['some/model', false],
  ])('SUR-03 are asked for only where the model searches: %s is %s', (model, searches) => {
    const leg: Leg = { name: 'l', provider: 'anthropic', model, timeoutMs: TIMEOUT_MS };
    expect(createProvider(leg, () => undefined).searchesTools).toBe(searches);
    const keyless = createProvider({ ...leg, apiKeyEnv: 'K' }, () => undefined);
    expect(keyless.searchesTools).toBe(searches);
  });

  it('SUR-03 are asked for on no other wire', () => {
    for (const provider of PROVIDER_KINDS) {
      if (provider === 'anthropic') continue;
      const leg: Leg = {
        name: 'l',
        provider,
        model: 'claude-opus-5',
        baseUrl: 'http://127.0.0.1:1',
        timeoutMs: TIMEOUT_MS,
      };
      expect(createProvider(leg, () => undefined).searchesTools).toBe(false);
    }
  });

  it('SUR-03 a model name of 5 MB is read in no time worth naming', () => {
    const leg = { name: 'l', provider: 'anthropic', timeoutMs: TIMEOUT_MS } as const;
    for (const part of ['claude-', 'claude-a-1', 'a-1-', '11111111']) {
      const model = part.repeat(5_000_000 / part.length);
      const startedMs = performance.now();
      createProvider({ ...leg, model }, () => undefined);
      expect(performance.now() - startedMs).toBeLessThan(5_000);
    }
  });
});

describe('what a search put into a reply', () => {
  const [use, found] = searched('srvtoolu_1', 'find_berth');
  const thinking: AssistantBlock = { type: 'thinking', text: 'Hm.', signature: 's', signedBy: 'anthropic' };

  it('SUR-03 goes back byte for byte and in place', () => {
    const content = [
      thinking,
      use,
      found,
      { type: 'text' as const, text: 'Found.' },
      call('c', 'find_berth'),
    ];
    const [sent] = sentBack([user('a'), { role: 'assistant', content }, result('c', 'find_berth')]);
    expect(sent).toEqual([
      { type: 'thinking', thinking: 'Hm.', signature: 's' },
      use.data,
      found.data,
      { type: 'text', text: 'Found.' },
      { type: 'tool_use', id: 'c', name: 'find_berth', input: {} },
    ]);
    expect(JSON.stringify(sent)).toContain(`${JSON.stringify(use.data)},${JSON.stringify(found.data)}`);
  });

  it('SUR-03 goes back also when the search failed or matched nothing', () => {
    const [asked] = searched('srvtoolu_1');
    const error = { type: 'tool_search_tool_result_error', error_code: 'unavailable', error_message: null };
    const failed = native({ type: 'tool_search_tool_result', tool_use_id: 'srvtoolu_1', content: error });
    const none = searched('srvtoolu_1')[1];
    for (const answer of [failed, none]) {
      const messages: ChatMessage[] = [user('a'), { role: 'assistant', content: [asked, answer] }, user('b')];
      expect(sentBack(messages)).toEqual([[asked.data, answer.data]]);
    }
  });

  it('SUR-03 goes back with a tool that was loaded meanwhile, and not with one that is gone', () => {
    const content = [use, found, call('c', 'find_berth')];
    const messages: ChatMessage[] = [user('a'), { role: 'assistant', content }, result('c', 'find_berth')];
    const make = (tools: ToolDefinition[]) =>
      JSON.stringify(renderAnthropic(request({ tools, deferred: [named('other')], messages }), SEARCHING));
    expect(make([named('find_berth')])).toContain('tool_reference');
    expect(make([])).not.toMatch(/tool_reference|server_tool_use/);
  });

  it('SUR-03 is left out whole where it cannot go back, and the thinking around it too, which was signed with it', () => {
    const kept: AssistantBlock = { type: 'text', text: 'Found.' };
    const rest = [kept, call('c', 'find_berth')];
    const foreign = [use, found].map((block): NativeBlock => ({ ...block, by: 'openai' }));
    const cases: readonly AssistantBlock[][] = [
      [thinking, found],
      [thinking, use],
      [thinking, found, use],
      [thinking, ...foreign],
      [thinking, ...searched('srvtoolu_1', 'find_berth', 'gone')],
    ];
    for (const blocks of cases) {
      const messages: ChatMessage[] = [
        user('a'),
        { role: 'assistant', content: [...blocks, ...rest] },
        result('c', 'find_berth'),
        user('b'),
      ];
      expect(sentBack(messages)).toEqual([
        [
          { type: 'text', text: 'Found.' },
          { type: 'tool_use', id: 'c', name: 'find_berth', input: {} },
        ],
      ]);
    }
    const alone: ChatMessage[] = [user('a'), { role: 'assistant', content: [use, found] }, user('b')];
    expect(JSON.stringify(renderAnthropic(request({ messages: alone }), SEARCHING))).not.toContain('search');
  });

  it('SUR-03 waits for its result while only results of calls follow, and stands with it once that came', () => {
    const asked: ChatMessage = { role: 'assistant', content: [use, call('c', 'look')] };
    const lookUsed = { type: 'tool_use', id: 'c', name: 'look', input: {} };
    expect(sentBack([user('a'), asked, result('c', 'look')])).toEqual([[use.data, lookUsed]]);
    expect(sentBack([user('a'), asked, result('c', 'look'), user('Hurry.')])).toEqual([[lookUsed]]);
    const then: ChatMessage = { role: 'assistant', content: [found, { type: 'text', text: 'So.' }] };
    expect(sentBack([user('a'), asked, result('c', 'look'), then, user('b')])).toEqual([
      [use.data, lookUsed],
      [found.data, { type: 'text', text: 'So.' }],
    ]);
    const without: ChatMessage = { role: 'assistant', content: [{ type: 'text', text: 'So.' }] };
    expect(sentBack([user('a'), asked, result('c', 'look'), without])).toEqual([
      [lookUsed],
      [{ type: 'text', text: 'So.' }],
    ]);
  });

  it('SUR-03 carries no cache mark: the last block that may does', () => {
    const messages: ChatMessage[] = [
      user('a'),
      { role: 'assistant', content: [{ type: 'text', text: 'Found.' }, use, found] },
      user('b'),
    ];
    const cache = { key: 'k', breakpoints: [1] };
    const fields = { deferred: [named('find_berth')], messages, cache };
    expect(renderAnthropic(request(fields), SEARCHING).messages[1]?.content).toEqual([
      { type: 'text', text: 'Found.', ...MARK },
      use.data,
      found.data,
    ]);
  });

  const kindsOfStep = ['found', 'failed', 'unknown', 'orphan', 'waiting', 'none'] as const;

  it('SUR-03 goes back so that every result has its search before it, and no search is left over in mid-history', () => {
    const counts = new Map<string, number>();
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...kindsOfStep), { minLength: 1, maxLength: 6 }), (steps) => {
        for (const kind of steps) counts.set(kind, (counts.get(kind) ?? 0) + 1);
        const messages = [
          user('a'),
          ...steps.flatMap((kind, at): ChatMessage[] => [
            { role: 'assistant', content: [...stepBlocks(kind, `srv_${at}`), call(`c${at}`, 'look')] },
            result(`c${at}`, 'look'),
          ]),
        ];
        const sent = sentBack(messages).flat() as Record<string, unknown>[];
        const open = new Set<unknown>();
        for (const block of sent) {
          if (block.type === 'server_tool_use') open.add(block.id);
          if (block.type === 'tool_search_tool_result') expect(open.delete(block.tool_use_id)).toBe(true);
        }
        const last = steps.at(-1) === 'waiting' ? [`srv_${steps.length - 1}`] : [];
        expect([...open]).toEqual(last);
        const whole = steps.filter((kind) => kind === 'found' || kind === 'failed').length;
        expect(sent.filter(({ type }) => type === 'tool_search_tool_result')).toHaveLength(whole);
      }),
      { numRuns: 300 },
    );
    const total = [...counts.values()].reduce((sum, count) => sum + count, 0);
    console.info('steps generated', Object.fromEntries(counts));
    for (const kind of kindsOfStep) expect((counts.get(kind) ?? 0) / total).toBeGreaterThan(0.01);
  });

  function stepBlocks(kind: (typeof kindsOfStep)[number], id: string): readonly AssistantBlock[] {
    const [asked, named_] = searched(id, 'find_berth');
    const content = { type: 'tool_search_tool_result_error', error_code: 'too_many_requests' };
    switch (kind) {
      case 'found':
        return [asked, named_];
      case 'failed':
        return [asked, native({ type: 'tool_search_tool_result', tool_use_id: id, content })];
      case 'unknown':
        return searched(id, 'find_berth', 'gone');
      case 'orphan':
        return [named_];
      case 'waiting':
        return [asked];
      case 'none':
        return [];
    }
  }
});

describe('a reply that searched', () => {
  const read = (...events: unknown[]) => {
    const reply = new AnthropicReply(silentWire());
    for (const event of events) if (reply.take(event)) break;
    return reply.finish('asked-model');
  };
  const start = { type: 'message_start', message: { usage: { input_tokens: 1, output_tokens: 1 } } };
  const stop = (stop_reason: string) => ({ type: 'message_delta', delta: { stop_reason }, usage: {} });
  const block = (index: number, content_block: object) => ({
    type: 'content_block_start',
    index,
    content_block,
  });
  const delta = (index: number, fields: object) => ({ type: 'content_block_delta', index, delta: fields });
  const json = (index: number, partial_json: string) =>
    delta(index, { type: 'input_json_delta', partial_json });
  const asked = { type: 'server_tool_use', id: 'srvtoolu_1', name: SEARCH_TOOL.name };
  const answered = {
    type: 'tool_search_tool_result',
    tool_use_id: 'srvtoolu_1',
    content: {
      type: 'tool_search_tool_search_result',
      tool_references: [{ type: 'tool_reference', tool_name: 'find_berth' }],
    },
  };

  it('SUR-03 keeps its blocks in order among text, thinking and calls, the query put together from its pieces', () => {
    const reply = read(
      start,
      block(0, { type: 'thinking', thinking: 'Hm.', signature: 's' }),
      block(1, { type: 'text', text: 'Looking.' }),
      block(2, asked),
      json(2, '{"que'),
      json(2, 'ry":"berth"}'),
      block(3, answered),
      block(4, { type: 'tool_use', id: 't', name: 'find_berth', input: {} }),
      json(4, '{"at":1}'),
      stop('tool_use'),
    );
    expect(reply.content).toEqual([
      { type: 'thinking', text: 'Hm.', signature: 's', signedBy: 'anthropic' },
      { type: 'text', text: 'Looking.' },
      { type: 'native', by: 'anthropic', data: { ...asked, input: { query: 'berth' } } },
      { type: 'native', by: 'anthropic', data: answered },
      { type: 'tool_call', id: 't', name: 'find_berth', args: { at: 1 } },
    ]);
    expect(reply.finish).toBe('tool_calls');
  });

  it('SUR-03 takes a query that came whole, and is no call by itself', () => {
    const whole = { ...asked, input: { query: 'berth' } };
    const reply = read(start, block(0, whole), json(0, ''), block(1, answered), stop('end_turn'));
    expect(reply.content.map((one) => one.type === 'native' && one.data)).toEqual([whole, answered]);
    expect(reply.finish).toBe('stop');
  });

  it('SUR-03 keeps a failed search like any other: it is no failure of the call', () => {
    const content = { type: 'tool_search_tool_result_error', error_code: 'execution_time_exceeded' };
    const reply = read(start, block(0, asked), block(1, { ...answered, content }), stop('end_turn'));
    expect(reply.content[1]).toEqual({ type: 'native', by: 'anthropic', data: { ...answered, content } });
  });

  it('SUR-03 loses a search whose query broke off, and with it what was signed', () => {
    const thinking = block(0, { type: 'thinking', thinking: 'Hm.', signature: 's' });
    const reply = read(start, thinking, block(1, asked), json(1, '{"que'), stop('max_tokens'));
    expect(reply.content).toEqual([{ type: 'thinking', text: 'Hm.' }]);
    expect(reply.finish).toBe('length');
  });

  it('SUR-03 that the provider paused is a malformed one: as an answer it would be half of one', () => {
    const events = [start, block(0, { type: 'text', text: 'Let me search.' }), block(1, asked)];
    expect(() => read(...events, stop('pause_turn'))).toThrow(MalformedReply);
  });
});

describe('another wire', () => {
  async function bodyAt(kind: ProviderKind, asked: ChatRequest): Promise<string> {
    const server = await WireServer.start();
    try {
      const leg: Leg = {
        name: kind,
        provider: kind,
        model: 'some/model',
        baseUrl: server.url,
        timeoutMs: TIMEOUT_MS,
      };
      server.script({ status: 400 });
      const options = { signal: new AbortController().signal, timeoutMs: TIMEOUT_MS };
      await createProvider(leg, () => undefined).call(asked, options);
      return JSON.stringify(server.last().body);
    } finally {
      await server.close();
    }
  }

  it.each(PROVIDER_KINDS)(
    'SUR-03 %s, without a search, sends what it would if nothing was deferred or searched',
    async (kind) => {
      // Large enough to move a context length that counted it.
      const [use, found] = searched('srvtoolu_1', 'find_berth'.repeat(5_000));
      const text: AssistantBlock = { type: 'text', text: 'Found.' };
      const messages = (...blocks: AssistantBlock[]): ChatMessage[] => [
        user('a'),
        { role: 'assistant', content: [...blocks, text, call('c', 'find_berth')] },
        result('c', 'find_berth'),
        { role: 'assistant', content: blocks },
        user('b'),
      ];
      const plain = request({ tools: [named('look')], messages: messages() });
      const deferring = request({
        tools: [named('look')],
        deferred: [named('find_berth')],
        messages: messages(use, found),
      });
      expect(await bodyAt(kind, deferring)).toBe(await bodyAt(kind, plain));
    },
  );
});
