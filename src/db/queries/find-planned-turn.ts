/** The turn of a session that was planned last, and so the one its last request belongs to. */
import type pg from 'pg';
import type { SessionRef } from '../contract.ts';
import { withTenant } from '../pool.ts';

export interface PlannedTurnRow {
  readonly turn: string;
  readonly head: string;
  readonly number: number;
  readonly status: 'accepted' | 'running' | 'closed';
  readonly steps: number;
}

/** Backwards along the key of the records: few follow the last plan. */
const PLANNED = `
  SELECT t.turn_id AS turn, t.head_id AS head, t.number, t.status, t.steps
  FROM (SELECT r.turn_id FROM turnwright.records r
    WHERE r.tenant_id = $1 AND r.session_id = $2 AND r.kind = 'context-plan' ORDER BY r.seq DESC LIMIT 1) p
  JOIN turnwright.turns t ON t.tenant_id = $1 AND t.session_id = $2 AND t.turn_id = p.turn_id`;

export async function findPlannedTurn(pool: pg.Pool, ref: SessionRef): Promise<PlannedTurnRow | null> {
  return withTenant(pool, ref.tenant, async (client) => {
    const { rows } = await client.query<PlannedTurnRow>(PLANNED, [ref.tenant, ref.session]);
    return rows[0] ?? null;
  });
}
