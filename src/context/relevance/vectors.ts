/** Places of texts in the space of an embedding model: what is placed, how a place is kept, and how near two of them are. */
import type { TurnCard } from '../../ledger/turn-card.ts';

/** Room for what a card says; a longer directive is placed by its beginning. */
const TEXT_BYTES = 2_000;
const LARGEST = 127;

/** What a closed turn says: what was asked, what was shown and what was answered. Empty where it has no words. */
export function wordsOfCard({ asked, presentations, narration }: TurnCard): string {
  const parts = [asked, ...presentations.map(({ title }) => title), narration];
  return placedText(parts.filter((part) => part.trim() !== '').join('\n'));
}

/** The part of a text that is placed: whole characters, up to 2,000 bytes as UTF-8. */
export function placedText(text: string): string {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(TEXT_BYTES));
  return text.slice(0, read).trim();
}

/** One signed byte a dimension, the largest of them 127: what two places have in common does not hang on their scale. */
export function quantise(vector: readonly number[]): Int8Array {
  const largest = vector.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const scale = largest === 0 ? 0 : LARGEST / largest;
  return Int8Array.from(vector, (value) => Math.round(value * scale));
}

/** From -1 to 1; 0 where either is nowhere, or they are not of one space. */
export function cosine(one: Int8Array, other: Int8Array): number {
  if (one.length !== other.length) return 0;
  let [product, ofOne, ofOther] = [0, 0, 0];
  for (let at = 0; at < one.length; at++) {
    const [a, b] = [one[at] ?? 0, other[at] ?? 0];
    product += a * b;
    ofOne += a * a;
    ofOther += b * b;
  }
  return product === 0 ? 0 : product / Math.sqrt(ofOne * ofOther);
}

/** 0 to 1: what lies the other way is no less like than what is unrelated. */
export function likenessOf(one: Int8Array, other: Int8Array): number {
  return Math.max(0, cosine(one, other));
}
