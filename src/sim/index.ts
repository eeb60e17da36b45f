/** The model simulator: a real HTTP server speaking three providers' wires, with known limits. */
export type {
  Fault,
  FaultRule,
  OverLengthWording,
  SimCall,
  SimModel,
  Simulator,
} from './contract.ts';
export { EMBEDDING_DIMENSIONS } from './embeddings.ts';
export { DEFAULT_SIM_MODELS } from './models.ts';
export { startSimulator } from './simulator.ts';
