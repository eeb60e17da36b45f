/** How a server is reached: a process of its own, or HTTP. Both hold what comes back to a size. */
import { DEFAULT_INHERITED_ENV_VARS, StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { readLines } from './read-lines.ts';
import type { McpEndpoint } from './settings.ts';

/** In the message of every error by which more than `maxMessageBytes` shows, as the SDK words its own. */
export const TOO_LARGE = 'exceeded maximum size';
/** Of this process's environment, what a program needs to be found and to find its own files. */
const INHERITED = ['PATH', 'HOME'] as const;

export interface Reaching {
  /** What the endpoint's names of variables stand for. */
  readonly secrets: Readonly<Record<string, string>>;
  readonly inherited: (variable: string) => string | undefined;
  readonly maxMessageBytes: number;
  /** A line of the server's standard error. */
  readonly onStderr: (line: string) => void;
}

export type Transport = StdioClientTransport | StreamableHTTPClientTransport;

export function openTransport(endpoint: McpEndpoint, reaching: Reaching): Transport {
  return endpoint.kind === 'stdio' ? openStdio(endpoint, reaching) : openHttp(endpoint, reaching);
}

function openStdio(
  { command, args, cwd }: Extract<McpEndpoint, { kind: 'stdio' }>,
  { secrets, inherited, maxMessageBytes, onStderr }: Reaching,
): StdioClientTransport {
  const passed = INHERITED.map((variable) => [variable, inherited(variable)] as const);
  // The transport adds some variables of its own choice to what it is given; an undefined one is not passed.
  const unset = DEFAULT_INHERITED_ENV_VARS.map((variable) => [variable, undefined] as const);
  const env = { ...Object.fromEntries([...unset, ...passed]), ...secrets } as Record<string, string>;
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env,
    ...(cwd === undefined ? {} : { cwd }),
    stderr: 'pipe',
    maxBufferSize: maxMessageBytes,
  });
  if (transport.stderr !== null) readLines(transport.stderr, onStderr);
  return transport;
}

function openHttp(
  { url }: Extract<McpEndpoint, { kind: 'http' }>,
  { secrets, maxMessageBytes }: Reaching,
): StreamableHTTPClientTransport {
  return new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { ...secrets } },
    fetch: async (target, init) => bounded(await fetch(target, init), maxMessageBytes),
  });
}

/** The same response, whose body fails once it is larger. A stream of events that grows too old opens anew. */
function bounded(response: Response, maxBytes: number): Response {
  if (response.body === null) return response;
  let readBytes = 0;
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => {
      readBytes += chunk.byteLength;
      if (readBytes > maxBytes) controller.error(new Error(`the answer ${TOO_LARGE} of ${maxBytes} bytes`));
      else controller.enqueue(chunk);
    },
  });
  const { status, statusText, headers } = response;
  return new Response(response.body.pipeThrough(counter), { status, statusText, headers });
}
