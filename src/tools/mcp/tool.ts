/** `mcp`: what the servers of the deployment offer, and calls of it. What a call means is declared, not asked. */
import { z } from 'zod';
import { DOMAINS, type Domain } from '../../ledger/domains.ts';
import type { Json, JsonObject } from '../../ledger/json.ts';
import { tolerateBlanks } from '../builtins/blanks.ts';
import type { CallTraits, Tool, ToolContext, ToolOutput } from '../contract.ts';
import { defineTool, MAX_TOOL_TIMEOUT_MS, traitsFrom } from '../define.ts';
import { unknownName } from '../unknown-name.ts';
import type { McpBroker } from './broker.ts';
import { McpFailure } from './failure.ts';
import { listText, toolText } from './list-text.ts';
import { firstBytes } from './plain-text.ts';
import { declarationOf, MCP_DEFAULTS, type McpServers } from './settings.ts';

/** A server's own time is up first, and its message says more. */
const TIMEOUT_MARGIN_MS = 10_000;
const DESCRIBED_NAMES_CHARS = 1_000;

const LIST_TRAITS: CallTraits = { effect: 'read', observes: false, retrieves: false };

const input = z.strictObject({
  action: z.enum(['list', 'call']).describe('"list" shows tools and their arguments; "call" runs one.'),
  server: z.string().describe('Name of the server.'),
  tool: z.string().optional().describe('Name of the tool to call, or of the one to show.'),
  arguments: z.record(z.string(), z.unknown()).optional().describe('Arguments of the call.'),
});
type Asked = z.output<typeof input>;

interface Reach {
  readonly broker: McpBroker;
  readonly servers: McpServers;
}

/** Present only where servers are configured. */
export function mcpTool(broker: McpBroker, servers: McpServers): Tool {
  const names = broker.servers.join(', ').slice(0, DESCRIBED_NAMES_CHARS);
  const longestMs = Math.max(MCP_DEFAULTS.timeoutMs, ...Object.values(servers).map((one) => one.timeoutMs));
  const tool = defineTool({
    name: 'mcp',
    description: `Lists and calls the tools of other programs. List a server's tools before calling one. The servers: ${names}.`,
    input,
    serves: servedBy(servers),
    alwaysLoaded: true,
    effect: 'once',
    timeoutMs: Math.min(longestMs + TIMEOUT_MARGIN_MS, MAX_TOOL_TIMEOUT_MS),
    run: (asked, context) => answer(asked, context, { broker, servers }),
  });
  const tolerant = tolerateBlanks(tool, ['tool']);
  return {
    ...tolerant,
    parse: (args) => tolerant.parse(withParsedArguments(args)),
    traitsOf: (args) => traitsOf(args, servers),
  };
}

async function answer(asked: Asked, { signal }: ToolContext, reach: Reach): Promise<ToolOutput> {
  const { action, server, tool } = asked;
  if (!reach.broker.servers.includes(server)) {
    return failure(unknownName('server', server, reach.broker.servers));
  }
  try {
    return action === 'list' ? await list(asked, signal, reach) : await call(asked, signal, reach);
  } catch (error) {
    if (!(error instanceof McpFailure)) throw error;
    const { effect } = declarationOf(reach.servers, server, tool ?? '');
    const doubt =
      error.mayHaveRun && effect !== 'read'
        ? ' The call may have taken effect all the same: check before making it again.'
        : '';
    return failure(`The server ${server} could not be used: ${error.message}.${doubt}`);
  }
}

async function list({ server, tool }: Asked, signal: AbortSignal, reach: Reach): Promise<ToolOutput> {
  const listing = await reach.broker.list(server, signal);
  const names = listing.tools.map(({ name }) => name);
  const maxBytes = reach.servers[server]?.maxResultBytes ?? MCP_DEFAULTS.maxResultBytes;
  const listed = { server, digest: listing.digest, tools: names };
  if (tool === undefined) {
    return { content: listText(listing, { server, maxBytes }), isError: false, listed };
  }
  const found = listing.tools.find(({ name }) => name === tool);
  return found === undefined
    ? { ...failure(unknownName(`tool of ${server}`, tool, names)), listed }
    : { content: firstBytes(toolText(found), maxBytes), isError: false, listed };
}

async function call(asked: Asked, signal: AbortSignal, { broker }: Reach): Promise<ToolOutput> {
  const { server, tool, arguments: args = {} } = asked;
  if (tool !== undefined) return broker.call({ server, tool, args: args as JsonObject }, signal);
  const { tools } = await broker.list(server, signal);
  const names = tools.map(({ name }) => name).join(', ');
  return failure(`A call needs the name of its tool. ${server} offers: ${names || 'none'}.`);
}

/** Never throws, whatever the model sent. */
function traitsOf(args: Json, servers: McpServers): CallTraits {
  const { action, server, tool } = isObject(args) ? args : {};
  if (action === 'list') return LIST_TRAITS;
  const isNamed = typeof server === 'string' && typeof tool === 'string';
  return traitsFrom(isNamed ? declarationOf(servers, server, tool) : {});
}

/** Small models send the arguments of the call as a text, or null for none. */
function withParsedArguments(args: Json): Json {
  if (!isObject(args)) return args;
  const { arguments: given, ...rest } = args;
  if (given === undefined || given === null || given === '') return rest;
  if (typeof given !== 'string') return args;
  try {
    return { ...rest, arguments: JSON.parse(given) as Json };
  } catch {
    return args;
  }
}

/** What the servers are declared to serve, in the order of the vocabulary. */
function servedBy(servers: McpServers): readonly Domain[] {
  const declared = Object.values(servers).flatMap(({ declared: own, tools }) => [
    own,
    ...Object.values(tools),
  ]);
  const served = new Set(declared.flatMap(({ serves = [] }) => serves));
  return DOMAINS.filter((domain) => served.has(domain));
}

function failure(content: string): ToolOutput {
  return { content, isError: true };
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
