/**
 * Calls that change what later requests carry: `find_tools` and `activate_skill`, answered where their batch is settled;
 * and what a turn's other calls say of how its directive was read.
 */
import type { Json } from '../ledger/json.ts';
import type { BodyOf, ToolStatus } from '../ledger/kinds.ts';
import { type TurnView, toolCalls } from '../ledger/view.ts';
import { DEFAULT_FOUND_TOOLS, findToolsInput, MAX_FOUND_TOOLS } from '../tools/builtins/find-tools.ts';
import { tooLongQuery } from '../tools/builtins/turn-search.ts';
import type { Tool } from '../tools/contract.ts';
import { ACTIVATE_SKILL, admittedTools, FIND_TOOLS, type ToolSurface } from '../tools/surface.ts';
import { searchTools } from '../tools/tool-search.ts';
import { isAdmitted, surfaceTerms } from './session-plan.ts';
import type { SessionConfig } from './sessions.ts';

/** Characters of a whole answer; later matches are named without their schemas. */
const ANSWER_CHARS = 24_000;
/** Names an answer lists that found nothing. */
const LISTED_NAMES = 20;

export interface SurfaceGiven {
  readonly surface: ToolSurface;
  readonly config: SessionConfig;
  readonly view: TurnView;
  readonly step: number;
}

export interface SurfaceAnswer {
  readonly content: string;
  readonly status: ToolStatus;
  /** null where later requests carry nothing new. */
  readonly growth: BodyOf<'surface-grown'> | null;
}

export interface SurfaceCall {
  readonly name: string;
  readonly args: Json;
}

/** @throws Error for a call of any other tool. */
export function answerSurfaceCall({ name, args }: SurfaceCall, given: SurfaceGiven): SurfaceAnswer {
  const answer = ANSWERS.get(name);
  const parsed = given.surface.get(name)?.parse(args);
  if (answer === undefined || parsed === undefined) throw new Error(`${name} changes no request`);
  return parsed.ok
    ? answer(parsed.args, given)
    : { content: parsed.message, status: 'invalid_args', growth: null };
}

const ANSWERS = new Map([
  [FIND_TOOLS, find],
  [ACTIVATE_SKILL, activate],
]);

function find(args: Json, { surface, config, view, step }: SurfaceGiven): SurfaceAnswer {
  const { query, limit = DEFAULT_FOUND_TOOLS } = findToolsInput.parse(args);
  const tooLong = tooLongQuery(query);
  if (tooLong !== null) return { content: tooLong, status: 'invalid_args', growth: null };
  const waiting = admittedTools(surface, surfaceTerms(config)).filter((tool) => !tool.alwaysLoaded);
  const found = searchTools(waiting, query, Math.min(Math.max(limit, 1), MAX_FOUND_TOOLS));
  if (found.length === 0) return { content: noneFound(waiting), status: 'ok', growth: null };
  const loaded = new Set([...(view.plan?.loaded ?? []), ...view.growths.flatMap(({ tools }) => tools)]);
  const fresh = found.filter(({ name }) => !loaded.has(name)).map(({ name }) => name);
  return {
    content: foundText(found, fresh),
    status: 'ok',
    growth: fresh.length === 0 ? null : { step, by: 'found', tools: fresh },
  };
}

function foundText(found: readonly Tool[], fresh: readonly string[]): string {
  const count = found.length === 1 ? '1 tool fits' : `${found.length} tools fit`;
  const heading =
    fresh.length === 0
      ? `${count}, and all are loaded already: call one of them, or go on without.`
      : `${count}, ${fresh.length} new to this turn: loaded from the next step on. Call what you need by its name.`;
  const parts = [heading];
  const bare: string[] = [];
  // Room for the names of all that may stay without a schema, whatever comes before.
  const namesChars = found.reduce((sum, { name }) => sum + name.length + 2, UNSHOWN.length);
  let left = ANSWER_CHARS - heading.length - namesChars;
  for (const tool of found) {
    const shown = `\n\n${tool.name} — ${tool.description}\n${JSON.stringify(tool.inputSchema)}`;
    left -= shown.length;
    if (left < 0) bare.push(tool.name);
    else parts.push(shown);
  }
  if (bare.length > 0) parts.push(`${UNSHOWN}${bare.join(', ')}`);
  return parts.join('');
}

