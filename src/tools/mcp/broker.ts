/**
 * The one way to every MCP server of the deployment, one broker a process. Servers are started when they are
 * first demanded and stopped when they idle; the states of each stand at the head of `lifecycle.ts`.
 */
import type { Clock } from '../../ledger/clock.ts';
import type { JsonObject } from '../../ledger/json.ts';
import { type CallOutput, connect } from './connection.ts';
import { McpFailure } from './failure.ts';
import type { Listing } from './listing.ts';
import { type Lookup, resolveSecrets } from './secrets.ts';
import { McpServer } from './server.ts';
import type { McpEndpoint, McpServers } from './settings.ts';

export interface McpBrokerOptions {
  readonly servers: McpServers;
  /** Of this process's environment: where the values of secrets come from, read at each start. */
  readonly lookup: Lookup;
  readonly clock: Pick<Clock, 'monotonicMs' | 'after'>;
  /** For people who look for a fault: a server's standard error and what went wrong, without its secrets. */
  readonly onNote?: (note: { readonly server: string; readonly text: string }) => void;
}

export interface McpCall {
  readonly server: string;
  readonly tool: string;
  readonly args: JsonObject;
}

export interface McpBroker {
  /** The names of the servers, sorted. */
  readonly servers: readonly string[];
  /** @throws McpFailure, or the signal's reason. */
  list(server: string, signal: AbortSignal): Promise<Listing>;
  /** @throws McpFailure, or the signal's reason. */
  call(call: McpCall, signal: AbortSignal): Promise<CallOutput>;
  /** Stops every server and resolves when their processes have ended; what is demanded later is refused. */
  close(): Promise<void>;
}

export function createMcpBroker(options: McpBrokerOptions): McpBroker {
  const names = Object.keys(options.servers).sort();
  const servers = new Map(names.map((name) => [name, openServer(name, options)]));
  const known = (name: string): McpServer => {
    const server = servers.get(name);
    if (server === undefined) throw new McpFailure('it is not configured');
    return server;
  };
  return {
    servers: names,
    list: async (server, signal) => known(server).list(signal),
    call: async ({ server, tool, args }, signal) => known(server).call(tool, args, signal),
    close: async () => {
      await Promise.all([...servers.values()].map((server) => server.close()));
    },
  };
}

function openServer(name: string, { servers, lookup, clock, onNote }: McpBrokerOptions): McpServer {
  const settings = servers[name];
  if (settings === undefined) throw new Error(`the server ${name} has no settings`);
  return new McpServer({
    name,
    settings,
    clock,
    connect: async (events, signal) => {
      const resolved = resolveSecrets(namesOf(settings.endpoint), lookup);
      if (!resolved.ok) {
        const missing = resolved.missing.join(', ');
        throw new McpFailure(`it needs environment variables that are not set: ${missing}`);
      }
      const parts = { settings, secrets: resolved.values, inherited: lookup, clock };
      return connect(parts, { ...events, onNote: (text) => onNote?.({ server: name, text }) }, signal);
    },
  });
}

function namesOf(endpoint: McpEndpoint): Readonly<Record<string, string>> {
  return endpoint.kind === 'stdio' ? endpoint.environment : endpoint.headers;
}
