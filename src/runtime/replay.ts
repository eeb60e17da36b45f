/** Re-runs an actor's events from its first and compares every snapshot with the one the hop stored. */
import { initialTransition, transition } from 'xstate';
import { blake3Hex } from '../ledger/chain.ts';
import type { Json } from '../ledger/json.ts';
import type { MachineRegistry } from '../machines/registry.ts';
import { findMachine, persist, restore } from './snapshot.ts';

export interface AppliedEvent {
  readonly id: string;
  readonly event: string;
  readonly digest: string | null;
}

export interface ReplayStep {
  readonly id: string;
  readonly type: string;
  /** Canonical JSON, as the actor's row would hold it. */
  readonly snapshot: string;
  readonly matches: boolean;
}

/** Events come in order of revision; one without a digest reached a finished actor and changed nothing. */
export function replay(
  registry: MachineRegistry,
  name: string,
  version: number,
  events: readonly AppliedEvent[],
): readonly ReplayStep[] {
  const machine = findMachine(registry, name, version);
  if (machine === null) throw new Error(`machine ${name} version ${version} is not known here`);
  const steps: ReplayStep[] = [];
  let snapshot: string | null = null;
  for (const { id, event, digest } of events) {
    const parsed = JSON.parse(event) as { type: string; input?: Json };
    if (digest === null) continue;
    const next: Parameters<typeof persist>[0] =
      snapshot === null
        ? initialTransition(machine, parsed.input)[0]
        : transition(machine, restore(machine, { machine: name, version, snapshot }), parsed)[0];
    snapshot = persist(next);
    steps.push({ id, type: parsed.type, snapshot, matches: blake3Hex(snapshot) === digest });
  }
  return steps;
}

/** The one row a finished actor's events were folded into, as events again. */
export function unfold(events: readonly AppliedEvent[]): readonly AppliedEvent[] {
  return events.flatMap((row) => {
    if (row.id !== 'all') return [row];
    const folded = JSON.parse(row.event) as readonly (readonly [string, Json, string | null])[];
    return folded.map(([id, event, digest]) => ({ id, event: JSON.stringify(event), digest }));
  });
}
