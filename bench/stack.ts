/** Producer and workers in this process; only the model answers at once. */
import type { Config } from '../src/app/config.ts';
import { createLogger } from '../src/app/logger.ts';
import { openServices, type Services } from '../src/app/services.ts';
import { startWorkers } from '../src/app/worker-host.ts';
import { Closings, watchClosings } from './closings.ts';
import type { Backend, Servers } from './servers.ts';
import { benchConfig, INSTANT_LEG } from './settings.ts';
import { instantModel, lookup, MEASURED_POOLS, type TurnDriver, turnDriver } from './standard-turn.ts';

const DRAIN_MS = 1_000;

export interface BenchStack extends TurnDriver {
  readonly services: Services;
  close(): Promise<void>;
}

export async function openBenchStack(
  servers: Servers,
  backend: Backend,
  windowTokens: number,
  calls: Config['calls'] = { startHere: false },
): Promise<BenchStack> {
  const place = await servers.place(backend, windowTokens);
  const config = { ...(await benchConfig(place.settings, [lookup])), calls };
  const services = openServices(config, createLogger({ level: config.logLevel, secrets: [] }));
  const closings = new Closings();
  watchClosings(services, (turn, outcome) => closings.closed(turn, outcome));
  const leg = config.legs.find(({ name }) => name === INSTANT_LEG);
  const host = await startWorkers(services, MEASURED_POOLS, {
    leg: () => (leg === undefined ? null : { leg, provider: instantModel(lookup.name) }),
  });
  return {
    services,
    ...turnDriver(services, closings),
    close: async () => {
      await host.drain(DRAIN_MS);
      await services.close();
      await place.drop();
    },
  };
}
