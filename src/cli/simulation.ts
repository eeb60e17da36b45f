/** The simulator as a leg, for whoever has no model at hand. What it says is always labelled as simulation. */
import type { Config } from '../app/config.ts';
import type { Leg } from '../providers/contract.ts';
import { type SimModel, startSimulator } from '../sim/index.ts';

export interface Simulation {
  readonly leg: Leg;
  readonly banner: string;
  close(): Promise<void>;
}

/** Room for a long conversation; it follows instructions as far as its window reaches. */
export const ROOMY_MODEL: SimModel = {
  name: 'sim-128k',
  window: 131_072,
  horizon: 131_072,
  tokensPerByte: 0.24,
  maxOutputTokens: 8_192,
  prefillTokensPerSecond: 8_000,
  decodeTokensPerSecond: 120,
  quantisation: 'F16',
  supportsImages: true,
};

const SEED = 1;
/** It answers at once or hangs by a fault nobody asked for here. */
const TIMEOUT_MS = 60_000;

/** The wire is the one whose provider states both the window and what its cache gave. */
export async function startSimulation(name: string, model: SimModel): Promise<Simulation> {
  const simulator = await startSimulator({ seed: SEED, models: [model] });
  const leg: Leg = {
    name,
    provider: 'anthropic',
    model: model.name,
    baseUrl: simulator.url,
    maxOutputTokens: model.maxOutputTokens,
    timeoutMs: TIMEOUT_MS,
  };
  return { leg, banner: simulator.banner, close: () => simulator.close() };
}

export function withLeg(config: Config, leg: Leg): Config {
  return { ...config, legs: [leg], ladders: {}, defaultLeg: leg.name };
}
