/** Embeddings off a wire, checked: as many as there were texts, all of one length, nothing but finite numbers. */
import { MalformedReply } from './malformed-reply.ts';
import { list } from './reading.ts';

/** @throws MalformedReply when they are anything else. */
export function readVectors(vectors: readonly unknown[], texts: number): readonly (readonly number[])[] {
  if (vectors.length !== texts)
    throw new MalformedReply(`The reply has ${vectors.length} embeddings for ${texts} texts.`);
  const read = vectors.map((vector) => list(vector).filter(isFiniteNumber));
  const length = read[0]?.length ?? 0;
  const isWhole = read.every(
    (numbers, index) => numbers.length === length && list(vectors[index]).length === length && length > 0,
  );
  if (!isWhole) throw new MalformedReply('The embeddings are not vectors of finite numbers of one length.');
  return read;
}

function isFiniteNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}
