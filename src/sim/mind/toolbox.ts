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
 * `present` shows a person what was found in some form.
 */
export type ToolRole = 'fetch' | 'list' | 'search' | 'retrieve' | 'present' | 'other';

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
  const about = `${wordsOf(tool.name)} ${tool.description.toLowerCase()}`;
  const known = (role: ToolRole, key: Property | null): KnownTool => ({ tool, properties, role, key });
  const id = properties.find((one) => ID_NAME.test(one.name));
  if (id !== undefined && STORED.test(about)) return known('retrieve', id);
  if (PRESENTS.test(firstSentence(about)) && pathOf(properties, undefined) === undefined)
    return known('present', null);
  if (!ABOUT_FILES.test(`${about} ${properties.map((one) => one.text).join(' ')}`))
    return known('other', null);
  if (CHANGES.test(firstSentence(about)) || ABOUT_PAST.test(firstSentence(about)))
    return known('other', null);
  const pattern = properties.find((one) => PATTERN_NAME.test(one.name) && isTextual(one));
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

function firstSentence(text: string): string {
  return /^[^.]*/.exec(text)?.[0] ?? text;
}
