/** Every machine by name and version. A released version stays here until no open actor uses it. */
import type { AnyStateMachine } from 'xstate';
import { PROBE_MACHINE, PROBE_VERSION, probeMachine } from './probe.ts';
import { SUMMARY_MACHINE, SUMMARY_VERSION, summaryMachine } from './summary.ts';
import { TURN_MACHINE, TURN_VERSION, turnMachine } from './turn.ts';

export type MachineRegistry = Readonly<Record<string, Readonly<Record<number, AnyStateMachine>>>>;

export const MACHINES: MachineRegistry = {
  [TURN_MACHINE]: { [TURN_VERSION]: turnMachine },
  [SUMMARY_MACHINE]: { [SUMMARY_VERSION]: summaryMachine },
  [PROBE_MACHINE]: { [PROBE_VERSION]: probeMachine },
};

/** The version that new actors get: the newest that is registered. */
export function newestVersion(registry: MachineRegistry, name: string): number {
  return Math.max(...Object.keys(registry[name] ?? {}).map(Number));
}
