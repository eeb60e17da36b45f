import { PostgresStore } from '../../../src/db/store.ts';
import { type OutboxPeek, storeSuite } from '../../contract/store.suite.ts';
import { migratedDatabase } from './migrated.ts';

storeSuite('Postgres', async () => {
  const database = await migratedDatabase();
  return {
    store: new PostgresStore(database.app),
    newTenant: database.newTenant,
    dump: database.dump,
    outbox: async ({ session }) => {
      const { rows } = await database.root.query<OutboxPeek>(
        `SELECT child_id AS child, dispatch, pool, admitted_at IS NOT NULL AS admitted, due_at <= clock_timestamp() AS due
          FROM turnwright.outbox WHERE session_id = $1 ORDER BY position`,
        [session],
      );
      return rows;
    },
    timers: async ({ session }) => {
      const text = 'SELECT timer_id AS timer, revision FROM turnwright.timers WHERE session_id = $1';
      return (await database.root.query<{ timer: string; revision: number }>(text, [session])).rows;
    },
    close: database.close,
  };
});
