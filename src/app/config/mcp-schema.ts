/** What a configuration may say of MCP servers. Each description completes "allowed is …" in a refusal. */
import { z } from 'zod';
import { DOMAINS } from '../../ledger/domains.ts';
import { TOOL_EFFECTS } from '../../tools/contract.ts';
import { count, durationMs, flag, name, path, urlOf } from './terms.ts';

/** Keys that say how a server is started. */
const COMMAND_KEYS = ['args', 'cwd', 'env'] as const;

const variable = z
  .string()
  .regex(/^[A-Za-z_]\w*$/)
  .describe('the name of the environment variable that holds the value, never the value itself');
const header = z.string().regex(/^[A-Za-z0-9-]{1,100}$/);

const declared = {
  effect: z
    .enum(TOOL_EFFECTS)
    .describe(`one of ${TOOL_EFFECTS.join(', ')}`)
    .exactOptional(),
  serves: z
    .array(z.enum(DOMAINS))
    .describe(`a list of ${DOMAINS.join(', ')}`)
    .exactOptional(),
};

const server = z
  .strictObject({
    command: z.string().min(1).describe('the program that is the server').exactOptional(),
    args: z.array(z.string()).describe('a list of texts').exactOptional(),
    cwd: path.exactOptional(),
    env: z
      .record(variable, variable)
      .describe('names of environment variables by the names the server sees')
      .exactOptional(),
    url: urlOf(['http:', 'https:'], 'https://host/mcp').exactOptional(),
    headersEnv: z
      .record(header, variable)
      .describe('names of environment variables by the names of headers')
      .exactOptional(),
    idleMs: durationMs.exactOptional(),
    timeoutMs: durationMs.exactOptional(),
    concurrent: count.exactOptional(),
    maxResultBytes: count.exactOptional(),
    ...declared,
    tools: z
      .record(z.string().min(1), z.strictObject({ ...declared, observes: flag.exactOptional() }))
      .describe('what is declared of tools, by their names')
      .exactOptional(),
  })
  .superRefine((given, context) => {
    const message = wrongEndpoint(given);
    if (message !== null) context.addIssue({ code: 'custom', message });
  });

export const mcpInput = z.strictObject({ servers: z.record(name, server).describe('servers by name') });

/** What would be allowed where a server cannot be reached as it is described; or null. */
function wrongEndpoint(given: Readonly<Record<string, unknown>>): string | null {
  const { command, url } = given;
  if ((command === undefined) === (url === undefined)) {
    return 'either command, for a server that is started here, or url, for one that runs elsewhere';
  }
  if (typeof url !== 'string') {
    return given.headersEnv === undefined ? null : 'headersEnv together with url only';
  }
  const stray = COMMAND_KEYS.find((key) => given[key] !== undefined);
  if (stray !== undefined) return `${stray} together with command only`;
  if (!URL.canParse(url)) return null;
  const { username, password } = new URL(url);
  return username + password === '' ? null : 'a url without user and password; headersEnv passes a secret';
}
