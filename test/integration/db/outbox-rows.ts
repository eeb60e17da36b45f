/** The outbox of a session, as the contract suites look at it. */
import type pg from 'pg';
import type { SessionRef } from '../../../src/db/contract.ts';
import type { OutboxPeek } from '../../contract/store.suite.ts';

export async function outboxOf(root: pg.Pool, { session }: SessionRef): Promise<readonly OutboxPeek[]> {
  const { rows } = await root.query<OutboxPeek>(
    `SELECT child_id AS child, dispatch, pool, admitted_at IS NOT NULL AS admitted, due_at <= clock_timestamp() AS due
      FROM turnwright.outbox WHERE session_id = $1 ORDER BY position`,
    [session],
  );
  return rows;
}
