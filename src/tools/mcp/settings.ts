/** What a deployment says of the MCP servers it may use. */
import type { Domain } from '../../ledger/domains.ts';
import type { ToolEffect } from '../contract.ts';

/** What a call means; nothing said means `once`. A server's own word for it is not asked. */
export interface McpDeclaration {
  readonly effect?: ToolEffect;
  readonly serves?: readonly Domain[];
  readonly observes?: boolean;
}

/** `environment` and `headers` name environment variables of this process: their values are secrets. */
export type McpEndpoint =
  | {
      readonly kind: 'stdio';
      readonly command: string;
      readonly args: readonly string[];
      /** Absolute. Absent: the folder of this process. */
      readonly cwd?: string;
      /** By the name the server sees. */
      readonly environment: Readonly<Record<string, string>>;
    }
  | {
      readonly kind: 'http';
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
    };

export interface McpServerSettings {
  readonly endpoint: McpEndpoint;
  /** Unused for so long, it is stopped. */
  readonly idleMs: number;
  /** Of one demand, with the waiting for a free place and the start it may need. */
  readonly timeoutMs: number;
  /** Calls it gets at once. */
  readonly concurrent: number;
  /** UTF-8 bytes of a result's text; the rest is cut off. */
  readonly maxResultBytes: number;
  /** What a call means unless `tools` says it of the tool. */
  readonly declared: Omit<McpDeclaration, 'observes'>;
  readonly tools: Readonly<Record<string, McpDeclaration>>;
}

/** By name. */
export type McpServers = Readonly<Record<string, McpServerSettings>>;

export const MCP_DEFAULTS = {
  idleMs: 300_000,
  timeoutMs: 60_000,
  concurrent: 4,
  maxResultBytes: 1_048_576,
} as const;

/** What is declared of a call; names come from a model and may be anything. */
export function declarationOf(servers: McpServers, server: string, tool: string): McpDeclaration {
  const settings = Object.hasOwn(servers, server) ? servers[server] : undefined;
  if (settings === undefined) return {};
  const own = Object.hasOwn(settings.tools, tool) ? settings.tools[tool] : undefined;
  return { ...settings.declared, ...own };
}
