/**
 * An MCP server for tests, as a process of its own: over standard streams, or over HTTP at a port it prints.
 * What it does and what is done to it stands in a log, a line each. It can be told to misbehave.
 */
import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { Protocol, type RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  type CallToolRequest,
  CallToolRequestSchema,
  type CallToolResult,
  ListToolsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';

const [transport = 'stdio', logFile = '/dev/null', port = '0'] = process.argv.slice(2);
const MEBIBYTE = 1_048_576;
const log = (line: string): void => appendFileSync(logFile, `${line}\n`);
const text = (words: string): CallToolResult => ({ content: [{ type: 'text', text: words }] });

const anything = { type: 'object' as const };
const tools = [
  {
    name: 'add',
    description: 'Adds two whole numbers.',
    inputSchema: {
      type: 'object' as const,
      properties: { a: { type: 'integer' }, b: { type: 'integer' } },
      required: ['a', 'b'],
      additionalProperties: false,
    },
  },
  { name: 'say', description: 'Says \u001b[31mred\u0000 things.', inputSchema: anything },
  { name: 'two words', description: 'Cannot be called.', inputSchema: anything },
  ...['environment', 'crash', 'wait', 'ask', 'forget', 'grow', 'junk', 'refuse'].map((name) => ({
    name,
    inputSchema: anything,
  })),
];

const SAYINGS: Readonly<Record<string, () => CallToolResult>> = {
  control: () => text('a\u001b]0;owned\u0007b\u0000c\td\ne'),
  huge: () => text('é'.repeat(2 * MEBIBYTE)),
  enormous: () => text('x'.repeat(24 * MEBIBYTE)),
  failure: () => ({ ...text('The disk is full.'), isError: true }),
  nothing: () => ({ content: [] }),
  structured: () => ({ content: [], structuredContent: { b: 1, a: [true] } }),
  mixed: () => ({
    content: [
      { type: 'text', text: 'before' },
      { type: 'image', data: Buffer.alloc(1_000).toString('base64'), mimeType: 'image/png' },
      { type: 'resource', resource: { uri: 'file:///notes', text: 'words of it' } },
      { type: 'resource', resource: { uri: 'file:///blob', blob: Buffer.alloc(10).toString('base64') } },
      { type: 'text', text: 'after' },
    ],
  }),
};

/** Over HTTP. */
const sessions = new Map<string, StreamableHTTPServerTransport>();

type Headers = Readonly<Record<string, unknown>>;

function createMcpServer(): Server {
  const server = new Server(
    { name: 'harbour', version: '1' },
    { capabilities: { tools: { listChanged: true } } },
  );
  server.setRequestHandler(ListToolsRequestSchema, async ({ params }) => {
    log(`list ${params?.cursor ?? 'first'}`);
    return params?.cursor === 'rest'
      ? { tools: tools.slice(2) }
      : { tools: tools.slice(0, 2), nextCursor: 'rest' };
  });
  // Past the server's own check, which would turn nonsense into a proper error.
  Protocol.prototype.setRequestHandler.call(
    server,
    CallToolRequestSchema,
    async ({ params }: CallToolRequest, { signal, requestInfo }: RequestHandlerExtra<never, never>) => {
      log(`call ${params.name}`);
      return perform(server, params, signal, (requestInfo?.headers ?? {}) as Headers);
    },
  );
  return server;
}

async function perform(
  server: Server,
  { name, arguments: args = {} }: { readonly name: string; readonly arguments?: Headers | undefined },
  signal: AbortSignal,
  headers: Headers,
): Promise<CallToolResult> {
  switch (name) {
    case 'add':
      return text(String(Number(args.a) + Number(args.b)));
    case 'say':
      return SAYINGS[String(args.what)]?.() ?? text(String(args.what));
    case 'environment': {
      process.stderr.write(`my environment: ${JSON.stringify(process.env)}\n`);
      return text(JSON.stringify({ environment: process.env, headers, pid: process.pid }));
    }
    case 'crash':
      return process.exit(3);
    case 'wait':
      return waiting(signal);
    case 'ask':
      return ask(server);
    case 'forget':
      sessions.clear();
      return text('forgotten');
    case 'grow':
      tools.push({ name: `grown${tools.length}`, inputSchema: anything });
      await server.sendToolListChanged();
      return text('grown');
    case 'junk':
      return { content: 'not a list' } as never;
    default:
      throw new Error(`refused, with ${JSON.stringify(process.env)}`);
  }
}

function waiting(signal: AbortSignal): Promise<CallToolResult> {
  log('waiting');
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => {
      log('cancelled');
      resolve(text('cancelled'));
    });
  });
}

/** What becomes of a server's own wishes. */
async function ask(server: Server): Promise<CallToolResult> {
  const params = { messages: [{ role: 'user', content: { type: 'text', text: 'Hi' } }], maxTokens: 9 };
  const wishes = [
    { method: 'sampling/createMessage', params },
    { method: 'elicitation/create', params: { message: 'Your name?', requestedSchema: anything } },
    { method: 'roots/list' },
  ];
  const { ResultSchema } = await import('@modelcontextprotocol/sdk/types.js');
  const answers = wishes.map(({ method, params: given }) =>
    server.request({ method, params: given } as never, ResultSchema).then(
      () => `${method} granted`,
      (error: Error) => `${method}: ${error.message}`,
    ),
  );
  return text((await Promise.all(answers)).join('\n'));
}

async function serveHttp(): Promise<void> {
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const known = sessions.get(String(request.headers['mcp-session-id']));
    if (request.method === 'DELETE') log('goodbye');
    if (known === undefined && request.headers['mcp-session-id'] !== undefined) {
      response.writeHead(404).end();
      return;
    }
    const session = known ?? (await openSession());
    await session.handleRequest(request, response, await bodyOf(request));
  };
  const http = createServer((request, response) => void handle(request, response));
  http.listen(Number(port), '127.0.0.1', () => {
    process.stdout.write(`${(http.address() as AddressInfo).port}\n`);
  });
}

async function openSession(): Promise<StreamableHTTPServerTransport> {
  log(`session ${process.pid}`);
  const session = new StreamableHTTPServerTransport({
    sessionIdGenerator: () => randomUUID(),
    onsessioninitialized: (id) => void sessions.set(id, session),
  });
  await createMcpServer().connect(session as Transport);
  return session;
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString());
}

log(`start ${process.pid}`);
if (transport === 'http') await serveHttp();
else {
  process.stderr.write('harbour is up\n');
  await createMcpServer().connect(new StdioServerTransport());
}
