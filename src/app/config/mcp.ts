/** The configured MCP servers with their defaults. */
import { resolve } from 'node:path';
import { MCP_DEFAULTS, type McpEndpoint, type McpServers } from '../../tools/mcp/settings.ts';
import type { ConfigInput } from './schema.ts';

type ServerInput = NonNullable<ConfigInput['mcp']>['servers'][string];

/** Relative folders are of `cwd`. The schema has seen to it that each has a command or a URL. */
export function mcpServersOf(servers: Readonly<Record<string, ServerInput>>, cwd: string): McpServers {
  const entries = Object.entries(servers).map(([name, server]) => {
    const { idleMs, timeoutMs, concurrent, maxResultBytes, serves, effect } = server;
    const settings = {
      endpoint: endpointOf(server, cwd),
      idleMs: idleMs ?? MCP_DEFAULTS.idleMs,
      timeoutMs: timeoutMs ?? MCP_DEFAULTS.timeoutMs,
      concurrent: concurrent ?? MCP_DEFAULTS.concurrent,
      maxResultBytes: maxResultBytes ?? MCP_DEFAULTS.maxResultBytes,
      declared: { ...(serves === undefined ? {} : { serves }), ...(effect === undefined ? {} : { effect }) },
      tools: server.tools ?? {},
    };
    return [name, settings] as const;
  });
  return Object.fromEntries(entries);
}

function endpointOf(server: ServerInput, cwd: string): McpEndpoint {
  if (server.url !== undefined) return { kind: 'http', url: server.url, headers: server.headersEnv ?? {} };
  return {
    kind: 'stdio',
    command: server.command ?? '',
    args: server.args ?? [],
    ...(server.cwd === undefined ? {} : { cwd: resolve(cwd, server.cwd) }),
    environment: server.env ?? {},
  };
}
