/**
 * Checks arguments against a tool's JSON Schema before the call, so that a model learns of a slip in the
 * words it knows from other tools. The schema is a server's and is not trusted: what could cost more than
 * it is worth (`pattern`, `format`, `$ref`, `not`, conditions) is left to the server, as is every keyword
 * that is not named below. So the law is one-sided: arguments that fit the schema are never refused.
 */
import type { z } from 'zod';
import { canonicalJson, type Json, type JsonObject } from '../../ledger/json.ts';
import { explainArguments } from '../arguments.ts';

/** Nodes of schema and arguments looked at; what lies beyond is taken as fitting. */
const MAX_NODES = 20_000;
const MAX_DEPTH = 64;
const MAX_ISSUES = 50;

type Issue = z.core.$ZodIssue;
type Path = readonly (string | number)[];

/** What is wrong, for the model; null when nothing is. */
export function checkArguments(tool: string, schema: JsonObject, args: JsonObject): string | null {
  const work = { nodes: MAX_NODES, depth: 0 };
  const issues = issuesOf(schema, args, [], work);
  return issues.length === 0 ? null : explainArguments(tool, schema, issues.slice(0, MAX_ISSUES));
}

interface Work {
  nodes: number;
  depth: number;
}

function issuesOf(schema: Json | undefined, value: Json, path: Path, work: Work): Issue[] {
  work.nodes -= 1;
  // Beside a `$ref` an older draft gives no other keyword a meaning.
  if (work.nodes < 0 || work.depth > MAX_DEPTH || !isObject(schema) || schema.$ref !== undefined) return [];
  work.depth += 1;
  const issues = fitsAlone(schema, value, work)
    ? [
        ...branchIssues(schema, value, path, work),
        ...(Array.isArray(value) ? itemIssues(schema, value, path, work) : []),
        ...(isObject(value) ? memberIssues(schema, value, path, work) : []),
      ]
    : [misfit(path, value)];
  work.depth -= 1;
  return issues;
}

function fitsAlone(schema: JsonObject, value: Json, work: Work): boolean {
  return fitsType(schema, value) && fitsValues(schema, value, work) && fitsBounds(schema, value);
}

const TYPES: Readonly<Record<string, (value: Json) => boolean>> = {
  null: (value) => value === null,
  boolean: (value) => typeof value === 'boolean',
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  integer: (value) => Number.isInteger(value),
  array: (value) => Array.isArray(value),
  object: (value) => isObject(value),
};

function fitsType({ type, nullable }: JsonObject, value: Json): boolean {
  if (value === null && nullable === true) return true;
  const types: readonly (Json | undefined)[] = Array.isArray(type) ? type : [type];
  const isUnknown = (one: Json | undefined): boolean => typeof one !== 'string' || !Object.hasOwn(TYPES, one);
  return types.length === 0 || types.some((one) => isUnknown(one) || TYPES[String(one)]?.(value) === true);
}

function fitsValues(schema: JsonObject, value: Json, work: Work): boolean {
  const { const: only, enum: listed } = schema;
  const allowed: readonly Json[] = only === undefined ? (Array.isArray(listed) ? listed : []) : [only];
  if (allowed.length === 0) return true;
  work.nodes -= allowed.length;
  const text = canonicalJson(value);
  return allowed.some((one) => canonicalJson(one) === text);
}

function fitsBounds(schema: JsonObject, value: Json): boolean {
  if (typeof value === 'number') {
    return (
      within(value, schema.minimum, schema.maximum) &&
      !(typeof schema.exclusiveMinimum === 'number' && value <= schema.exclusiveMinimum) &&
      !(typeof schema.exclusiveMaximum === 'number' && value >= schema.exclusiveMaximum)
    );
  }
  if (typeof value === 'string') {
    // In characters as the standard counts them, which are code points.
    const bounded = schema.minLength !== undefined || schema.maxLength !== undefined;
    return !bounded || within(codePoints(value), schema.minLength, schema.maxLength);
  }
  return !Array.isArray(value) || within(value.length, schema.minItems, schema.maxItems);
}

function within(size: number, least: Json | undefined, most: Json | undefined): boolean {
  return !(typeof least === 'number' && size < least) && !(typeof most === 'number' && size > most);
}

/** Every schema of `allOf` counts; of `anyOf` and `oneOf` one must fit. */
function branchIssues(schema: JsonObject, value: Json, path: Path, work: Work): Issue[] {
  const all = Array.isArray(schema.allOf) ? schema.allOf : [];
  const issues = all.flatMap((part: Json) => issuesOf(part, value, path, work));
  for (const choice of [schema.anyOf, schema.oneOf]) {
    if (!Array.isArray(choice) || choice.length === 0) continue;
    if (!choice.some((part: Json) => issuesOf(part, value, path, work).length === 0)) {
      issues.push(misfit(path, value));
    }
  }
  return issues;
}

function itemIssues(schema: JsonObject, items: readonly Json[], path: Path, work: Work): Issue[] {
  if (schema.prefixItems !== undefined || !isObject(schema.items)) return [];
  return items.flatMap((item, index) => issuesOf(schema.items, item, [...path, index], work));
}

function memberIssues(schema: JsonObject, value: JsonObject, path: Path, work: Work): Issue[] {
  const properties = isObject(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required : [];
  const missing = required.filter(
    (key: Json): key is string => typeof key === 'string' && !Object.hasOwn(value, key),
  );
  const members = Object.entries(value);
  const known = members.filter(([key]) => Object.hasOwn(properties, key));
  const closed = schema.additionalProperties === false && schema.patternProperties === undefined;
  const strange = closed ? members.map(([key]) => key).filter((key) => !Object.hasOwn(properties, key)) : [];
  return [
    ...missing.map((key) => misfit([...path, key], undefined)),
    ...known.flatMap(([key, member]) => issuesOf(properties[key], member, [...path, key], work)),
    ...(strange.length === 0 ? [] : [unknownKeys(path, strange)]),
  ];
}

/** The explanation takes what is allowed from the schema at this place. */
function misfit(path: Path, input: Json | undefined): Issue {
  return {
    code: 'invalid_type',
    expected: 'unknown',
    path: [...path],
    input,
    message: 'what the schema of the tool says',
  };
}

function unknownKeys(path: Path, keys: string[]): Issue {
  return { code: 'unrecognized_keys', keys, path: [...path], message: 'no such property' };
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
