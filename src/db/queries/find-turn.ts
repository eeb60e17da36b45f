/** A turn by its id alone, inside its tenant, with what its receipts add up to. */
import type pg from 'pg';
import type { Outcome } from '../../ledger/kinds.ts';
import type { RawRecord } from '../contract.ts';
import { withTenant } from '../pool.ts';

export interface TurnRow {
  readonly turn: string;
  readonly session: string;
  readonly head: string;
  readonly number: number;
  readonly status: 'accepted' | 'running' | 'closed';
  readonly outcome: Outcome | null;
  readonly reason: string | null;
  readonly steps: number;
  readonly priority: number;
  readonly acceptedAt: Date;
  readonly startedAt: Date | null;
  readonly closedAt: Date | null;
  readonly actor: {
    readonly machine: string;
    readonly version: number;
    readonly revision: number;
    readonly snapshot: string;
    readonly status: 'active' | 'done' | 'parked';
    readonly parkedReason: string | null;
  };
}

export interface TurnWithRecords {
  readonly row: TurnRow;
  readonly records: readonly RawRecord[];
}

const COLUMNS = `t.turn_id AS turn, t.session_id AS session, t.head_id AS head, t.number, t.status, t.outcome, t.reason, t.steps, t.priority,
    t.accepted_at AS "acceptedAt", t.started_at AS "startedAt", t.closed_at AS "closedAt",
    json_build_object('machine', a.machine, 'version', a.version, 'revision', a.revision, 'snapshot', a.snapshot,
      'status', a.status, 'parkedReason', a.parked_reason) AS actor`;

const FROM = `FROM turnwright.turns t
  JOIN turnwright.actors a ON a.tenant_id = t.tenant_id AND a.session_id = t.session_id AND a.actor_id = t.turn_id
  WHERE t.tenant_id = $1 AND t.turn_id = $2`;

/** What an answer and a bill are made of. */
const SHOWN_KINDS = [
  'turn-accepted',
  'assistant-message',
  'tool-result',
  'nudge',
  'turn-closed',
  'work-receipt',
];

export async function findTurn(pool: pg.Pool, tenant: string, turn: string): Promise<TurnRow | null> {
  return withTenant(pool, tenant, async (client) => {
    const found = await client.query<TurnRow>(`SELECT ${COLUMNS} ${FROM}`, [tenant, turn]);
    return found.rows[0] ?? null;
  });
}

/** One statement, so one state of the database: a turn shown as closed shows its answer too. */
export async function findTurnWithRecords(
  pool: pg.Pool,
  tenant: string,
  turn: string,
): Promise<TurnWithRecords | null> {
  return withTenant(pool, tenant, async (client) => {
    const found = await client.query<TurnRow & Pick<TurnWithRecords, 'records'>>(
      `SELECT ${COLUMNS}, turnwright.turn_records(t.tenant_id, t.session_id, t.turn_id, $3) AS records ${FROM}`,
      [tenant, turn, SHOWN_KINDS],
    );
    const row = found.rows[0];
    return row === undefined ? null : { row, records: row.records };
  });
}
