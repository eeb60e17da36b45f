import { migrateAll } from '../../app/migrate.ts';
import { TurnwrightError } from '../../ledger/errors.ts';
import type { Command } from '../command.ts';
import { EXIT } from '../exit.ts';
import { requireDatabase, setUp } from '../setup.ts';

export const command: Command = {
  name: 'migrate',
  summary: "Bring the database of DATABASE_URL to this version's schema",
  run: async ({ context, output }) => {
    const { config } = await setUp(context);
    requireDatabase(config, 'migrate');
    try {
      await migrateAll(config, config.ownerUrl ?? config.databaseUrl ?? '');
    } catch (error) {
      const sql = error instanceof TurnwrightError ? error.details?.sql : undefined;
      // On standard output, so that it can be piped to whoever may run it.
      if (typeof sql === 'string') output.say(sql);
      throw error;
    }
    output.result({ migrated: true }, () => "The database has this version's schema.");
    return EXIT.done;
  },
};
