import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { StoredVector, VectorsAfter } from '../../../src/db/turn-vectors.ts';
import { VectorIndexes } from '../../../src/runtime/vector-index.ts';

const BYTES = 64;
const ref = () => ({ tenant: randomUUID(), session: randomUUID() });

/** Every head has the same places; each reading is noted. */
function opened(count: number, limitBytes?: number) {
  const rows: StoredVector[] = [];
  const place = (number: number) =>
    rows.push({ number, seq: 10 * number, vector: Buffer.alloc(BYTES, number % 100).toString('base64') });
  for (let number = 1; number <= count; number++) place(number);
  const read: VectorsAfter[] = [];
  const store = {
    vectorsAfter: async (_: unknown, after: VectorsAfter) => {
      read.push(after);
      return rows.filter(({ seq }) => seq > after.seq).slice(0, after.limit);
    },
  };
  return { place, read, indexes: new VectorIndexes(store, 'places', limitBytes) };
}

describe('places of turns that a process knows', () => {
  it('PLN-07 are all that are stored, however many, and are read on from what was known', async () => {
    const { place, read, indexes } = opened(2_500);
    const session = ref();
    const known = await indexes.get(session, 'head');
    expect(known.size).toBe(2_500);
    expect(known.get(42)).toEqual(new Int8Array(BYTES).fill(42));
    place(2_501);
    const before = read.length;
    expect((await indexes.get(session, 'head')).size).toBe(2_501);
    expect(read.slice(before)).toMatchObject([{ head: 'head', model: 'places', seq: 25_000 }]);
  });

  it('PLN-07 are those of the head that is asked for', async () => {
    const { read, indexes } = opened(3);
    const session = ref();
    await indexes.get(session, 'head');
    await indexes.get(session, 'another');
    expect(read.map(({ head, seq }) => [head, seq])).toEqual([
      ['head', 0],
      ['another', 0],
    ]);
  });

  it('PLN-07 are forgotten where they take more than their room, those of the session used longest ago first', async () => {
    const { read, indexes } = opened(10, 5_000);
    const [one, two, three] = [ref(), ref(), ref()];
    for (const session of [one, two, one, three]) await indexes.get(session, 'head');
    read.length = 0;
    await indexes.get(one, 'head');
    await indexes.get(two, 'head');
    expect(read.map(({ seq }) => seq)).toEqual([100, 0]);
  });
});
