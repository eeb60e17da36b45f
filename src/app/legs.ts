import type { Leg } from '../providers/contract.ts';
import { createProvider } from '../providers/index.ts';
import type { BoundLeg } from '../workers/index.ts';

/** Finds a leg by name, with a provider made once a process; credentials come by reference. */
export function createLegs(
  legs: readonly Leg[],
  secrets: (envName: string) => string | undefined,
): (name: string) => BoundLeg | null {
  const bound = new Map(legs.map((leg) => [leg.name, { leg, provider: createProvider(leg, secrets) }]));
  return (name) => bound.get(name) ?? null;
}
