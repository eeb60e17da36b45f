import { PostgresStore } from '../../../src/db/store.ts';
import { lineageSuite } from '../../contract/lineage.suite.ts';
import { type StoreUnderTest, storeSuite } from '../../contract/store.suite.ts';
import { migratedDatabase } from './migrated.ts';
import { outboxOf } from './outbox-rows.ts';

const open = async (): Promise<StoreUnderTest> => {
  const database = await migratedDatabase();
  return {
    store: new PostgresStore(database.app),
    newTenant: database.newTenant,
    dump: database.dump,
    outbox: (ref) => outboxOf(database.root, ref),
    timers: async ({ session }) => {
      const text = 'SELECT timer_id AS timer, revision FROM turnwright.timers WHERE session_id = $1';
      return (await database.root.query<{ timer: string; revision: number }>(text, [session])).rows;
    },
    close: database.close,
  };
};

storeSuite('Postgres', open);
lineageSuite('Postgres', open);
