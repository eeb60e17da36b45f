/** A worker process that a test kills. Its settings come as one JSON argument; it says `ready` once it works. */
import { appendFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { createLogger } from '../../src/app/logger.ts';
import { openServices } from '../../src/app/services.ts';
import { startWorkers } from '../../src/app/worker-host.ts';
import { defineTool } from '../../src/tools/define.ts';
import { testConfig } from './stack-config.ts';
import type { WorkerSettings } from './worker-process.ts';

const settings = JSON.parse(process.argv[2] ?? '') as WorkerSettings;

/** What it did stands in a file, a line a run, before anything else can happen. */
const ringBell = defineTool({
  name: 'ring_bell',
  description: 'Rings the bell of the harbour.',
  input: z.strictObject({}),
  effect: 'once',
  run: async (_, { idempotencyKey, signal }) => {
    appendFileSync(settings.effectsFile, `${idempotencyKey}\n`);
    await delay(settings.ringMs, undefined, { signal });
    return 'The bell rang.';
  },
});

const config = await testConfig({ ...settings, tools: [ringBell] });
const services = openServices(config, createLogger({ level: 'silent', secrets: [] }));
const host = await startWorkers(services);
process.stdout.write('ready\n');
process.once('SIGTERM', () => {
  void host
    .drain(settings.drainMs)
    .then(() => services.close())
    .then(() => process.exit(0));
});
