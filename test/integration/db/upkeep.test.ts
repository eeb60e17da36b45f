import { readAppliedEvents } from '../../../src/db/queries/read-applied-events.ts';
import { PostgresStore } from '../../../src/db/store.ts';
import { PostgresUpkeep } from '../../../src/db/upkeep.ts';
import { upkeepSuite } from '../../contract/upkeep.suite.ts';
import { type MigratedDatabase, migratedDatabase } from './migrated.ts';
import { outboxOf } from './outbox-rows.ts';
import { elapse, empty } from './passing-time.ts';

upkeepSuite('Postgres', async () => {
  const database = await migratedDatabase();
  const { root } = database;
  const store = new PostgresStore(database.app);
  const upkeep = new PostgresUpkeep(database.upkeep);
  return {
    empty: async () => {
      await empty(root);
      return { store, upkeep };
    },
    newTenant: database.newTenant,
    elapse: (ms) => elapse(root, ms),
    during: (other, work) => during(database, other, work),
    outbox: (ref) => outboxOf(root, ref),
    appliedEvents: (ref) => readAppliedEvents(database.app, ref),
    children: async ({ session, actor }) => {
      const text =
        'SELECT child_id AS child FROM turnwright.side_calls WHERE session_id = $1 AND actor_id = $2';
      return (await root.query<{ child: string }>(text, [session, actor])).rows.map(({ child }) => child);
    },
    workers: async () => {
      const { rows } = await root.query<{ id: string }>('SELECT worker_id AS id FROM turnwright.workers');
      return rows.map(({ id }) => id);
    },
    close: database.close,
  };
});

async function during<T>(
  database: MigratedDatabase,
  other: 'sweep' | `admit ${string}`,
  work: () => Promise<T>,
): Promise<T> {
  const [duty, pool] = other.split(' ');
  const keys = pool === undefined ? 'hashtext($1)' : 'hashtext($1), hashtext($2)';
  const values = pool === undefined ? [`turnwright.${duty}`] : [`turnwright.${duty}`, pool];
  const holder = await database.upkeep.connect();
  try {
    await holder.query('BEGIN');
    await holder.query(`SELECT pg_advisory_xact_lock(${keys})`, values);
    return await work();
  } finally {
    await holder.query('ROLLBACK');
    holder.release();
  }
}
