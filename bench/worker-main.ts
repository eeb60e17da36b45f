/** A worker process that the bench starts. Its settings come as one JSON argument; it speaks over its IPC channel. */
import { createLegs } from '../src/app/legs.ts';
import { createLogger } from '../src/app/logger.ts';
import { openServices } from '../src/app/services.ts';
import { startWorkers } from '../src/app/worker-host.ts';
import type { BoundLeg } from '../src/runtime/model-calls.ts';
import { watchClosings } from './closings.ts';
import { type HeldCall, HOLD_TOOL, HOLDING_LEG, heldProvider, holdTool } from './held-calls.ts';
import { benchConfig, INSTANT_LEG } from './settings.ts';
import { instantModel, lookup, MEASURED_POOLS } from './standard-turn.ts';
import type { FromWorker, ToWorker, WorkerSettings, WorkerUsage } from './worker-messages.ts';

const MICROSECONDS_PER_MS = 1_000;
const DRAIN_MS = 1_000;

const tell = (message: FromWorker): void => void process.send?.(message);
const held: HeldCall = {
  running: () => tell({ type: 'running' }),
  aborted: () => tell({ type: 'aborted', atNs: process.hrtime.bigint() }),
  returned: () => tell({ type: 'returned', atNs: process.hrtime.bigint() }),
};

const settings = JSON.parse(process.argv[2] ?? '') as WorkerSettings;
const config = await benchConfig(settings, [lookup, holdTool(held)], settings.legs);
const services = openServices(config, createLogger({ level: config.logLevel, secrets: [] }));
watchClosings(services, (turn, outcome) => tell({ type: 'closed', turn, outcome }));
const real = createLegs(config.legs, () => undefined);

function legOf(name: string): BoundLeg | null {
  const bound = real(name);
  if (bound === null) return null;
  switch (name) {
    case INSTANT_LEG:
      return { leg: bound.leg, provider: instantModel(lookup.name) };
    case HOLDING_LEG:
      return { leg: bound.leg, provider: instantModel(HOLD_TOOL) };
    default:
      return { leg: bound.leg, provider: heldProvider(bound.provider, held) };
  }
}

function usage(collect: boolean): WorkerUsage {
  if (collect) globalThis.gc?.();
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed } = process.memoryUsage();
  return { cpuMs: (user + system) / MICROSECONDS_PER_MS, residentBytes: rss, heapBytes: heapUsed };
}

const legs = new Map(config.legs.map(({ name }) => [name, legOf(name)]));
const host = await startWorkers(services, MEASURED_POOLS, { leg: (name) => legs.get(name) ?? null });

process.on('message', (message: ToWorker) => {
  if (message.type === 'usage') tell({ type: 'usage', usage: usage(message.collect) });
  else void stop();
});
process.once('disconnect', () => process.exit());
tell({ type: 'ready' });

async function stop(): Promise<void> {
  await host.drain(DRAIN_MS);
  await services.close();
  process.exit();
}
