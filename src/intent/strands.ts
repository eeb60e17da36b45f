/**
 * Strands: the requests a directive holds, each with how it stands to the one before and to what was asked earlier.
 * What it brings along (logs, tables, quotations) is set aside as pasted.
 */
import type { Act, Reading, Strand } from '../ledger/reading.ts';
import { commandAt, pointsBack } from './lineage.ts';
import { partsOf, QUOTATION } from './parts.ts';
import { besides, pastedIn } from './pasted.ts';
import { afterOpeners, type Marker, markerAt, type Stretch } from './sentences.ts';
import { type StrandWords, type Token, tokensOf, type Vocabulary, vocabularyOf } from './strand-words.ts';

/** An act shows at the beginning of a part: no more of it is read. */
const READ_CHARS = 2_000;
/** What is pointed at follows: "add these to the list:", and then the items. */
const COLON_END = /:[ \t]*(?:\n|$)/u;

export interface Strands {
  /** At most 12, in order, apart from each other; together with `pasted` they cover every word of the text. */
  readonly strands: readonly Strand[];
  /** At most 8, in order. A strand may enclose one. */
  readonly pasted: readonly Stretch[];
}

/**
 * Places are UTF-16 units of `text`. `actOf` is asked with the words of one strand, pasted material left out. No
 * strand is found in a text that is all material.
 */
export function strandsOf(text: string, words: StrandWords, actOf: (part: string) => Act): Strands {
  const vocabulary = vocabularyOf(words);
  const pasted = pastedIn(text, vocabulary);
  const strands: Strand[] = [];
  for (const part of partsOf(text, pasted, vocabulary)) {
    const own = wordsOfPart(text, part, pasted);
    const said = own.replace(QUOTATION, ' "" ');
    const tokens = tokensOf(said, 0, said.length);
    const before = strands.at(-1) ?? null;
    const bringsObject = pasted.length > 0 || COLON_END.test(own);
    strands.push({ ...part, act: actOf(own), ...relationOf(tokens, before, bringsObject, vocabulary) });
  }
  return { strands, pasted };
}

/** As a reading records it: a single strand that is independent and new, and pasted material of which there is none, are left out. */
export function strandsForRecord({ strands, pasted }: Strands): Pick<Reading, 'strands' | 'pasted'> {
  const [first] = strands;
  const isPlain =
    first === undefined ||
    (strands.length === 1 && first.relation === 'independent' && first.lineage === 'new');
  return {
    ...(isPlain ? {} : { strands: [...strands] }),
    ...(pasted.length === 0 ? {} : { pasted: [...pasted] }),
  };
}

/** What a part says itself, its beginning only. */
function wordsOfPart(text: string, part: Stretch, pasted: readonly Stretch[]): string {
  const inside = pasted.filter(({ from, to }) => part.from <= from && to <= part.to);
  const own = besides(text.slice(0, part.to), [{ from: 0, to: part.from }, ...inside]);
  return own
    .map(({ from, to }) => text.slice(from, Math.min(to, from + READ_CHARS)))
    .join('')
    .slice(0, READ_CHARS);
}

/** What points back in a later part points at the part before; in the first, at earlier turns, unless it brings its object along. */
function relationOf(
  tokens: readonly Token[],
  before: Strand | null,
  bringsObject: boolean,
  vocabulary: Vocabulary,
): Pick<Strand, 'relation' | 'lineage'> {
  const start = afterOpeners(tokens, vocabulary);
  const command = commandAt(tokens, vocabulary);
  const back = pointsBack(tokens.slice(start), vocabulary);
  if (before === null) {
    const continues = back && !bringsObject;
    return { relation: 'independent', lineage: command ?? (continues ? 'continues' : 'new') };
  }
  const follows = openingMarker(tokens.slice(0, start), vocabulary) === 'sequence';
  const relation = follows ? 'sequential' : back ? 'dependent' : 'independent';
  const goesAlong = back && before.lineage !== 'new';
  return { relation, lineage: command ?? (goesAlong ? 'continues' : 'new') };
}

/** The first marker among the words before the verb. */
function openingMarker(tokens: readonly Token[], vocabulary: Vocabulary): Marker['kind'] | null {
  for (let at = 0; at < tokens.length; at++) {
    const marker = markerAt(tokens, at, vocabulary);
    if (marker !== null) return marker.kind;
  }
  return null;
}
