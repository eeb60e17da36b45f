/** A worker process of a run. Its settings come as one JSON argument; it says `ready` once it takes jobs. */
import { createLogger } from '../../src/app/logger.ts';
import { openServices } from '../../src/app/services.ts';
import { startWorkers } from '../../src/app/worker-host.ts';
import { testConfig } from '../support/stack-config.ts';
import type { WorkerSettings } from './processes.ts';
import { chaosTools } from './tools.ts';

const settings = JSON.parse(process.argv[2] ?? '') as WorkerSettings;
const config = await testConfig({ ...settings, tools: chaosTools(settings.effectsFile) });
const services = openServices(config, createLogger({ level: 'warn', secrets: [] }));
const host = await startWorkers(services);
process.once('SIGTERM', () => {
  void host
    .drain(settings.drainMs)
    .then(() => services.close())
    .then(() => process.exit(0));
});
process.stdout.write('ready\n');
