/** Faults in what is shown. */
import { canonicalJson, type Json, type JsonObject } from '../../../ledger/json.ts';
import { draw } from '../../random.ts';
import { asArray, asObject, asString, type Untyped } from '../../untyped.ts';
import { callKey } from '../conversation.ts';
import { formOf } from '../forms.ts';
import { present } from '../presenting.ts';
import { callReply, type SimReply } from '../reply.ts';
import { observations, type PlannedCall, type Situation, silentNames } from '../situation.ts';
import type { KnownTool } from '../toolbox.ts';
import type { Temptation } from './contract.ts';

const URL_MEMBER = /^(?:url|uri|href|link)$/i;
const TITLE_MEMBER = /title|heading|caption/i;
const DIGITS = 1_000_000_000;
/** So many schemas lie in each other at most. */
const MAX_DEPTH = 8;

/** The card of this turn once more, right after it was shown. */
export function repeatsCard({ sound, situation }: Temptation): SimReply | null {
  const shown = lastCard(situation);
  if (shown === null || sound.calls.length > 0) return null;
  return callReply([{ name: shown.name, args: shown.args }]);
}

/** The same card was shown twice in this turn: what answered the second time said so. */
export function hasRepeatedCard({ situation }: Temptation): boolean {
  const shown = lastCard(situation);
  if (shown === null) return false;
  const key = callKey(shown.name, shown.args);
  return cardsOf(situation).filter((one) => callKey(one.name, one.args) === key).length > 1;
}

/** The card that would be shown, else one of what was found, with an address that nothing gave. */
export function inventsSource({ sound, situation, seed, key }: Temptation): SimReply | null {
  const card = cardIn(sound, situation) ?? cardOfFound(sound, situation);
  if (card === null) return null;
  const url = inventedUrl(situation, seed, key);
  const args = withUrl(card.known.tool.inputSchema, card.args, url);
  return args === null ? null : callReply([{ name: card.known.tool.name, args }]);
}

/** The card as a block of text that ends before its JSON does. */
export function brokenFence({ sound, situation }: Temptation): SimReply | null {
  const card = cardIn(sound, situation);
  if (card === null && sound.calls.length > 0) return null;
  const known = card?.known ?? situation.tools.find((one) => one.role === 'present');
  const type = known === undefined ? 'card' : formOf(known.tool.name);
  const payload = canonicalJson({ type, ...(asObject(card?.args) ?? { title: sound.text }) } as JsonObject);
  const text = sound.text === '' ? 'Here it is:' : sound.text;
  return { ...sound, calls: [], text: `${text}\n\n\`\`\`card\n${payload.slice(0, -2)}\n\`\`\`` };
}

interface Card {
  readonly known: KnownTool;
  readonly args: Json;
}

function cardIn(sound: SimReply, { tools }: Situation): Card | null {
  for (const call of sound.calls) {
    const known = tools.find((one) => one.role === 'present' && one.tool.name === call.name);
    if (known !== undefined) return { known, args: JSON.parse(call.argsText) as Json };
  }
  return null;
}

function cardOfFound(sound: SimReply, situation: Situation): Card | null {
  const known = situation.tools.find((one) => one.role === 'present');
  if (known === undefined || sound.calls.length > 0 || observations(situation).length === 0) return null;
  const shown = present(known, situation);
  return shown === null || typeof shown === 'string' ? null : { known, args: shown.args };
}

function cardsOf({ conversation, tools }: Situation) {
  const presenters = new Set(tools.filter((one) => one.role === 'present').map((one) => one.tool.name));
  return conversation.outcomes.filter((one) => one.current && !one.failed && presenters.has(one.name));
}

function lastCard(situation: Situation): PlannedCall | null {
  return cardsOf(situation).findLast((one) => one.last) ?? null;
}

/** Stands nowhere in the request: no result of this turn or an earlier one, and nothing that was said. */
function inventedUrl({ conversation, tools }: Situation, seed: number, key: string): string {
  const silent = silentNames(tools);
  const given = [
    conversation.directive,
    ...conversation.said.map((one) => one.text),
    ...conversation.outcomes.filter((one) => !silent.has(one.name)).map((one) => one.content),
  ];
  for (let at = 0; ; at += 1) {
    const url = `https://www.example.org/${Math.floor(draw(seed, 'address', key, at) * DIGITS)}`;
    if (!given.some((text) => text.includes(url))) return url;
  }
}

/** In the member made for it, else behind the first text that is no title, in a text left out, or behind the title. */
function withUrl(schema: Untyped, args: Json, url: string): Json | null {
  const made = inMember(schema, args, url, 0) ?? behindText(schema, args, url, 0);
  if (made !== null) return made;
  const object = asObject(args) as JsonObject | null;
  const properties = Object.entries(asObject(schema.properties) ?? {});
  const free = properties.find(
    ([name, value]) => object?.[name] === undefined && takesAnyText(asObject(value)),
  );
  if (free !== undefined) return { ...object, [free[0]]: url };
  const title = properties.find(([name]) => TITLE_MEMBER.test(name) && typeof object?.[name] === 'string');
  return title === undefined ? null : { ...object, [title[0]]: `${String(object?.[title[0]])} ${url}` };
}

function takesAnyText(schema: Untyped | null): boolean {
  return schema?.type === 'string' && schema.enum === undefined && schema.const === undefined;
}

function inMember(schema: Untyped, value: Json, url: string, depth: number): Json | null {
  if (depth > MAX_DEPTH) return null;
  if (Array.isArray(value)) {
    const [first, ...rest] = value as readonly Json[];
    const changed =
      first === undefined ? null : inMember(asObject(schema.items) ?? {}, first, url, depth + 1);
    return changed === null ? null : [changed, ...rest];
  }
  const object = asObject(value) as JsonObject | null;
  if (object === null) return null;
  const properties = asObject(schema.properties) ?? {};
  const own = Object.keys(properties).find((name) => URL_MEMBER.test(name));
  if (own !== undefined) return { ...object, [own]: url };
  return firstChanged(object, (name, member) =>
    inMember(asObject(properties[name]) ?? {}, member, url, depth + 1),
  );
}

function behindText(schema: Untyped, value: Json, url: string, depth: number): Json | null {
  if (depth > MAX_DEPTH) return null;
  if (typeof value === 'string') {
    if (asArray(schema.enum) !== null || schema.const !== undefined) return null;
    const most = typeof schema.maxLength === 'number' ? schema.maxLength : Number.POSITIVE_INFINITY;
    return url.length + 1 > most ? null : `${value.slice(0, most - url.length - 1)} ${url}`;
  }
  if (Array.isArray(value)) {
    const [first, ...rest] = value as readonly Json[];
    const changed =
      first === undefined ? null : behindText(asObject(schema.items) ?? {}, first, url, depth + 1);
    return changed === null ? null : [changed, ...rest];
  }
  const object = asObject(value) as JsonObject | null;
  if (object === null) return null;
  const properties = asObject(schema.properties) ?? {};
  return firstChanged(object, (name, member) => {
    const property = asObject(properties[name]) ?? {};
    if (TITLE_MEMBER.test(name) || asString(property.format) !== null) return null;
    return behindText(property, member, url, depth + 1);
  });
}

function firstChanged(
  object: JsonObject,
  change: (name: string, member: Json) => Json | null,
): JsonObject | null {
  for (const [name, member] of Object.entries(object)) {
    const changed = change(name, member);
    if (changed !== null) return { ...object, [name]: changed };
  }
  return null;
}
