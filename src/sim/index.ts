/** The model simulator: a real HTTP server speaking three providers' wires, with known limits. */
export {
  type Fault,
  type FaultName,
  type FaultRule,
  SIM_WIRES,
  type SimCall,
  type SimModel,
  type SimOutcome,
  type Simulator,
  type SimulatorOptions,
  type SimWire,
} from './contract.ts';
export { DEFAULT_SIM_MODELS, SIM_DESCRIPTION } from './models.ts';
export { startSimulator } from './simulator.ts';
