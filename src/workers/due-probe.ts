/** A probe begins when a turn closes on a model nobody asked about yet; never on the turn's own path. */
import type { CapacityProfile } from '../context/capacity/profile.ts';
import { PROBE_MACHINE, PROBE_VERSION } from '../machines/probe.ts';
import type { Leg } from '../providers/contract.ts';
import type { NewActor } from '../runtime/hop.ts';

export function dueProbe(leg: Leg, profile: CapacityProfile, newId: () => string): readonly NewActor[] {
  if (profile.provenance.rungs.length > 0) return [];
  return [
    { actor: newId(), turn: null, machine: PROBE_MACHINE, version: PROBE_VERSION, input: { leg: leg.name } },
  ];
}
