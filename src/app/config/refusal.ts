/** Turns what the schema refuses into sentences: which key, what was found, what is allowed. */
import { z } from 'zod';
import { TurnwrightError } from '../../ledger/errors.ts';
import { nearestName } from './nearest.ts';
import { type ConfigInput, configInput } from './schema.ts';

/** What stands in these may be a credential, or hold one, even where it is malformed. */
const HIDDEN_KEYS = [
  'databaseUrl',
  'redisUrl',
  'ownerUrl',
  'baseUrl',
  'apiKeyEnv',
  'url',
  'env',
  'headersEnv',
  'args',
];
const MAX_SHOWN_CHARS = 60;

/** Where a value came from: the name of a file, or of the environment variable that set this key. */
export type SourceOf = (path: readonly PropertyKey[]) => string;

/** @throws TurnwrightError `config_invalid` with a sentence for each thing wrong. */
export function checkInput(input: unknown, sourceOf: SourceOf): ConfigInput {
  const result = configInput.safeParse(input);
  if (result.success) return result.data;
  throw configInvalid(result.error.issues.flatMap((issue) => sentencesOf(issue, input, sourceOf)));
}

export function configInvalid(sentences: readonly string[], cause?: unknown): TurnwrightError {
  return new TurnwrightError('config_invalid', sentences.join('\n'), {
    ...(cause === undefined ? {} : { cause }),
    details: { problems: sentences },
  });
}

/** ` Did you mean …?`, or nothing where no known name is close. */
export function suggestion(wanted: string, known: readonly string[]): string {
  const nearest = nearestName(wanted, known);
  return nearest === null ? '' : ` Did you mean ${nearest}?`;
}

function sentencesOf(issue: z.core.$ZodIssue, input: unknown, sourceOf: SourceOf): string[] {
  if (issue.code === 'unrecognized_keys') {
    const known = keysAt(issue.path);
    return issue.keys.map((key) => {
      const path = [...issue.path, key];
      return `${sourceOf(path)}: the key ${shownPath(path)} is unknown; allowed is ${known.join(', ')}.${suggestion(key, known)}`;
    });
  }
  const found = issue.path.reduce<unknown>(member, input);
  const allowed = issue.code === 'custom' ? issue.message : undefined;
  const meant =
    issue.code === 'invalid_value' && typeof found === 'string'
      ? suggestion(found, issue.values.map(String))
      : '';
  const what = describeFound(found, issue.path);
  const described = schemaAt(issue.path)?.description ?? allowed ?? issue.message;
  return [
    `${sourceOf(issue.path)}: ${shownPath(issue.path)} is wrong: found ${what}; allowed is ${described}.${meant}`,
  ];
}

function shownPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`;
    return text === '' ? String(key) : `${text}.${String(key)}`;
  }, '');
}

function describeFound(value: unknown, path: readonly PropertyKey[]): string {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'function') return 'a function';
  if (typeof value === 'object' && value !== null) return 'an object';
  if (typeof value !== 'string') return String(value);
  if (path.some((key) => HIDDEN_KEYS.includes(String(key)))) return describeHidden(value);
  return JSON.stringify(value.length > MAX_SHOWN_CHARS ? `${value.slice(0, MAX_SHOWN_CHARS)}…` : value);
}

function describeHidden(value: string): string {
  const scheme = /^[a-z][a-z0-9+.-]*:(?=\/\/)/i.exec(value)?.[0];
  const shape = scheme === undefined ? 'no URL' : `of the scheme ${scheme}`;
  return `a text of ${value.length} characters, ${shape} (not shown, it may hold a credential)`;
}

function keysAt(path: readonly PropertyKey[]): string[] {
  const schema = schemaAt(path);
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

function schemaAt(path: readonly PropertyKey[]): (z.core.$ZodType & { description?: string }) | undefined {
  let schema: z.core.$ZodType = configInput;
  for (const key of path) {
    const next = childOf(schema, key);
    if (next === undefined) return undefined;
    schema = next instanceof z.ZodExactOptional ? next.unwrap() : next;
  }
  return schema;
}

function childOf(schema: z.core.$ZodType, key: PropertyKey): z.core.$ZodType | undefined {
  if (schema instanceof z.ZodObject) return (schema.shape as Record<PropertyKey, z.core.$ZodType>)[key];
  if (schema instanceof z.ZodArray) return schema.element;
  return schema instanceof z.ZodRecord ? schema.valueType : undefined;
}

function member(value: unknown, key: PropertyKey): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined;
}
