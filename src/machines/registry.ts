/** Every machine by name and version. A released version stays here until no open actor uses it. */
import type { AnyStateMachine } from 'xstate';
import { PROBE_MACHINE, PROBE_VERSION, probeMachine } from './probe.ts';
import { TURN_MACHINE, TURN_VERSION, turnMachine } from './turn.ts';

export type MachineRegistry = Readonly<Record<string, Readonly<Record<number, AnyStateMachine>>>>;

export const MACHINES: MachineRegistry = {
  [TURN_MACHINE]: { [TURN_VERSION]: turnMachine },
  [PROBE_MACHINE]: { [PROBE_VERSION]: probeMachine },
};

export const CURRENT_VERSION: Readonly<Record<string, number>> = {
  [TURN_MACHINE]: TURN_VERSION,
  [PROBE_MACHINE]: PROBE_VERSION,
};
