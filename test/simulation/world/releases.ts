/** Two releases of one deployment. The newer knows one version more of the turn machine, and begins turns with it. */
import { MACHINES, type MachineRegistry } from '../../../src/machines/registry.ts';
import { TURN_MACHINE, TURN_VERSION, turnMachine } from '../../../src/machines/turn.ts';

export const OLDER: MachineRegistry = MACHINES;
export const NEWER: MachineRegistry = {
  ...MACHINES,
  [TURN_MACHINE]: { ...MACHINES[TURN_MACHINE], [TURN_VERSION + 1]: turnMachine },
};
