import { describe, expect, it } from 'vitest';
import type { StateNode } from 'xstate';
import { MACHINES, newestVersion } from '../../../src/machines/registry.ts';
import { TURN_MACHINE, turnMachine } from '../../../src/machines/turn.ts';
import { isCallSource } from '../../../src/runtime/calls.ts';

function statesOf(node: StateNode): readonly StateNode[] {
  return Object.values(node.states).flatMap((state) => [state, ...statesOf(state)]);
}

describe('every registered machine', () => {
  const machines = Object.entries(MACHINES).flatMap(([name, versions]) =>
    Object.entries(versions).map(([version, machine]) => ({ name, version: Number(version), machine })),
  );

  it('stands under its own name, and new actors get its newest version', () => {
    for (const { name, machine } of machines) expect(machine.id).toBe(name);
    const registry = { [TURN_MACHINE]: { 1: turnMachine, 10: turnMachine, 9: turnMachine } };
    expect(newestVersion(registry, TURN_MACHINE)).toBe(10);
  });

  it('describes each of its states in one sentence', () => {
    for (const { machine } of machines)
      for (const state of statesOf(machine.root as StateNode))
        expect(`${state.key}: ${state.description ?? ''}`).toMatch(/: [A-Z].*\.$/u);
  });

  it('asks only for side calls that a pool runs', () => {
    for (const { machine } of machines)
      for (const src of Object.keys(machine.implementations.actors)) expect(isCallSource(src)).toBe(true);
  });
});
