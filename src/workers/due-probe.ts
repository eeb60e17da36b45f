/** A probe begins when a turn closes on a model nobody asked about yet; never on the turn's own path. */
import type { CapacityProfile } from '../context/capacity/profile.ts';
import { PROBE_MACHINE, PROBE_VERSION } from '../machines/probe.ts';
import type { Leg } from '../providers/contract.ts';
import type { NewActor } from '../runtime/actor.ts';
import type { WorkerDeps } from './deps.ts';

export function dueProbe(
  { profiles, newId }: Pick<WorkerDeps, 'profiles' | 'newId'>,
  leg: Leg,
  profile: CapacityProfile,
): readonly NewActor[] {
  if (!profiles.takeProbe(leg, profile)) return [];
  return [
    { actor: newId(), turn: null, machine: PROBE_MACHINE, version: PROBE_VERSION, input: { leg: leg.name } },
  ];
}
