/** What the offered tools are for, judged from their names, descriptions and schemas alone. */
import type { ToolDefinition } from '../../context/request.ts';
import { asArray, asObject, asString, type Untyped } from '../untyped.ts';
import { holds, type Term } from './terms.ts';

export interface Property {
  readonly name: string;
  readonly schema: Untyped;
  readonly required: boolean;
  /** Name and description, lower case. */
  readonly text: string;
}

/**
 * `fetch` returns a named file, `list` names of files, `search` lines of files, `retrieve` stored text by id;
 * `present` shows a person what was found in some form; `finder` finds tools that are not offered; `skill` loads
 * instructions by their name; `broker` reaches the tools of a server; `transcript` reads what was recorded, item by
 * item, and `context` takes items out of the requests.
 */
export type ToolRole =
  | 'fetch'
  | 'list'
  | 'search'
  | 'retrieve'
  | 'present'
  | 'finder'
  | 'skill'
  | 'broker'
  | 'transcript'
  | 'context'
  | 'other';

export interface KnownTool {
  readonly tool: ToolDefinition;
  readonly properties: readonly Property[];
  readonly role: ToolRole;
  /** The property that role turns on; null for `other`. */
  readonly key: Property | null;
}

const PATH_NAME = /^(?:paths?|files?|file_?paths?|file_?names?|filenames?|documents?|uri)$/i;
const PATH_TEXT = /\b(?:path|file|document)\b/;
const PATTERN_NAME = /pattern|glob|query|regex|search|expression|needle|keyword/i;
const ID_NAME = /^(?:id|ids|evidence|evidence_?id|ref|handle)$/i;
const STORED = /\b(?:recalls?|evidence|stored)\b/;
const CHANGES =
  /\b(?:writes?|creates?|deletes?|edits?|replaces?|moves?|appends?|overwrites?|runs?|executes?|sends?|updates?)\b/;
const PRESENTS =
  /\bcards?\b|\b(?:presents?|displays?|renders?|shows?)\b[^.]*\bto (?:the|a) (?:user|reader|person)\b/;
const LIST_CUES = /\b(?:lists?|globs?|wildcards?|names?|paths?|entries|directory|locates?)\b/g;
const SEARCH_CUES = /\b(?:contents?|lines?|text|regex|regular|inside|occurrences?|grep|within)\b/g;
const ABOUT_FILES = /\b(?:files?|documents?|folders?|workspace|repository|directory|tree)\b/;
const FINDS_TOOLS = /\b(?:finds?|search(?:es)?|looks? (?:up|for)|discovers?|loads?)\b[^.]*\btools?\b/;
const LOADS_SKILL = /\bskills?\b/;
const SKILL_NAME = /^(?:name|skill|skill_?name|id)$/i;
const SERVER_NAME = /^servers?(?:_?name)?$/i;
const TOOL_NAME = /^(?:tool|tool_?name|action|method)$/i;
/** Of the world as it stands now, beyond the folder and the conversation. */
const OUTSIDE =
  /\b(?:web|internet|online|live|current|latest|news|real[- ]time|up[- ]to[- ]date|quotes?|forecasts?)\b/;
/** No tool is judged by more of its first sentence. */
const MAX_SENTENCE_CHARS = 600;
/** Files are read by name or searched; these look at a conversation's own past. */
const ABOUT_PAST = /\b(?:transcript|conversation|sessions?|turns?|tools)\b/;

export function describeTools(tools: readonly ToolDefinition[]): readonly KnownTool[] {
  return tools.map(describe);
}

/** The tool of a role that shares most with the directive; the first of equals. */
export function toolFor(
  role: ToolRole,
  tools: readonly KnownTool[],
  terms: readonly Term[],
): KnownTool | undefined {
  const candidates = tools.filter((known) => known.role === role);
  return candidates.toSorted((left, right) => affinity(right, terms) - affinity(left, terms))[0];
}

/** Terms met in the tool's words, those of its name counting twice. */
export function affinity(known: KnownTool, terms: readonly Term[]): number {
  const name = wordsOf(known.tool.name);
  const about =
    `${known.tool.description} ${known.properties.map((one) => one.text).join(' ')}`.toLowerCase();
  return terms.reduce((sum, term) => sum + (holds(name, term) ? 2 : holds(about, term) ? 1 : 0), 0);
}

/** Looks at the world beyond the folder: nothing of the conversation's own past, and nothing that changes. */
export function looksOutside(known: KnownTool): boolean {
  const about = aboutOf(known.tool);
  return known.role === 'other' && OUTSIDE.test(about) && !looksBack(known) && !changes(known);
}

/** Returns what a conversation said or did before. */
export function looksBack({ role, tool }: KnownTool): boolean {
  if (role === 'retrieve' || role === 'transcript') return true;
  return role === 'other' && ABOUT_PAST.test(firstSentence(aboutOf(tool)));
}

/** A call leaves something different behind. */
export function changes({ role, tool }: KnownTool): boolean {
  return (role === 'other' || role === 'broker') && CHANGES.test(firstSentence(aboutOf(tool)));
}

/** A name no sentence holds by chance is enough; a plain word must be ordered or stand in quotes. */
export function mentions(text: string, name: string): boolean {
  if (!/[_-]|[a-z][A-Z]|\d/.test(name)) return ordered(name, text);
  return new RegExp(`(?<![\\w-])${name.replace(/[^\w]/g, '\\$&')}(?![\\w-])`).test(text);
}

