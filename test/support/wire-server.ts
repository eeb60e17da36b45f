/** A scriptable HTTP server: every request takes the next script, and what was received is kept. */
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: unknown;
  /** Resolves when the client's side of this request's connection is gone, or the reply is complete. */
  readonly closed: Promise<void>;
  readonly clientPort: number;
}

/** `end`: 'clean' closes the body, 'reset' the connection, 'hang' neither. */
export interface Script {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly chunks?: readonly (string | Buffer)[];
  readonly end?: 'clean' | 'reset' | 'hang';
  /** No status line at all is sent. */
  readonly silent?: boolean;
}

export class WireServer {
  readonly url: string;
  readonly received: Received[] = [];
  readonly #server: http.Server;
  readonly #scripts: Script[] = [];
  readonly #waiting: (() => void)[] = [];

  private constructor(server: http.Server) {
    this.#server = server;
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  static async start(): Promise<WireServer> {
    const server = http.createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const wire = new WireServer(server);
    server.on('request', (request, response) => {
      wire.#answer(request, response).catch((error: unknown) => response.destroy(error as Error));
    });
    return wire;
  }

  script(...scripts: readonly Script[]): void {
    this.#scripts.push(...scripts);
  }

  /** Replaces the script added last. */
  rescript(script: Script): void {
    this.#scripts.pop();
    this.#scripts.push(script);
  }

  /** Resolves once `count` requests arrived. */
  async requests(count: number): Promise<void> {
    while (this.received.length < count) {
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  last(): Received {
    const received = this.received.at(-1);
    if (received === undefined) throw new Error('no request was received');
    return received;
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #answer(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const closed = new Promise<void>((resolve) => response.once('close', () => resolve()));
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const sent = Buffer.concat(parts).toString('utf8');
    this.received.push({
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body: sent === '' ? null : JSON.parse(sent),
      closed,
      clientPort: request.socket.remotePort ?? 0,
    });
    for (const resolve of this.#waiting.splice(0)) resolve();
    await play(this.#scripts.shift() ?? { status: 500, chunks: ['no script'] }, response);
  }
}

async function play(script: Script, response: http.ServerResponse): Promise<void> {
  if (script.silent === true) return;
  response.writeHead(script.status ?? 200, script.headers ?? {});
  response.flushHeaders();
  for (const chunk of script.chunks ?? []) {
    if (response.destroyed) return;
    await new Promise<void>((resolve) => response.write(chunk, () => resolve()));
  }
  if (script.end === 'hang') return;
  if (script.end === 'reset') {
    // Written bytes reach the client before the connection ends.
    response.socket?.destroySoon();
    return;
  }
  response.end();
}

/** A streamed reply, its bytes, and where its terminal event begins: cut before that it is no reply. */
export interface Streamed {
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;
  readonly terminalAt: number;
}

export function cut(streamed: Streamed, atByte: number, end: 'clean' | 'reset'): Script {
  return { headers: streamed.headers, chunks: [streamed.bytes.subarray(0, atByte)], end };
}

export function whole(streamed: Streamed): Script {
  return { headers: streamed.headers, chunks: [streamed.bytes], end: 'clean' };
}

export interface ScriptedCall {
  readonly id: string | null;
  readonly name: string;
  /** The argument text as the model wrote it. */
  readonly args: string;
}

export interface Counts {
  readonly fresh: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly output: number;
}

/** How one wire spells what every wire can say. */
export interface Dialect {
  text(pieces: readonly string[], counts: Counts): Streamed;
  thinking(thought: string, answer: string): Streamed;
  calls(calls: readonly ScriptedCall[]): Streamed;
  /** One text piece, then an overload reported inside the stream. */
  overloadedAfter(piece: string): Streamed;
  finish(reason: string): Streamed;
  /** What precedes the first text event. */
  readonly opening: string;
  textEvent(piece: string): string;
  readonly headers: Readonly<Record<string, string>>;
}

const SSE = { 'content-type': 'text/event-stream' };
const NDJSON = { 'content-type': 'application/x-ndjson' };
const NO_COUNTS: Counts = { fresh: 3, cacheRead: 0, cacheWrite: 0, output: 2 };

function streamed(
  headers: Record<string, string>,
  body: readonly string[],
  terminal: readonly string[],
): Streamed {
  const before = Buffer.from(body.join(''), 'utf8');
  return {
    headers,
    bytes: Buffer.concat([before, Buffer.from(terminal.join(''), 'utf8')]),
    terminalAt: before.length,
  };
}

export const openAiDialect: Dialect = {
  headers: SSE,
  opening: '',
  text: (pieces, counts) =>
    openAi(
      pieces.map((content) => ({ content })),
      'stop',
      counts,
    ),
  thinking: (thought, answer) =>
    openAi([{ reasoning_content: thought }, { content: answer }], 'stop', NO_COUNTS),
  calls: (calls) =>
    openAi(
      calls.flatMap(({ id, name, args }, index) => [
        {
          tool_calls: [
            { index, ...(id === null ? {} : { id }), type: 'function', function: { name, arguments: '' } },
          ],
        },
        ...halves(args).map((half) => ({ tool_calls: [{ index, function: { arguments: half } }] })),
      ]),
      'tool_calls',
      NO_COUNTS,
    ),
  overloadedAfter: (piece) =>
    streamed(
      SSE,
      [
        openAiDialect.textEvent(piece),
        `data: ${JSON.stringify({ error: { message: 'overloaded', type: 'overloaded_error', code: 503 } })}\n\n`,
      ],
      [],
    ),
  finish: (reason) => openAi([{ content: 'a' }], reason, NO_COUNTS),
  textEvent: (content) => openAiChunk({ choices: [{ index: 0, delta: { content }, finish_reason: null }] }),
};

function openAi(deltas: readonly object[], finish: string, counts: Counts): Streamed {
  const prompt_tokens = counts.fresh + counts.cacheRead + counts.cacheWrite;
  const usage = {
    prompt_tokens,
    completion_tokens: counts.output,
    total_tokens: prompt_tokens + counts.output,
    prompt_tokens_details: { cached_tokens: counts.cacheRead, cache_write_tokens: counts.cacheWrite },
  };
  const chunks = deltas.map((delta) => openAiChunk({ choices: [{ index: 0, delta, finish_reason: null }] }));
  const last = openAiChunk({ choices: [{ index: 0, delta: {}, finish_reason: finish }] });
  // Either of usage and [DONE] completes a finished reply, so the usage chunk is terminal from its first byte.
  return streamed(SSE, [...chunks, last], [openAiChunk({ choices: [], usage }), 'data: [DONE]\n\n']);
}

function openAiChunk(fields: object): string {
  const chunk = {
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'served-model',
    ...fields,
  };
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

export const anthropicDialect: Dialect = {
  headers: SSE,
  opening: [
    anthropicStart(NO_COUNTS),
    sse('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
  ].join(''),
  text: (pieces, counts) => anthropic([textBlockEvents(0, pieces)], 'end_turn', counts),
  thinking: (thought, answer) =>
    anthropic([thinkingEvents(0, thought), textBlockEvents(1, [answer])], 'end_turn', NO_COUNTS),
  calls: (calls) =>
    anthropic(
      calls.map(({ id, name, args }, index) => callEvents(index, id, name, args)),
      'tool_use',
      NO_COUNTS,
    ),
  overloadedAfter: (piece) =>
    streamed(
      SSE,
      [
        anthropicStart(NO_COUNTS),
        ...textBlockEvents(0, [piece]),
        sse('error', { error: { type: 'overloaded_error', message: 'overloaded' } }),
      ],
      [],
    ),
  finish: (reason) => anthropic([textBlockEvents(0, ['a'])], reason, NO_COUNTS),
  textEvent: (text) => sse('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
};

function anthropic(blocks: readonly (readonly string[])[], stopReason: string, counts: Counts): Streamed {
  return streamed(
    SSE,
    [
      anthropicStart(counts),
      sse('ping', {}),
      ...blocks.flat(),
      sse('message_delta', {
        delta: { stop_reason: stopReason, stop_sequence: null },
        usage: { output_tokens: counts.output },
      }),
      // The event counts once its blank line came.
      sse('message_stop', {}).slice(0, -1),
    ],
    ['\n'],
  );
}

function anthropicStart(counts: Counts): string {
  const usage = {
    input_tokens: counts.fresh,
    cache_read_input_tokens: counts.cacheRead,
    cache_creation_input_tokens: counts.cacheWrite,
    output_tokens: 1,
  };
  return sse('message_start', {
    message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'served-model', content: [], usage },
  });
}

function textBlockEvents(index: number, pieces: readonly string[]): string[] {
  return [
    sse('content_block_start', { index, content_block: { type: 'text', text: '' } }),
    ...pieces.map((text) => sse('content_block_delta', { index, delta: { type: 'text_delta', text } })),
    sse('content_block_stop', { index }),
  ];
}

function thinkingEvents(index: number, thinking: string): string[] {
  return [
    sse('content_block_start', { index, content_block: { type: 'thinking', thinking: '', signature: '' } }),
    sse('content_block_delta', { index, delta: { type: 'thinking_delta', thinking } }),
    sse('content_block_delta', { index, delta: { type: 'signature_delta', signature: 'sig-1' } }),
    sse('content_block_stop', { index }),
  ];
}

function callEvents(index: number, id: string | null, name: string, args: string): string[] {
  return [
    sse('content_block_start', {
      index,
      content_block: { type: 'tool_use', ...(id === null ? {} : { id }), name, input: {} },
    }),
    ...halves(args).map((partial_json) =>
      sse('content_block_delta', { index, delta: { type: 'input_json_delta', partial_json } }),
    ),
    sse('content_block_stop', { index }),
  ];
}

function sse(type: string, fields: object): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
}

export const ollamaDialect: Dialect = {
  headers: NDJSON,
  opening: '',
  text: (pieces, counts) =>
    ollama(
      pieces.map((content) => ({ content })),
      'stop',
      counts,
    ),
  thinking: (thought, answer) =>
    ollama([{ content: '', thinking: thought }, { content: answer }], 'stop', NO_COUNTS),
  calls: (calls) =>
    ollama(
      [
        {
          content: '',
          tool_calls: calls.map(({ id, name, args }) => ({
            ...(id === null ? {} : { id }),
            function: { name, arguments: args },
          })),
        },
      ],
      'stop',
      NO_COUNTS,
    ),
  overloadedAfter: (piece) =>
    streamed(
      NDJSON,
      [ollamaDialect.textEvent(piece), `${JSON.stringify({ error: 'model runner stopped' })}\n`],
      [],
    ),
  finish: (reason) => ollama([{ content: 'a' }], reason, NO_COUNTS),
  textEvent: (content) =>
    `${JSON.stringify({ model: 'served-model', message: { role: 'assistant', content }, done: false })}\n`,
};

function ollama(messages: readonly object[], doneReason: string, counts: Counts): Streamed {
  const lines = messages.map(
    (fields) =>
      `${JSON.stringify({ model: 'served-model', message: { role: 'assistant', ...fields }, done: false })}\n`,
  );
  const last = JSON.stringify({
    model: 'served-model',
    message: { role: 'assistant', content: '' },
    done: true,
    done_reason: doneReason,
    prompt_eval_count: counts.fresh + counts.cacheRead + counts.cacheWrite,
    eval_count: counts.output,
  });
  // A last line needs no newline: it is complete with its closing brace.
  return streamed(NDJSON, [...lines, last.slice(0, -1)], ['}\n']);
}

function halves(source: string): string[] {
  const middle = Math.ceil(source.length / 2);
  return [source.slice(0, middle), source.slice(middle)].filter((half) => half !== '');
}
