/** The tools of a deployment in one fixed order, and which of them a turn carries. */
import type { ToolDefinition } from '../context/request.ts';
import type { Domain } from '../ledger/domains.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import type { Tool, ToolOutput } from './contract.ts';
import { definitionOf } from './define.ts';

/** Domains a turn was read to need; `all` loads every tool. */
export type Need = readonly Domain[] | 'all';

export interface ToolSurface {
  get(name: string): Tool | undefined;
  names(): readonly string[];
  /** Every tool, by name. */
  all(): readonly Tool[];
  /** Always-loaded tools, tools serving a needed domain, and tools that declare none, by name. */
  loaded(need: Need): readonly Tool[];
  /** What the model sees of `loaded(need)`; the same bytes on every call. */
  definitions(need?: Need): readonly ToolDefinition[];
}

/** Names a corrective result lists at most; a longer list teaches a small model nothing. */
const LISTED_NAMES = 60;
const SHOWN_NAME_CHARS = 80;

/** @throws TurnwrightError `config_invalid` when two tools have one name. */
export function createToolSurface(tools: readonly Tool[]): ToolSurface {
  const sorted = [...tools].sort((a, b) => (a.name < b.name ? -1 : 1));
  const byName = new Map<string, Tool>();
  for (const tool of sorted) {
    if (byName.has(tool.name)) {
      const message = `Two tools are named "${tool.name}". Rename or remove one of them.`;
      throw new TurnwrightError('config_invalid', message);
    }
    byName.set(tool.name, tool);
  }
  const loaded = (need: Need) => sorted.filter((tool) => isLoaded(tool, need));
  return {
    get: (name) => byName.get(name),
    names: () => [...byName.keys()],
    all: () => sorted,
    loaded,
    definitions: (need = 'all') => loaded(need).map(definitionOf),
  };
}

/** The result of a call to a tool that does not exist. */
export function unknownTool(name: string, names: readonly string[]): ToolOutput {
  const shown = JSON.stringify(name.length > SHOWN_NAME_CHARS ? `${name.slice(0, SHOWN_NAME_CHARS)}…` : name);
  const near = names.find((known) => known.toLowerCase() === name.trim().toLowerCase());
  const listed = names.slice(0, LISTED_NAMES).join(', ');
  const more = names.length > LISTED_NAMES ? ` and ${names.length - LISTED_NAMES} more` : '';
  const hint = near === undefined ? '' : ` Did you mean ${near}?`;
  const tools =
    names.length === 0 ? 'There are no tools; answer without one.' : `The tools are: ${listed}${more}.`;
  return { content: `There is no tool ${shown}.${hint} ${tools}`, isError: true };
}

function isLoaded(tool: Tool, need: Need): boolean {
  if (need === 'all' || tool.alwaysLoaded || tool.serves.length === 0) return true;
  return tool.serves.some((domain) => need.includes(domain));
}
