/** Faults in how a call is made. */
import { canonicalJson, type Json, type JsonObject } from '../../../ledger/json.ts';
import { asArray, asObject, asString, type Untyped } from '../../untyped.ts';
import { type SimReply, textReply } from '../reply.ts';
import type { KnownTool } from '../toolbox.ts';
import type { Temptation } from './contract.ts';

/** One value of each JSON type, the likeliest mistakes first. */
const WRONG_VALUES: readonly (readonly [type: string, value: Json])[] = [
  ['integer', 0],
  ['string', 'all of it'],
  ['boolean', true],
  ['array', []],
  ['object', {}],
];
const ALIASES: Readonly<Record<string, string>> = { number: 'integer' };

/** The first call as text: its name, then its arguments. */
export function writesCalls({ sound }: Temptation): SimReply | null {
  const [call] = sound.calls;
  return call === undefined ? null : textReply(`${call.name} ${call.argsText}`);
}

/** One member, required if any is, gets a value of a type its schema does not take. */
export function badArguments({ sound, situation }: Temptation): SimReply | null {
  const [call, ...rest] = sound.calls;
  const known = situation.tools.find((one) => one.tool.name === call?.name);
  if (call === undefined || known === undefined) return null;
  const broken = breakOne(known, (asObject(JSON.parse(call.argsText)) ?? {}) as JsonObject);
  if (broken === null) return null;
  return { ...sound, calls: [{ name: call.name, argsText: canonicalJson(broken) }, ...rest] };
}

/** The tool that would be called has failed in this turn. */
export function hasFailedCall({ sound, situation }: Temptation): boolean {
  const name = sound.calls[0]?.name;
  return situation.conversation.outcomes.some((one) => one.current && one.failed && one.name === name);
}

function breakOne(known: KnownTool, args: JsonObject): JsonObject | null {
  for (const property of known.properties.toSorted((a, b) => Number(b.required) - Number(a.required))) {
    const taken = typesOf(property.schema);
    const wrong = WRONG_VALUES.find(([type]) => !taken.has(type));
    if (taken.size > 0 && wrong !== undefined) return { ...args, [property.name]: wrong[1] };
  }
  return null;
}

/** The types a schema takes; none when it does not say. */
function typesOf(schema: Untyped): ReadonlySet<string> {
  const named = [schema.type].flat().flatMap((type) => asString(type) ?? []);
  const listed = [...(asArray(schema.enum) ?? []), ...('const' in schema ? [schema.const] : [])].map(typeOf);
  const options = [...(asArray(schema.anyOf) ?? []), ...(asArray(schema.oneOf) ?? [])];
  const nested = options.flatMap((option) => [...typesOf(asObject(option) ?? {})]);
  return new Set([...named, ...listed, ...nested].map((type) => ALIASES[type] ?? type));
}

function typeOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
