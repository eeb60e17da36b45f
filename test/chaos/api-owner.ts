/** The HTTP API of a run, a process of its own. Its settings come as one JSON argument; it says `ready` once it listens. */
import { startApi } from '../../src/api/app.ts';
import { createLogger } from '../../src/app/logger.ts';
import { startStack } from '../../src/app/stack.ts';
import { testConfig } from '../support/stack-config.ts';
import type { ApiSettings } from './processes.ts';
import { chaosTools } from './tools.ts';

const settings = JSON.parse(process.argv[2] ?? '') as ApiSettings;
const config = await testConfig({ ...settings, tools: chaosTools(settings.effectsFile) });
const stack = await startStack({
  config,
  logger: createLogger({ level: 'warn', secrets: [] }),
  workers: 'none',
  api: { host: '127.0.0.1', port: settings.port, serve: startApi },
});
process.once('SIGTERM', () => {
  void stack.stop().then(() => process.exit(0));
});
process.stdout.write('ready\n');
