/** Fills the arguments of a call from the directive, property by property, as the schema asks. */
import type { Json, JsonObject } from '../../ledger/json.ts';
import { asArray, asNumber, asObject, asString, type Untyped } from '../untyped.ts';
import type { Shapes, Term } from './terms.ts';
import { holds, termsOf } from './terms.ts';
import { type KnownTool, type Property, wordsOf } from './toolbox.ts';

export interface Subject {
  readonly text: string;
  readonly terms: readonly Term[];
  readonly shapes: Shapes;
}

/** A property whose value is known already, by name. */
export type Preset = { readonly [property: string]: Json };

const MAX_TEXT_CHARS = 200;
const REGEX_TEXT = /\b(?:regex|regular|expression|re2)\b/;
const IGNORE_CASE = /^ignore_?case$|insensitive/i;

/** Required properties are always filled, optional ones only where the directive speaks of an enum's value. */
export function fillArguments(known: KnownTool, preset: Preset, subject: Subject): JsonObject {
  const args: { [name: string]: Json } = {};
  for (const property of known.properties) {
    const given = preset[property.name];
    if (given !== undefined) args[property.name] = given;
    else if (property.required) args[property.name] = valueFor(property, subject);
    else if (IGNORE_CASE.test(property.name)) args[property.name] = true;
    else if (asArray(property.schema.enum) !== null) {
      const chosen = chooseEnum(property, subject);
      if (chosen.score > 0) args[property.name] = chosen.value;
    }
  }
  return args;
}

/** One text as the key property takes it: a list where the schema says so, escaped where it is a regex. */
export function keyValue(property: Property, text: string): Json {
  const escaped = REGEX_TEXT.test(property.text) ? text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&') : text;
  return [property.schema.type].flat().includes('array') ? [escaped] : escaped;
}

/** What the schema allows and the directive speaks of; it knows nothing of what was found. */
export function valueFor(property: Property, subject: Subject): Json {
  const { schema } = property;
  if (schema.const !== undefined) return schema.const as Json;
  if (asArray(schema.enum) !== null) return chooseEnum(property, subject).value;
  const options = asArray(schema.anyOf) ?? asArray(schema.oneOf);
  const option = options?.map(asObject).find((one) => one !== null && one.type !== 'null');
  if (option) return valueFor({ ...property, schema: option }, subject);
  const type = [schema.type].flat().find((one) => one !== 'null');
  switch (type) {
    case 'boolean':
      return schema.default === true;
    case 'integer':
    case 'number':
      return numberFor(schema, type === 'integer');
    case 'array':
      return arrayFor(property, subject);
    case 'object':
      return objectFor(schema, subject);
    case 'null':
      return null;
    default:
      return textFor(property, subject);
  }
}

/** A figure that passes every bound: the default, else the middle of the range, else the smallest allowed. */
function numberFor(schema: Untyped, whole: boolean): number {
  const fallback = asNumber(schema.default);
  if (fallback !== null) return fallback;
  const low = asNumber(schema.minimum) ?? (asNumber(schema.exclusiveMinimum) ?? 0) + 1;
  const high = asNumber(schema.maximum);
  const value = high === null ? low : (Math.min(low, high) + high) / 2;
  return whole ? Math.ceil(value) : value;
}

/** Every enum value the directive speaks of; as many as the schema demands otherwise. */
function arrayFor(property: Property, subject: Subject): Json {
  const items = asObject(property.schema.items) ?? {};
  const item: Property = { ...property, schema: items };
  if (asArray(items.enum) !== null) {
    const ranked = rankEnum(item, subject);
    const spoken = ranked.filter((one) => one.score > 0);
    const kept = spoken.length > 0 ? spoken : ranked.slice(0, asNumber(property.schema.minItems) ?? 0);
    return kept.slice(0, asNumber(property.schema.maxItems) ?? kept.length).map((one) => one.value);
  }
  const wanted = asNumber(property.schema.minItems) ?? 0;
  if (/\bfiles?\b|\bpaths?\b/.test(property.text) && subject.shapes.files.length > 0)
    return subject.shapes.files;
  return Array.from({ length: wanted }, () => valueFor(item, subject));
}

function objectFor(schema: Untyped, subject: Subject): Json {
  const required = asArray(schema.required) ?? [];
  const members = Object.entries(asObject(schema.properties) ?? {}).filter(([name]) =>
    required.includes(name),
  );
  return Object.fromEntries(
    members.map(([name, value]) => {
      const member = asObject(value) ?? {};
      const text = `${wordsOf(name)} ${(asString(member.description) ?? '').toLowerCase()}`;
      return [name, valueFor({ name, schema: member, required: true, text }, subject)];
    }),
  );
}

function textFor(property: Property, subject: Subject): string {
  const { shapes } = subject;
  const fallback = asString(property.schema.default);
  const byShape = /\b(?:path|file|document)\b/.test(property.text)
    ? shapes.files[0]
    : /\b(?:pattern|glob)\b/.test(property.text)
      ? shapes.globs[0]
      : undefined;
  const text = byShape ?? fallback ?? shapes.quoted[0] ?? shapes.codeLike[0] ?? subject.text.trim();
  return text.slice(0, asNumber(property.schema.maxLength) ?? MAX_TEXT_CHARS);
}

interface RankedValue {
  readonly value: Json;
  readonly score: number;
}

function chooseEnum(property: Property, subject: Subject): RankedValue {
  const ranked = rankEnum(property, subject);
  const [best] = ranked;
  const fallback = property.schema.default as Json | undefined;
  if (best === undefined || (best.score === 0 && fallback !== undefined))
    return { value: fallback ?? null, score: 0 };
  return best;
}

/** Values by how much of the directive meets the value itself (doubly) or what the description says of it. */
function rankEnum(property: Property, subject: Subject): readonly RankedValue[] {
  const values = (asArray(property.schema.enum) ?? []) as readonly Json[];
  const about = (asString(property.schema.description) ?? property.text).toLowerCase();
  const lower = subject.text.toLowerCase();
  const ranked = values.map((value): RankedValue => {
    const name = wordsOf(String(value));
    const said = termsOf(name).filter((term) => holds(lower, term)).length;
    const gloss = glossOf(String(value).toLowerCase(), values, about);
    const meant = subject.terms.filter((term) => holds(gloss, term)).length;
    return { value, score: 2 * said + meant };
  });
  return ranked.toSorted((left, right) => right.score - left.score);
}

/** What a description says of one value: from its mention to the next value's. */
function glossOf(value: string, values: readonly Json[], about: string): string {
  const start = about.indexOf(value);
  if (start === -1) return '';
  const from = start + value.length;
  const ends = values
    .map((other) => about.indexOf(String(other).toLowerCase(), from))
    .filter((position) => position !== -1);
  return about.slice(from, Math.min(about.length, ...ends));
}
