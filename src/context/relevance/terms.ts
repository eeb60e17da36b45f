/**
 * Terms: the words of a card and of what is asked, as 32-bit hashes that are compared by number.
 * The lowest bit tells a pair of adjacent words (1) from a word (0).
 */
import type { TurnCard } from '../../ledger/turn-card.ts';
import { isFileName } from '../links/file-names.ts';
import { normalised, type Word, wordsOf } from './words.ts';

const MAX_COUNT = 255;
const BYTES_PER_TERM = 5;
/** A directive longer than this was pasted for the most part: what is asked stands at its ends. */
const ASKED_LENGTH = 16_000;
const MAX_QUERY_TERMS = 512;
/** Names, figures and quotations say more about what is meant than plain words do. */
const ENTITY_WEIGHT = 4;

/** `hashes` ascending, `counts` beside them. */
export interface TermVector {
  readonly hashes: Uint32Array;
  readonly counts: Uint8Array;
}

/** What is asked. Members are parallel; each hash stands once, the subject words first. */
export interface QueryTerms {
  readonly hashes: Uint32Array;
  readonly weights: Float64Array;
  /** 1 for what singles a turn out by itself: names, figures, quotations, pairs. */
  readonly telling: Uint8Array;
  /** How many, from the start, are subject words. */
  readonly subjects: number;
}

/** What the reading of a directive adds to its words. */
export interface ReadingTerms {
  readonly act: string;
  readonly domains: readonly string[];
}

/** FNV-1a over UTF-16 code units, low byte first, with the lowest bit cleared. */
export function wordHash(word: string): number {
  return (fnv1a(word) & ~1) >>> 0;
}

/** Of two words that follow each other, stopwords between them skipped. */
export function pairHash(left: string, right: string): number {
  return (fnv1a(`${left} ${right}`) | 1) >>> 0;
}

/** Of an act of the reading, which is no word of the text. */
export function actHash(act: string): number {
  return wordHash(`act:${act}`);
}

/** Of an answer as a card has it: a turn that answered alike is found by it. No word, so no length counts it. */
export function saidHash(narration: string): number {
  return (fnv1a(`said:${narration}`) | 1) >>> 0;
}

export function isPair(hash: number): boolean {
  return (hash & 1) === 1;
}

/** The encoded terms of a card: what it asked, presented, said and called, and how it was read. */
export function termsOfCard(card: Omit<TurnCard, 'fullBytes' | 'cardBytes'>): Uint8Array {
  const counts = new Map<number, number>();
  const add = (hash: number) => counts.set(hash, (counts.get(hash) ?? 0) + 1);
  const addWords = (text: string, withPairs: boolean) => {
    for (const { form, kind, previous } of wordsOf(normalised(text))) {
      add(wordHash(form));
      if (withPairs && previous !== null && kind !== 'part') add(pairHash(previous, form));
    }
  };
  addWords(card.asked, true);
  addWords(card.narration, false);
  for (const { title, digest } of card.presentations) {
    addWords(title, true);
    addWords(digest, false);
  }
  for (const { tool, args } of card.did) {
    addWords(tool, false);
    addWords(args, false);
  }
  add(actHash(card.act));
  if (card.narration !== '') add(saidHash(card.narration));
  for (const domain of card.domains) {
    add(domainHash(domain));
    addWords(domain, false);
  }
  return encodeTerms(counts);
}

/** Hashes ascending, 4 bytes each, little end first; then a byte for each count, 255 at most. */
export function encodeTerms(counts: ReadonlyMap<number, number>): Uint8Array {
  const hashes = Uint32Array.from(counts.keys()).sort();
  const encoded = new Uint8Array(hashes.length * BYTES_PER_TERM);
  new Uint32Array(encoded.buffer, 0, hashes.length).set(hashes);
  for (const [index, hash] of hashes.entries())
    encoded[hashes.length * 4 + index] = Math.min(MAX_COUNT, counts.get(hash) ?? 0);
  return encoded;
}

