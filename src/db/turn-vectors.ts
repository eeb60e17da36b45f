/** Where closed turns of a head stand in the space of an embedding model. */
import type pg from 'pg';
import type { SessionRef } from './contract.ts';
import { run } from './pool.ts';

export interface StoredVector {
  /** Of the turn, on its head. */
  readonly number: number;
  /** The record that placed it. */
  readonly seq: number;
  /** Base64, one signed byte a dimension. */
  readonly vector: string;
}

export interface VectorsAfter {
  readonly head: string;
  readonly model: string;
  /** 0 for all. */
  readonly seq: number;
  readonly limit: number;
}

export interface TurnVectorStore {
  /** Those that were stored after record `seq`, oldest record first. */
  vectorsAfter(ref: SessionRef, after: VectorsAfter): Promise<readonly StoredVector[]>;
}

export class PostgresTurnVectors implements TurnVectorStore {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  async vectorsAfter(
    { tenant, session }: SessionRef,
    { head, model, seq, limit }: VectorsAfter,
  ): Promise<readonly StoredVector[]> {
    const [row] = await run<{ readonly value: readonly StoredVector[] }>(this.#pool, {
      name: 'vectors_after',
      text: 'SELECT turnwright.vectors_after($1, $2, $3, $4, $5, $6) AS value',
      values: [tenant, session, head, model, seq, limit],
    });
    return row?.value ?? [];
  }
}
