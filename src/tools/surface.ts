/** What a deployment offers a model to reach: tools, skills and servers, and which tools a request has loaded. */
import type { Domain } from '../ledger/domains.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import type { Tool, ToolOutput } from './contract.ts';
import { NO_SKILLS, type SkillSet } from './skills/index.ts';

/** The tools through which a model reaches what its request does not carry. */
export const FIND_TOOLS = 'find_tools';
export const ACTIVATE_SKILL = 'activate_skill';
export const MCP = 'mcp';
/** Through which a model edits what its requests carry, where the session lets it. */
export const CONTEXT = 'context';
/** Through which it reads back what left. */
export const TRANSCRIPT = 'transcript';

/** Through which a turn has a directive done in a session of its own. */
export const DELEGATE = 'delegate';

/** All of it in a fixed order, whatever order it came in. */
export interface ToolSurface {
  get(name: string): Tool | undefined;
  names(): readonly string[];
  /** Every tool, by name. */
  all(): readonly Tool[];
  readonly skills: SkillSet;
  /** The servers behind the tool `mcp`, by name. */
  readonly servers: readonly string[];
}

/** What a session's settings say of its tools. */
export interface SurfaceTerms {
  /** The tools it may call, by name; null for every tool of the deployment. */
  readonly tools: readonly string[] | null;
  /** Everything is loaded from the start. */
  readonly all: boolean;
  /** Items leave the requests: the session has the tools to edit them and to read them back, whatever it names. */
  readonly evicts: boolean;
  /** Its turns may have directives done in sessions of their own. */
  readonly delegates: boolean;
}

/** What is known when a turn starts of the tools it will want. */
export interface Wanted {
  /** Loaded before in this session, in order of their first load. */
  readonly earlier: readonly string[];
  readonly domains: readonly Domain[];
  /** Types of card that the request asks for. */
  readonly cards: readonly string[];
}

/** Names a corrective result lists at most; a longer list teaches a small model nothing. */
const LISTED_NAMES = 60;
const SHOWN_NAME_CHARS = 80;
/** How cards name their tools, with `_` for the `-` of a type. */
const CARD_TOOL = /^emit_([a-z0-9_]+)_card$/;

/** @throws TurnwrightError `config_invalid` when two tools have one name. */
export function createToolSurface(
  tools: readonly Tool[],
  { skills = NO_SKILLS, servers = [] }: Partial<Pick<ToolSurface, 'skills' | 'servers'>> = {},
): ToolSurface {
  const sorted = [...tools].sort((a, b) => (a.name < b.name ? -1 : 1));
  const byName = new Map<string, Tool>();
  for (const tool of sorted) {
    if (byName.has(tool.name)) {
      const message = `Two tools are named "${tool.name}". Rename or remove one of them.`;
      throw new TurnwrightError('config_invalid', message);
    }
    byName.set(tool.name, tool);
  }
  return {
    get: (name) => byName.get(name),
    names: () => [...byName.keys()],
    all: () => sorted,
    skills,
    servers: [...servers].sort(),
  };
}

export function isAdmittedBy({ tools, evicts, delegates }: SurfaceTerms, { name }: Tool): boolean {
  if (name === CONTEXT) return evicts;
  if (name === DELEGATE && !delegates) return false;
  return tools === null || tools.includes(name) || (evicts && name === TRANSCRIPT);
}

/** The tools a session may call, loaded or not, by name. */
export function admittedTools(surface: ToolSurface, terms: SurfaceTerms): readonly Tool[] {
  return surface.all().filter((tool) => isAdmittedBy(terms, tool));
}

/** Of the admitted tools those that wait to be needed: what is loaded in every request is not among them. */
export function waitingTools(admitted: readonly Tool[], terms: SurfaceTerms): readonly Tool[] {
  return loadsAll(terms) ? [] : admitted.filter((tool) => !isAlwaysLoaded(tool, terms));
}

/** Always-loaded tools by name, then the others in order of their first load; new ones of one turn join by name. */
export function loadedTools(admitted: readonly Tool[], terms: SurfaceTerms, wanted: Wanted): readonly Tool[] {
  if (loadsAll(terms)) return admitted;
  const waiting = new Map(waitingTools(admitted, terms).map((tool) => [tool.name, tool]));
  const take = (name: string): readonly Tool[] => {
    const tool = waiting.get(name);
    return tool !== undefined && waiting.delete(name) ? [tool] : [];
  };
  const earlier = wanted.earlier.flatMap(take);
  const fresh = [...waiting.values()].filter((tool) => isWanted(tool, wanted));
  return [...admitted.filter((tool) => isAlwaysLoaded(tool, terms)), ...earlier, ...fresh];
}

/** The types of card that the tools emit. */
export function cardTypesOf(tools: readonly Tool[]): readonly string[] {
  return tools.flatMap((tool) => cardTypeOf(tool) ?? []);
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

function isAlwaysLoaded({ alwaysLoaded, name }: Tool, { evicts }: SurfaceTerms): boolean {
  return alwaysLoaded || (evicts && (name === CONTEXT || name === TRANSCRIPT));
}

function loadsAll({ tools, all }: SurfaceTerms): boolean {
  return tools !== null || all;
}

function isWanted(tool: Tool, { domains, cards }: Wanted): boolean {
  if (tool.serves.length > 0) return tool.serves.some((domain) => domains.includes(domain));
  const type = cardTypeOf(tool);
  return !tool.deferred || (type !== null && cards.includes(type));
}

function cardTypeOf({ name, inHop }: Tool): string | null {
  const type = inHop ? CARD_TOOL.exec(name)?.[1] : undefined;
  return type?.replaceAll('_', '-') ?? null;
}