/** `call the x tool`, `use x`, or the name in code quotes: a plain word that is a tool's name is no order. */
export function ordered(name: string, text: string): boolean {
  const escaped = name.replace(/[^\w]/g, '\\$&');
  return new RegExp(
    `\\b(?:call|use|invoke|run)(?:ing)?\\s+(?:the\\s+)?(?:tool\\s+)?[\`"']?${escaped}\\b|\`${escaped}\``,
    'i',
  ).test(text);
}

/** `searchFiles` and `search_files` both read as words. */
export function wordsOf(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replace(/[_-]+/g, ' ')
    .toLowerCase();
}

function describe(tool: ToolDefinition): KnownTool {
  const properties = propertiesOf(tool.inputSchema);
  const about = aboutOf(tool);
  const known = (role: ToolRole, key: Property | null): KnownTool => ({ tool, properties, role, key });
  const role = roleByOps(opsIn(tool.inputSchema));
  if (role !== null) return known(role, null);
  const id = properties.find((one) => ID_NAME.test(one.name));
  if (id !== undefined && STORED.test(about)) return known('retrieve', id);
  const behind = rolesBehind(properties, firstSentence(about));
  if (behind !== null) return known(behind.role, behind.key);
  if (PRESENTS.test(firstSentence(about)) && pathOf(properties, undefined) === undefined)
    return known('present', null);
  if (!ABOUT_FILES.test(`${about} ${properties.map((one) => one.text).join(' ')}`))
    return known('other', null);
  if (CHANGES.test(firstSentence(about)) || ABOUT_PAST.test(firstSentence(about)))
    return known('other', null);
  const patterns = properties.filter((one) => PATTERN_NAME.test(one.name) && isTextual(one));
  const pattern = patterns.find((one) => one.required) ?? patterns[0];
  const path = pathOf(properties, pattern);
  if (pattern !== undefined && (pattern.required || path === undefined)) {
    const words = `${about} ${pattern.text}`;
    const lists = words.match(LIST_CUES)?.length ?? 0;
    const searches = words.match(SEARCH_CUES)?.length ?? 0;
    return known(lists > searches ? 'list' : 'search', pattern);
  }
  if (path === undefined) return known('other', null);
  return known(/\blists?\b|\bentries\b/.test(firstSentence(about)) ? 'list' : 'fetch', path);
}

/** Tools that lead to other tools or to instructions. */
function rolesBehind(
  properties: readonly Property[],
  sentence: string,
): { readonly role: ToolRole; readonly key: Property } | null {
  const query = properties.find((one) => PATTERN_NAME.test(one.name) && isTextual(one));
  if (query !== undefined && FINDS_TOOLS.test(sentence)) return { role: 'finder', key: query };
  const server = properties.find((one) => SERVER_NAME.test(one.name) && isTextual(one));
  if (server !== undefined && properties.some((one) => TOOL_NAME.test(one.name)))
    return { role: 'broker', key: server };
  const skill = properties.find((one) => SKILL_NAME.test(one.name) && one.required);
  return skill !== undefined && LOADS_SKILL.test(sentence) ? { role: 'skill', key: skill } : null;
}

/** What a tool can be asked to do, where its schema lists that: at its top or in its alternatives. */
function opsIn(schema: Untyped): ReadonlySet<unknown> {
  const options = [schema, ...(asArray(schema.anyOf) ?? []), ...(asArray(schema.oneOf) ?? [])];
  const ops = options.map((option) => asObject(asObject(asObject(option)?.properties)?.op));
  return new Set(ops.flatMap((op) => [op?.const, ...(asArray(op?.enum) ?? [])]));
}

function roleByOps(ops: ReadonlySet<unknown>): ToolRole | null {
  if (ops.has('read') && ops.has('grep')) return 'transcript';
  return ops.has('evict') ? 'context' : null;
}

function pathOf(properties: readonly Property[], pattern: Property | undefined): Property | undefined {
  const candidates = properties.filter((one) => one !== pattern && isTextual(one));
  return (
    candidates.find((one) => PATH_NAME.test(one.name)) ??
    candidates.find((one) => one.required && PATH_TEXT.test(one.text))
  );
}

function propertiesOf(schema: Untyped): readonly Property[] {
  const required = asArray(schema.required) ?? [];
  return Object.entries(asObject(schema.properties) ?? {}).map(([name, value]) => {
    const property = asObject(value) ?? {};
    const text = `${wordsOf(name)} ${(asString(property.description) ?? '').toLowerCase()}`;
    return { name, schema: property, required: required.includes(name), text };
  });
}

/** A text, or a list of texts. */
function isTextual({ schema }: Property): boolean {
  const types = [schema.type].flat();
  if (types.includes('string')) return schema.enum === undefined;
  return types.includes('array') && asObject(schema.items)?.type === 'string';
}

function aboutOf(tool: ToolDefinition): string {
  return `${wordsOf(tool.name)} ${tool.description.toLowerCase()}`;
}

function firstSentence(text: string): string {
  const end = text.indexOf('.');
  return text.slice(0, end === -1 ? MAX_SENTENCE_CHARS : Math.min(end, MAX_SENTENCE_CHARS));
}
