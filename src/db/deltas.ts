/** The live buffer of watched turns: an unlogged table, emptied by a crash, which nothing durable minds. */
import type pg from 'pg';
import { withTenant } from './pool.ts';

/** Frames kept of one turn. */
const MAX_FRAMES = 500;

/** A topic names its turn as `<tenant>~<session>~<turn>`. */
export class PostgresDeltas<Frame> {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  async append(topic: string, frames: readonly Frame[]): Promise<void> {
    const [tenant, session, turn] = parts(topic);
    await withTenant(this.#pool, tenant, async (client) => {
      await client.query(
        `INSERT INTO turnwright.deltas (tenant_id, session_id, turn_id, frame) SELECT $1, $2, $3, f FROM unnest($4::text[]) f`,
        [tenant, session, turn, frames.map((frame) => JSON.stringify(frame))],
      );
    });
  }

  async since(
    topic: string,
    cursor: number,
  ): Promise<readonly { readonly cursor: number; readonly frame: Frame }[]> {
    const [tenant, session, turn] = parts(topic);
    return withTenant(this.#pool, tenant, async (client) => {
      const result = await client.query<{ cursor: number; frame: string }>(
        `SELECT cursor::float8 AS cursor, frame FROM turnwright.deltas
          WHERE tenant_id = $1 AND session_id = $2 AND turn_id = $3 AND cursor > $4 ORDER BY cursor LIMIT ${MAX_FRAMES}`,
        [tenant, session, turn, cursor],
      );
      return result.rows.map((row) => ({ cursor: row.cursor, frame: JSON.parse(row.frame) as Frame }));
    });
  }

  async drop(topic: string): Promise<void> {
    const [tenant, session, turn] = parts(topic);
    await withTenant(this.#pool, tenant, async (client) => {
      await client.query(
        'DELETE FROM turnwright.deltas WHERE tenant_id = $1 AND session_id = $2 AND turn_id = $3',
        [tenant, session, turn],
      );
    });
  }
}

function parts(topic: string): readonly [string, string, string] {
  const [tenant, session, turn] = topic.split('~');
  if (tenant === undefined || session === undefined || turn === undefined)
    throw new Error(`"${topic}" names no turn`);
  return [tenant, session, turn];
}
