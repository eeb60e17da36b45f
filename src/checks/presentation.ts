/** Which card an answer should have made and did not. */
import type { CardDefinition } from '../context/cards/define.ts';
import type { Cards } from '../context/cards/registry.ts';
import type { JsonObject } from '../ledger/json.ts';
import { asksBack } from './asks-back.ts';
import { partsOf } from './code-blocks.ts';
import { isHonestNoData } from './freshness.ts';
import type { CheckLexicon } from './lexicon/index.ts';
import { holdsPhrase, phrasesOf, sentencesOf } from './sentences.ts';
import { isObject, objectAt, parsedObject } from './written-json.ts';

/** An answer with more objects is data, not a card. */
const MAX_OBJECTS = 16;
/** An object that shares fewer members with a card fits it by chance. */
const LEAST_MEMBERS = 2;
const JSON_INFOS: ReadonlySet<string> = new Set(['', 'json']);
const OBJECT_LINE = /^[ \t]{0,8}\{/gmu;

/**
 * The tool of a card that was asked for, or whose payload the text holds as JSON. `forms` are card types the
 * request asks for, `made` the types of the cards and fences of the turn. `cameBackEmpty`: a retrieval was tried
 * and brought nothing. With a `directive` that asks for data in a text form, JSON is the answer and no card.
 */
export function unmadeCard(
  given: {
    readonly text: string;
    readonly forms: readonly string[];
    readonly made: readonly string[];
    readonly cameBackEmpty: boolean;
    readonly directive?: string;
  },
  cards: Cards,
  lexicon: CheckLexicon,
): string | null {
  const { text, forms, made, cameBackEmpty, directive = '' } = given;
  if (cameBackEmpty || isHonestNoData(text, lexicon) || asksBack(text)) return null;
  const asked = forms.find((form) => cards.byType(form) !== undefined && !made.includes(form));
  if (asked !== undefined) return cards.byType(asked)?.tool ?? null;
  const formats = phrasesOf(lexicon.dataFormats);
  if (sentencesOf(directive).some(({ tokens }) => holdsPhrase(tokens, formats))) return null;
  for (const written of writtenObjects(text)) {
    const card = fittingCard(cards, written);
    if (card !== null && !made.includes(card.type)) return card.tool;
  }
  return null;
}

/** Blocks that are one object, and objects that begin a line of the prose. */
function writtenObjects(text: string): readonly JsonObject[] {
  const objects: JsonObject[] = [];
  for (const part of partsOf(text)) {
    if (objects.length >= MAX_OBJECTS) return [];
    if (part.kind === 'prose') objects.push(...objectsOnLines(part.text));
    else if (JSON_INFOS.has(part.info)) {
      const value = parsedObject(part.content);
      if (value !== null) objects.push(value);
    }
  }
  return objects;
}

function objectsOnLines(prose: string): readonly JsonObject[] {
  const objects: JsonObject[] = [];
  let from = 0;
  let tried = 0;
  for (const line of prose.matchAll(OBJECT_LINE)) {
    const start = line.index + line[0].length - 1;
    if (start < from) continue;
    tried += 1;
    if (tried > MAX_OBJECTS) return [];
    const written = objectAt(prose, start);
    if (written === null) continue;
    objects.push(written.value);
    from = written.end;
  }
  return objects;
}

/** A payload names its card by `type`, as a fence does, or fits one card alone. */
function fittingCard(cards: Cards, written: JsonObject): CardDefinition | null {
  const { type, ...payload } = written;
  if (typeof type === 'string') {
    const named = cards.byType(type);
    return named?.check(payload).ok === true ? named : null;
  }
  const fitting = cards.all.filter((card) => sharesMembers(card, written) && card.check(written).ok);
  return fitting.length === 1 ? (fitting[0] ?? null) : null;
}

function sharesMembers({ inputSchema }: CardDefinition, written: JsonObject): boolean {
  const { properties } = inputSchema;
  if (!isObject(properties)) return false;
  const shared = Object.keys(written).filter((name) => Object.hasOwn(properties, name));
  return shared.length >= LEAST_MEMBERS;
}
