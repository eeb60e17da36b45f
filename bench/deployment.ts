/** A producer in this process and workers in processes of their own, as a deployment has them. */
import { createLogger } from '../src/app/logger.ts';
import { openServices, type Services } from '../src/app/services.ts';
import type { Leg } from '../src/providers/contract.ts';
import { Closings } from './closings.ts';
import { holdTool } from './held-calls.ts';
import type { Backend, Servers } from './servers.ts';
import { benchConfig } from './settings.ts';
import { lookup, type TurnDriver, turnDriver } from './standard-turn.ts';
import type { WorkerSettings } from './worker-messages.ts';
import { type BenchWorker, startWorker } from './worker-process.ts';

export interface Deployment extends TurnDriver {
  readonly services: Services;
  readonly databaseUrl: string;
  /** Starts one more; it is stopped with the deployment. */
  addWorker(): Promise<BenchWorker>;
  close(): Promise<void>;
}

export async function openDeployment(
  servers: Servers,
  backend: Backend,
  { windowTokens, legs = [] }: { readonly windowTokens: number; readonly legs?: readonly Leg[] },
): Promise<Deployment> {
  const place = await servers.place(backend, windowTokens);
  const settings: WorkerSettings = { ...place.settings, legs };
  const config = await benchConfig(settings, [lookup, holdTool(UNSEEN)], legs);
  const services = openServices(config, createLogger({ level: config.logLevel, secrets: [] }));
  const closings = new Closings();
  const workers: BenchWorker[] = [];
  return {
    services,
    databaseUrl: settings.databaseUrl,
    ...turnDriver(services, closings),
    addWorker: async () => {
      const worker = await startWorker(settings, (turn, outcome) => closings.closed(turn, outcome));
      workers.push(worker);
      return worker;
    },
    close: async () => {
      await Promise.all(workers.map((worker) => worker.stop()));
      await services.close();
      await place.drop();
    },
  };
}

/** Tools run in the workers; here one is only a name. */
const UNSEEN = { running: () => {}, aborted: () => {}, returned: () => {} };
