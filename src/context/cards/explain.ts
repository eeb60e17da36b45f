/** What a model is told of a payload that does not fit: each bad member, what was found, what is allowed. */
import type { z } from 'zod';
import type { Json, JsonObject } from '../../ledger/json.ts';

/** A repair message is sent again with every later step of its turn, so all lines together stay within this. */
const PROBLEMS_CHARS = 800;
const FOUND_CHARS = 60;
const PLACE_CHARS = 60;
const ALLOWED_CHARS = 200;
const LISTED_KEYS = 5;

/** One line each, beginning with `- `. */
export type Problems = readonly string[];
type Issue = z.core.$ZodIssue;

const EXPECTED: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
};
const UNITS: Readonly<Record<string, string>> = { string: ' characters', array: ' items' };

export function problemsOf(schema: JsonObject, issues: readonly Issue[]): Problems {
  const shown: string[] = [];
  let room = PROBLEMS_CHARS;
  for (const issue of issues) {
    const line = explain(schema, issue);
    room -= line.length + 1;
    if (room < 0) break;
    shown.push(line);
  }
  const rest = issues.length - shown.length;
  return rest > 0 ? [...shown, `- and ${rest} more.`] : shown;
}

/** The problem of a payload that passed no check because a check failed. */
export function unusable(error: unknown): Problems {
  const name = error instanceof Error ? error.name : typeof error;
  return [`- the payload: this card cannot be made from it (${clip(name, FOUND_CHARS)}).`];
}

export function explainCall(tool: string, problems: Problems): string {
  return [`The payload of ${tool} does not fit:`, ...problems, `Correct it and call ${tool} again.`].join(
    '\n',
  );
}

export function explainFence(type: string, problems: Problems): string {
  const first = `The card fence of type ${type} does not fit:`;
  return [first, ...problems, 'Correct it and write the answer again.'].join('\n');
}

/** A name that came from a model, quoted and short. */
export function quoted(name: string): string {
  return JSON.stringify(clip(name, FOUND_CHARS));
}

function explain(schema: JsonObject, issue: Issue): string {
  const place = placeOf(issue.path);
  if (issue.code === 'unrecognized_keys') {
    const more = issue.keys.length - LISTED_KEYS;
    const keys =
      issue.keys.slice(0, LISTED_KEYS).map(quoted).join(', ') + (more > 0 ? ` and ${more} more` : '');
    const known = membersAt(schema, issue.path).join(', ') || 'none';
    return `- ${place}: found ${keys}; its members are ${clip(known, ALLOWED_CHARS)}.`;
  }
  return `- ${place}: found ${found(issue.input)}; allowed is ${clip(allowed(issue), ALLOWED_CHARS)}.`;
}

function placeOf(path: readonly PropertyKey[]): string {
  if (path.length === 0) return 'the payload';
  const text = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('');
  return clip(text.startsWith('.') ? text.slice(1) : text, PLACE_CHARS);
}

/** Looks one level deep only: what was sent may be large, or nest without end. */
function found(input: unknown): string {
  if (input === undefined) return 'nothing';
  if (typeof input === 'string') return quoted(input);
  if (Array.isArray(input)) return `a list of ${input.length}`;
  if (typeof input !== 'object' || input === null) return String(input);
  return Object.keys(input).length === 0 ? 'an empty object' : 'an object';
}

function allowed(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return EXPECTED[issue.expected] ?? issue.expected;
    case 'invalid_value':
      return `one of ${issue.values.map((value) => JSON.stringify(String(value))).join(', ')}`;
    case 'too_big':
      return `${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}${UNITS[issue.origin] ?? ''}`;
    case 'too_small':
      return `${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}${UNITS[issue.origin] ?? ''}`;
    case 'invalid_format':
      return `a text of the form ${issue.format}`;
    case 'not_multiple_of':
      return `a multiple of ${issue.divisor}`;
    case 'invalid_union':
      return formsOf(issue.errors) || issue.message;
    case 'unrecognized_keys':
    case 'invalid_key':
    case 'invalid_element':
    case 'custom':
      return issue.message;
  }
}

function formsOf(branches: readonly (readonly Issue[])[]): string {
  const forms = branches.flatMap(([issue]) => (issue === undefined ? [] : [allowed(issue)]));
  return [...new Set(forms)].join(' or ');
}

function membersAt(schema: JsonObject, path: readonly PropertyKey[]): readonly string[] {
  let node: Json | undefined = schema;
  for (const key of path) {
    if (!isObject(node)) return [];
    const members: Json | undefined = node.properties;
    node = typeof key === 'number' ? node.items : isObject(members) ? members[String(key)] : undefined;
  }
  return isObject(node) && isObject(node.properties) ? Object.keys(node.properties) : [];
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function clip(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${text.slice(0, maxChars - 1).toWellFormed()}…`;
}
