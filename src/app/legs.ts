import { cheapestOf } from '../context/pricing/resolve.ts';
import type { Leg } from '../providers/contract.ts';
import { createProvider } from '../providers/index.ts';
import type { BoundLeg } from '../runtime/model-calls.ts';
import type { SidePurpose, WorkerDeps } from '../workers/deps.ts';
import type { Config } from './config.ts';

/** Finds a leg by name, with a provider made once a process; credentials come by reference. */
export function createLegs(
  legs: readonly Leg[],
  secrets: (envName: string) => string | undefined,
): (name: string) => BoundLeg | null {
  const bound = new Map(legs.map((leg) => [leg.name, { leg, provider: createProvider(leg, secrets) }]));
  return (name) => bound.get(name) ?? null;
}

/** The leg the configuration names for the purpose, else the cheapest of the bound leg's family, else that leg itself. */
export function sideLegs(
  config: Pick<Config, 'legs' | 'sideLegs' | 'pricing' | 'modelMapping'>,
  leg: WorkerDeps['leg'],
): (purpose: SidePurpose, boundTo: string) => BoundLeg | null {
  const { legs, sideLegs: named, pricing, modelMapping: mapping } = config;
  const cheapest = (boundTo: string): string | undefined => {
    const { family } = legs.find(({ name }) => name === boundTo) ?? {};
    if (family === undefined) return undefined;
    const atUtc = new Date().toISOString();
    return cheapestOf(
      legs.filter((other) => other.family === family),
      { pricing, mapping, atUtc },
    )?.name;
  };
  return (purpose, boundTo) => leg(named[purpose] ?? cheapest(boundTo) ?? boundTo);
}
