/** Where turns stand in the space of an embedding model, as `turnwright.vectors_after` reads it. */
import type { SessionRef } from '../../../src/db/contract.ts';
import type { StoredVector, TurnVectorStore, VectorsAfter } from '../../../src/db/turn-vectors.ts';
import { turnsOfHead } from './reads.ts';
import type { Tables } from './rows.ts';

export class MemoryTurnVectors implements TurnVectorStore {
  readonly #tables: Tables;

  constructor(tables: Tables) {
    this.#tables = tables;
  }

  async vectorsAfter(
    ref: SessionRef,
    { head, model, seq, limit }: VectorsAfter,
  ): Promise<readonly StoredVector[]> {
    const numbers = new Map(turnsOfHead(this.#tables, ref, head).map(({ turn, number }) => [turn, number]));
    return this.#tables.vectors
      .of(ref)
      .filter((row) => row.model === model && row.seq > seq)
      .sort((a, b) => a.seq - b.seq)
      .flatMap(({ turn, seq: at, vector }) => {
        const number = numbers.get(turn);
        return number === undefined ? [] : [{ number, seq: at, vector }];
      })
      .slice(0, limit);
  }
}
