/** A database in which no work stands, and time that passes for all of it at once. */
import type pg from 'pg';

const WORK = ['outbox', 'timers', 'side_calls', 'actor_events', 'actors', 'workers', 'tenant_shares'];
/** The stored times that something of the upkeep waits for. */
const TIMES = [
  ['outbox', 'due_at'],
  ['outbox', 'admitted_at'],
  ['timers', 'due_at'],
  ['side_calls', 'claimed_at'],
  ['actor_events', 'received_at'],
  ['workers', 'beat_at'],
] as const;

export async function empty(root: pg.Pool): Promise<void> {
  for (const table of WORK) await root.query(`DELETE FROM turnwright.${table}`);
}

export async function elapse(root: pg.Pool, ms: number): Promise<void> {
  for (const [table, column] of TIMES)
    await root.query(
      `UPDATE turnwright.${table} SET ${column} = ${column} - make_interval(secs => ${ms / 1_000})`,
    );
}