/**
 * A view of the encoded terms; copied only where they do not start on a word's boundary.
 *
 * @throws RangeError for a length that no encoding has.
 */
export function decodeTerms(encoded: Uint8Array): TermVector {
  if (encoded.length % BYTES_PER_TERM !== 0)
    throw new RangeError(`${encoded.length} bytes are no encoded terms: a term takes ${BYTES_PER_TERM}`);
  const { buffer, byteOffset, length } = encoded.byteOffset % 4 === 0 ? encoded : Uint8Array.from(encoded);
  const terms = length / BYTES_PER_TERM;
  return {
    hashes: new Uint32Array(buffer, byteOffset, terms),
    counts: new Uint8Array(buffer, byteOffset + terms * 4, terms),
  };
}

/** The terms of a directive; those of its reading weigh in, but are no subject words. */
export function queryTerms(text: string, reading?: ReadingTerms): QueryTerms {
  const asked = normalised(askedPart(text));
  const words = wordsOf(asked);
  const isEntity = entityTest(asked, words);
  const subjects = new Map<number, boolean>();
  const others = new Map<number, boolean>();
  for (const word of words) {
    const hash = wordHash(word.form);
    if (word.kind === 'part') {
      others.set(hash, false);
      continue;
    }
    subjects.set(hash, (subjects.get(hash) ?? false) || isEntity(word));
    if (word.previous !== null) others.set(pairHash(word.previous, word.form), true);
  }
  if (reading !== undefined) {
    others.set(actHash(reading.act), false);
    for (const domain of reading.domains) others.set(domainHash(domain), false);
  }
  const kept = [...subjects].slice(0, MAX_QUERY_TERMS / 2);
  const rest = [...others].filter(([hash]) => !subjects.has(hash)).slice(0, MAX_QUERY_TERMS - kept.length);
  const all = [...kept, ...rest];
  return {
    hashes: Uint32Array.from(all, ([hash]) => hash),
    weights: Float64Array.from(all, ([hash, telling]) => (telling && !isPair(hash) ? ENTITY_WEIGHT : 1)),
    telling: Uint8Array.from(all, ([, telling]) => Number(telling)),
    subjects: kept.length,
  };
}

/** The whole of a text, or the two ends of a long one. */
export function askedPart(text: string): string {
  if (text.length <= ASKED_LENGTH) return text;
  return `${text.slice(0, ASKED_LENGTH / 2)}\n${text.slice(-ASKED_LENGTH / 2)}`;
}

/** Capitals say nothing where every word has one. */
function entityTest(text: string, words: readonly Word[]): (word: Word) => boolean {
  const quoted = quotedSpans(text);
  const capitalsTell = words.some(({ written }) => !/^\p{Lu}/u.test(written));
  let span = 0;
  return ({ written, at, kind, startsSentence }) => {
    while ((quoted[span]?.to ?? Number.POSITIVE_INFINITY) <= at) span += 1;
    if ((quoted[span]?.from ?? Number.POSITIVE_INFINITY) <= at) return true;
    if (/\p{N}/u.test(written) && written.length > 1) return true;
    if (kind === 'name' && (written.includes('_') || isFileName(written))) return true;
    return capitalsTell && (startsSentence ? /^..*\p{Lu}/u : /\p{Lu}/u).test(written);
  };
}

interface Span {
  readonly from: number;
  readonly to: number;
}

/** Each pattern stops at the next mark of its kind, so that a text of open marks is read once. */
function quotedSpans(text: string): readonly Span[] {
  const marks = /"[^"\n]{1,200}"|`[^`\n]{1,200}`|“[^“”\n]{1,200}”|«[^«»\n]{1,200}»/gu;
  return Array.from(text.matchAll(marks), ({ index, 0: { length } }) => ({
    from: index,
    to: index + length,
  }));
}

function domainHash(domain: string): number {
  return wordHash(`domain:${domain}`);
}

function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    hash = Math.imul(hash ^ (unit & 0xff), 0x01000193);
    hash = Math.imul(hash ^ (unit >>> 8), 0x01000193);
  }
  return hash >>> 0;
}
