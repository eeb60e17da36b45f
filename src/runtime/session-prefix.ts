/** The stable prefix of a session's requests as settings, tools and what the session has loaded make it. Pure. */
import { buildPrefix, type Prefix, prefixOf, type ServerListing } from '../context/assemble/prefix.ts';
import { EVICTION } from '../context/evict/wording.ts';
import type { ToolDefinition } from '../context/request.ts';
import { canonicalJson } from '../ledger/json.ts';
import type { BodyOf } from '../ledger/kinds.ts';
import { moreTools, serverList, skillList, skillText, withListing } from '../tools/catalogue.ts';
import { definitionOf } from '../tools/define.ts';
import {
  ACTIVATE_SKILL,
  admittedTools,
  FIND_TOOLS,
  loadedTools,
  MCP,
  type ToolSurface,
  type Wanted,
  waitingTools,
} from '../tools/surface.ts';
import { isAdmitted, surfaceTerms } from './session-plan.ts';
import type { SessionConfig } from './sessions.ts';

/** What a turn that starts adds to the settings. */
export interface Start extends Pick<Wanted, 'domains' | 'cards'> {
  /** The prefix the session was sent last; null before its first. */
  readonly before: Prefix | null;
  /** Tools that the turn before called without having them loaded. */
  readonly called: readonly string[];
  /** A leg of the session searches tools itself, and is sent those that are not loaded. */
  readonly searches: boolean;
}

export type Growth = BodyOf<'surface-grown'>;

const FIRST: Start = { before: null, called: [], domains: [], cards: [], searches: false };
/** Prefixes kept for each surface: sessions of equal settings share them. The oldest goes first. */
const KEPT = 128;

const kept = new WeakMap<ToolSurface, Map<string, Prefix>>();

/** Equal inputs give equal bytes. Left out, `start` is that of a session that has asked for nothing yet. */
export function sessionPrefix(config: SessionConfig, surface: ToolSurface, start: Start = FIRST): Prefix {
  const terms = surfaceTerms(config);
  const admitted = admittedTools(surface, terms);
  const { domains, cards } = start;
  const loaded = loadedTools(admitted, terms, { earlier: earlierTools(start), domains, cards });
  const skills = (start.before?.skills ?? []).filter((name) => surface.skills.body(name) !== null);
  const servers = (start.before?.servers ?? []).filter(({ name }) => surface.servers.includes(name));
  const names = loaded.map(({ name }) => name);
  const key = canonicalJson({
    config: partsOf(config),
    names,
    skills,
    servers: servers.map(plain),
    searches: start.searches,
    evicts: terms.evicts,
    delegates: terms.delegates,
  });
  return keptUnder(surface, key, () => {
    const may = (name: string): boolean => admitted.some((tool) => tool.name === name);
    const deferred = start.searches ? admitted.filter((tool) => !names.includes(tool.name)) : [];
    const sections = [
      terms.evicts ? EVICTION : '',
      moreTools(waitingTools(admitted, terms), may(FIND_TOOLS)),
      may(ACTIVATE_SKILL) ? skillList(surface.skills.all) : '',
      may(MCP) ? serverList(surface.servers, servers) : '',
      ...skills.map((name) => skillText(name, surface.skills.body(name) ?? '')),
    ];
    const held = { deferred: deferred.map(definitionOf), skills, servers };
    return buildPrefix(config.system, loaded.map(definitionOf), sections, held);
  });
}

/**
 * The prefix of a running turn with what was found, used, activated and listed since. What it held stays as it was
 * sent, whatever this deployment would make of it; only what is new to it is taken from here.
 */
export function grownPrefix(
  base: Prefix,
  growths: readonly Growth[],
  { config, surface }: { readonly config: SessionConfig; readonly surface: ToolSurface },
): Prefix {
  let { system } = base;
  const tools = [...base.tools];
  const skills = [...(base.skills ?? [])];
  const servers = new Map((base.servers ?? []).map((listing) => [listing.name, listing]));
  for (const growth of growths) {
    for (const name of growth.tools) {
      const definition = newTool(name, growth.by, base, { config, surface });
      if (definition !== null && !tools.some((tool) => tool.name === name)) tools.push(definition);
    }
    for (const name of growth.skills ?? []) {
      const body = skills.includes(name) ? null : surface.skills.body(name);
      if (body === null) continue;
      skills.push(name);
      system = `${system}\n\n${skillText(name, body)}`;
    }
    const { server } = growth;
    if (server === undefined || servers.get(server.name)?.digest === server.digest) continue;
    servers.set(server.name, server);
    system = withListing(system, server);
  }
  const deferred = (base.deferred ?? []).filter(({ name }) => !tools.some((tool) => tool.name === name));
  return prefixOf(system, tools, { deferred, skills, servers: [...servers.values()] });
}

/** Names of a prefix's tools that are not part of every request of its session. */
export function loadedNames({ tools }: Pick<Prefix, 'tools'>, surface: ToolSurface): readonly string[] {
  return tools.map(({ name }) => name).filter((name) => surface.get(name)?.alwaysLoaded !== true);
}

/** null for what adds nothing: it is there, it may not be, or the provider has expanded it by itself. */
function newTool(
  name: string,
  by: Growth['by'],
  base: Prefix,
  { config, surface }: { readonly config: SessionConfig; readonly surface: ToolSurface },
): ToolDefinition | null {
  const tool = surface.get(name);
  if (tool === undefined || !isAdmitted(config, tool)) return null;
  const isExpanded = by === 'called' && (base.deferred ?? []).some((one) => one.name === name);
  return isExpanded ? null : definitionOf(tool);
}

function earlierTools({ before, called }: Start): readonly string[] {
  return [...(before?.tools ?? []).map(({ name }) => name), ...called];
}

function partsOf(config: SessionConfig) {
  const { tools, all } = surfaceTerms(config);
  return { system: config.system, tools: tools === null ? null : [...tools], all };
}

function plain({ name, digest, tools }: ServerListing) {
  return { name, digest, tools: [...tools] };
}

function keptUnder(surface: ToolSurface, key: string, build: () => Prefix): Prefix {
  const prefixes = kept.get(surface) ?? new Map<string, Prefix>();
  kept.set(surface, prefixes);
  const found = prefixes.get(key);
  if (found !== undefined) return found;
  const prefix = build();
  prefixes.set(key, prefix);
  if (prefixes.size > KEPT) prefixes.delete(prefixes.keys().next().value ?? '');
  return prefix;
}