const UNSHOWN = '\n\nWithout their schemas here: ';

function noneFound(waiting: readonly Tool[]): string {
  if (waiting.length === 0) return 'No tool waits: all that there are were loaded from the start.';
  const names = waiting.slice(0, LISTED_NAMES).map(({ name }) => name);
  const more = waiting.length - names.length;
  const listed = `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  return `No tool fits these words. Tools that are not part of every request: ${listed}. Call one by its name, or go on without.`;
}

/** The tool knows the skills there are: what it parsed is one of them. */
function activate(args: Json, { view, step }: SurfaceGiven): SurfaceAnswer {
  const name = nameIn(args);
  const isActive = view.growths.some((growth) => growth.skills?.includes(name) === true);
  if (isActive)
    return { content: `${name} is active already: follow its instructions.`, status: 'ok', growth: null };
  return {
    content: `${name} is active: its instructions stand in the system text from the next step on.`,
    status: 'ok',
    growth: { step, by: 'activated', tools: [], skills: [name] },
  };
}

function nameIn(args: Json): string {
  if (typeof args !== 'object' || args === null || !('name' in args)) return '';
  return typeof args.name === 'string' ? args.name : '';
}

/** A reply's calls, and what its request had loaded. */
export interface CallsMade {
  readonly step: number;
  readonly calls: readonly { readonly name: string }[];
  /** The turn before the reply. */
  readonly open: TurnView;
  /** `loaded` of the plan the reply was made under. */
  readonly loadedAtPlan: readonly string[];
  readonly surface: ToolSurface;
  readonly config: SessionConfig;
}

/** Tools the turn uses for the first time that its reading had not loaded, whether they were found since or not. */
export function misreads(made: CallsMade): readonly BodyOf<'misread'>[] {
  const { step, open } = made;
  const before = new Set(open.steps.flatMap(({ content }) => toolCalls(content).map(({ name }) => name)));
  const activated = open.growths.filter(({ by }) => by === 'activated').flatMap(({ tools }) => tools);
  const { act = '', domains = [] } = open.reading ?? {};
  return waitingCalls(made)
    .filter((tool) => !before.has(tool) && !activated.includes(tool))
    .map((tool) => ({ step, tool, act, domains: [...domains] }));
}

/** Tools that were called by their names alone: the next request has them loaded. null for none. */
export function grownByCalls(made: CallsMade): BodyOf<'surface-grown'> | null {
  const grown = new Set(made.open.growths.flatMap(({ tools }) => tools));
  const tools = waitingCalls(made).filter((name) => !grown.has(name));
  return tools.length === 0 ? null : { step: made.step, by: 'called', tools };
}

/** Tools that the runtime is about to ask for by name. null where all are loaded. */
export function grownByName(
  names: readonly string[],
  made: Omit<CallsMade, 'calls'>,
): BodyOf<'surface-grown'> | null {
  const growth = grownByCalls({ ...made, calls: names.map((name) => ({ name })) });
  return growth === null ? null : { ...growth, by: 'named' };
}

/** Names of called tools that the session admits and its plan had not loaded, each once, in order. */
function waitingCalls({ calls, loadedAtPlan, surface, config }: CallsMade): readonly string[] {
  const names = new Set(calls.map(({ name }) => name));
  return [...names].filter((name) => {
    const tool = surface.get(name);
    if (tool === undefined || tool.alwaysLoaded || !isAdmitted(config, tool)) return false;
    return !loadedAtPlan.includes(name);
  });
}
