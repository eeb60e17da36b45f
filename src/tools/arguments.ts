/** The message a model gets for arguments that do not fit: each bad property, what was found, what is allowed. */
import type { z } from 'zod';
import type { Json, JsonObject } from '../ledger/json.ts';

/** A repair message is re-sent with every later step of its turn. */
const MESSAGE_CHARS = 1_000;
const FOUND_CHARS = 60;
const ALLOWED_CHARS = 200;
/** Kept free for the line that counts what did not fit. */
const REST_CHARS = 40;

type Issue = z.core.$ZodIssue;

export function explainArguments(tool: string, schema: JsonObject, issues: readonly Issue[]): string {
  const first = `The arguments of ${tool} do not fit:`;
  const last = `Correct them and call ${tool} again.`;
  const problems = issues.flatMap((issue) => explainIssue(schema, issue));
  let room = MESSAGE_CHARS - first.length - last.length - REST_CHARS;
  const shown: string[] = [];
  for (const problem of problems) {
    room -= problem.length + 1;
    if (room < 0) break;
    shown.push(problem);
  }
  const rest = problems.length - shown.length;
  return [first, ...shown, ...(rest > 0 ? [`- and ${rest} more.`] : []), last].join('\n');
}

function explainIssue(schema: JsonObject, issue: Issue): readonly string[] {
  const node = nodeAt(schema, issue.path);
  if (issue.code === 'unrecognized_keys') {
    const known = clip(`the properties are ${propertyNames(node).join(', ') || 'none'}`, ALLOWED_CHARS);
    return issue.keys.map((key) => `- ${place([...issue.path, key])}: no such property; ${known}.`);
  }
  const allowed = issue.code === 'custom' ? issue.message : (node && describe(node)) || issue.message;
  return [`- ${place(issue.path)}: found ${found(issue.input)}; allowed is ${clip(allowed, ALLOWED_CHARS)}.`];
}

function place(path: readonly PropertyKey[]): string {
  if (path.length === 0) return 'the arguments';
  const text = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('');
  return clip(text.startsWith('.') ? text.slice(1) : text, FOUND_CHARS);
}

function found(input: unknown): string {
  return input === undefined ? 'nothing' : clip(String(JSON.stringify(input)), FOUND_CHARS);
}

/** The schema that governs a path, as far as `properties` and `items` lead. */
function nodeAt(schema: JsonObject, path: readonly PropertyKey[]): JsonObject | undefined {
  let node: JsonObject | undefined = schema;
  for (const key of path) {
    const members: Json | undefined = node?.properties;
    const next: Json | undefined =
      typeof key === 'number' ? node?.items : isObject(members) ? members[String(key)] : undefined;
    node = isObject(next) ? next : undefined;
  }
  return node;
}

function describe(node: JsonObject): string {
  const values = node.enum ?? (node.const === undefined ? undefined : [node.const]);
  if (Array.isArray(values)) return `one of ${values.map((value) => JSON.stringify(value)).join(', ')}`;
  const forms = node.anyOf ?? node.oneOf;
  if (Array.isArray(forms)) return forms.map((form) => (isObject(form) ? describe(form) : '')).join(' or ');
  const type = node.type;
  if (Array.isArray(type)) return type.map((one) => `a ${String(one)}`).join(' or ');
  if (type === 'object')
    return `an object with the properties ${propertyNames(node).join(', ') || 'it needs'}`;
  if (type === 'array') return `a list${bounds(node, 'minItems', 'maxItems', ' items')}${itemsOf(node)}`;
  if (type === 'string')
    return `a string${bounds(node, 'minLength', 'maxLength', ' characters')}${formOf(node)}`;
  if (type === 'integer') return `a whole number${bounds(node, 'minimum', 'maximum', '')}`;
  if (type === 'number') return `a number${bounds(node, 'minimum', 'maximum', '')}`;
  return type === 'boolean' ? 'true or false' : '';
}

function bounds(node: JsonObject, low: string, high: string, unit: string): string {
  const least = node[low];
  const most = node[high];
  if (least !== undefined && most !== undefined) return ` from ${String(least)} to ${String(most)}${unit}`;
  if (least !== undefined) return ` of at least ${String(least)}${unit}`;
  return most === undefined ? '' : ` of at most ${String(most)}${unit}`;
}

function itemsOf(node: JsonObject): string {
  const items = node.items;
  return isObject(items) ? `, each ${describe(items)}` : '';
}

function formOf(node: JsonObject): string {
  const form = node.format ?? node.pattern;
  return typeof form === 'string' ? ` of the form ${form}` : '';
}

function propertyNames(node: JsonObject | undefined): readonly string[] {
  const members = node?.properties;
  return isObject(members) ? Object.keys(members) : [];
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function clip(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${text.slice(0, maxChars - 1)}…`;
}
