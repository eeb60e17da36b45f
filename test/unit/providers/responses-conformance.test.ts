import { vi } from 'vitest';
import type { Leg, Provider } from '../../../src/providers/contract.ts';
import { responsesProvider } from '../../../src/providers/responses/provider.ts';
import { type ProviderSubject, providerConformance } from '../../contract/provider.suite.ts';
import {
  type Counts,
  cut,
  type Dialect,
  type ScriptedCall,
  type Streamed,
  WireServer,
  whole,
} from '../../support/wire-server.ts';

/** The SDK scans an unfinished event anew with every packet; a bound against hanging, as in the services tier. */
vi.setConfig({ testTimeout: 60_000 });

const SECRET = 'plantedMarker0123456789';
const SSE = { 'content-type': 'text/event-stream' };
const COUNTS: Counts = { fresh: 5, cacheRead: 0, cacheWrite: 0, output: 2 };
const ENDLESS_PIECE_CHARS = 65_536;

const dialect: Dialect = {
  headers: SSE,
  opening: [
    event('response.created', { response: response('in_progress', {}) }),
    event('response.output_item.added', { output_index: 0, item: message([], 'in_progress') }),
  ].join(''),
  textEvent: (delta) =>
    event('response.output_text.delta', { item_id: 'msg_1', output_index: 0, content_index: 0, delta }),
  text: (pieces, counts) => streamed([textEvents(0, pieces)], 'completed', { usage: usage(counts) }),
  thinking: (thought, answer) =>
    streamed([thinkingEvents(0, thought), textEvents(1, [answer])], 'completed', { usage: usage(COUNTS) }),
  calls: (calls) => streamed(calls.map(callEvents), 'completed', { usage: usage(COUNTS) }),
  finish: (reason) =>
    streamed([textEvents(0, ['a'])], 'incomplete', {
      incomplete_details: { reason },
      usage: usage(COUNTS),
    }),
  overloadedAfter: (piece) => {
    const bytes = [
      dialect.opening,
      dialect.textEvent(piece),
      event('response.failed', {
        response: response('failed', { error: { code: 'server_error', message: 'overloaded' } }),
      }),
    ];
    return { headers: SSE, bytes: Buffer.from(bytes.join('')), terminalAt: 0 };
  },
};

for (const [kind, id] of [
  ['openai-responses', 'PRO-03'],
  ['openrouter-responses', 'PRO-06'],
] as const) {
  const makeSubject = async (): Promise<ProviderSubject> => {
    const server = await WireServer.start();
    const leg: Leg = {
      name: kind,
      provider: kind,
      model: 'some/model',
      baseUrl: `${server.url}/v1`,
      timeoutMs: 10_000,
    };
    return subjectOf(server, responsesProvider(leg, SECRET));
  };
  providerConformance(kind, makeSubject, id);
}

function subjectOf(server: WireServer, provider: Provider): ProviderSubject {
  let set: Streamed | null = null;
  const answer = (reply: Streamed): number => {
    set = reply;
    server.script(whole(reply));
    return reply.terminalAt;
  };
  return {
    provider,
    secret: SECRET,
    hasCacheTiers: true,
    replyText: (pieces, counts = COUNTS) => answer(dialect.text(pieces, counts)),
    replyThinking: (thought, reply) => void answer(dialect.thinking(thought, reply)),
    replyToolCalls: (calls) => void answer(dialect.calls(calls)),
    replyFinish: (reason) => void answer(dialect.finish(reason)),
    failInStream: (piece) => void answer(dialect.overloadedAfter(piece)),
    fail: (status, body, headers = {}) =>
      server.script({ status, chunks: [body], headers: { 'content-type': 'application/json', ...headers } }),
    replyBytes: (bytes) => server.script({ headers: SSE, chunks: [bytes] }),
    replyEndlessly: (bytes) => {
      const piece = dialect.textEvent('y'.repeat(ENDLESS_PIECE_CHARS));
      const pieces = Array.from({ length: Math.ceil(bytes / piece.length) }, () => piece);
      server.script({ headers: SSE, chunks: [dialect.opening, ...pieces] });
    },
    cutAfter: (bytes, how) => {
      if (set !== null) server.rescript(cut(set, bytes, how));
    },
    hang: (after) =>
      server.script(
        after === undefined
          ? { silent: true }
          : { headers: SSE, chunks: [dialect.opening, dialect.textEvent(after)], end: 'hang' },
      ),
    arrived: () => server.requests(Math.max(server.received.length, 1)),
    disconnected: () => server.last().closed,
    requestCount: () => server.received.length,
    close: () => server.close(),
  };
}

function streamed(items: readonly (readonly string[])[], status: string, fields: object): Streamed {
  const events = [
    event('response.created', { response: response('in_progress', {}) }),
    ...items.flat(),
    // The event counts once its blank line came.
    event(`response.${status}`, { response: response(status, fields) }).slice(0, -1),
  ];
  const before = Buffer.from(events.join(''), 'utf8');
  return { headers: SSE, bytes: Buffer.concat([before, Buffer.from('\n')]), terminalAt: before.length };
}

function textEvents(index: number, pieces: readonly string[]): string[] {
  const at = { item_id: `msg_${index}`, output_index: index, content_index: 0 };
  const part = { type: 'output_text', text: pieces.join(''), annotations: [] };
  return [
    event('response.output_item.added', { output_index: index, item: message([], 'in_progress') }),
    event('response.content_part.added', { ...at, part: { ...part, text: '' } }),
    ...pieces.map((delta) => event('response.output_text.delta', { ...at, delta })),
    event('response.output_text.done', { ...at, text: part.text }),
    event('response.output_item.done', { output_index: index, item: message([part], 'completed') }),
  ];
}

function thinkingEvents(index: number, thought: string): string[] {
  const at = { item_id: 'rs_1', output_index: index, summary_index: 0 };
  const item = { type: 'reasoning', id: 'rs_1', summary: [] };
  const summary = [{ type: 'summary_text', text: thought }];
  return [
    event('response.output_item.added', { output_index: index, item }),
    event('response.reasoning_summary_part.added', { ...at, part: { type: 'summary_text', text: '' } }),
    event('response.reasoning_summary_text.delta', { ...at, delta: thought }),
    event('response.output_item.done', {
      output_index: index,
      item: { ...item, summary, encrypted_content: 'gAAA' },
    }),
  ];
}

function callEvents({ id, name, args }: ScriptedCall, index: number): string[] {
  const middle = Math.ceil(args.length / 2);
  const item = { type: 'function_call', id: `fc_${index}`, ...(id === null ? {} : { call_id: id }), name };
  return [
    event('response.output_item.added', { output_index: index, item: { ...item, arguments: '' } }),
    ...[args.slice(0, middle), args.slice(middle)].map((delta) =>
      event('response.function_call_arguments.delta', { output_index: index, delta }),
    ),
    event('response.output_item.done', { output_index: index, item: { ...item, arguments: args } }),
  ];
}

function message(content: readonly object[], status: string): object {
  return { type: 'message', id: 'msg_1', role: 'assistant', status, content };
}

function response(status: string, fields: object): object {
  return { id: 'resp_1', object: 'response', model: 'served-model', status, output: [], ...fields };
}

function usage(counts: Counts): object {
  return {
    input_tokens: counts.fresh + counts.cacheRead + counts.cacheWrite,
    input_tokens_details: { cached_tokens: counts.cacheRead, cache_write_tokens: counts.cacheWrite },
    output_tokens: counts.output,
  };
}

function event(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}
