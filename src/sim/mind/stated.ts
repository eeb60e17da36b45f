/** Values that the visible text states by name: `the head code is heron-4127`, `limit: "20"`. */
import type { Json } from '../../ledger/json.ts';
import type { Preset } from './arguments.ts';
import type { Conversation } from './conversation.ts';
import { type KnownTool, type Property, wordsOf } from './toolbox.ts';

/** Behind the name, with up to two words between: something quoted, or a word with a figure in it. */
const STATES =
  '\\b(?:\\s+[\\p{L}\\p{N}]+){0,2}\\s*(?:\\bis\\b|\\bwas\\b|=|:)\\s*(?:["“`]([^"”`\\n]{1,120})["”`]|([\\p{L}_-]*\\d[\\p{L}\\p{N}_-]*))';

/** For an ordered call: the text properties of its tool that were given a value, by the latest word on each. */
export function statedValues(known: KnownTool, { directive, said, outcomes }: Conversation): Preset {
  const texts = [...outcomes.map((one) => one.content), ...said.map((one) => one.text), directive];
  const stated: { [property: string]: Json } = {};
  for (const property of known.properties.filter(takesText)) {
    const value = latestIn(texts, property);
    if (value !== null) stated[property.name] = value;
  }
  return stated;
}

function takesText({ schema }: Property): boolean {
  return [schema.type].flat().includes('string') && schema.enum === undefined && schema.const === undefined;
}

function latestIn(texts: readonly string[], { name }: Property): string | null {
  const words = wordsOf(name)
    .trim()
    .replace(/[^\w\s]/g, '\\$&')
    .replace(/\s+/g, '\\s+');
  const pattern = new RegExp(`\\b${words}${STATES}`, 'giu');
  for (const text of texts.toReversed()) {
    const last = [...text.matchAll(pattern)].at(-1);
    if (last !== undefined) return last[1] ?? last[2] ?? null;
  }
  return null;
}
