import type { ProbeInput } from '../../src/machines/probe-context.ts';

/** A probe of a local model, as a deployment starts it by default. */
export const PROBE_INPUT: ProbeInput = {
  leg: 'main',
  ladderLeg: 'main',
  samples: 3,
  delayMs: 0,
  forced: false,
  maxMs: 900_000,
  maxMicroUsd: 100_000,
};
