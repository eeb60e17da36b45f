import { describe, expect, it } from 'vitest';
import { assign, createMachine, initialTransition } from 'xstate';
import { TurnwrightError } from '../../../src/ledger/errors.ts';
import { probeMachine } from '../../../src/machines/probe.ts';
import { MACHINES } from '../../../src/machines/registry.ts';
import { turnMachine } from '../../../src/machines/turn.ts';
import { findMachine, MAX_SNAPSHOT_BYTES, persist, restore } from '../../../src/runtime/snapshot.ts';
import { PROBE_INPUT } from '../../support/probe-input.ts';
import { ANSWER, calls, TurnRun } from '../machines/turn-run.ts';

const turnRow = (snapshot: string) => ({ machine: 'turn', version: 1, snapshot });

function refusalOf(snapshot: string): TurnwrightError {
  try {
    restore(turnMachine, turnRow(snapshot));
  } catch (error) {
    if (error instanceof TurnwrightError) return error;
    throw error;
  }
  throw new Error(`this snapshot was accepted: ${snapshot}`);
}

describe('the guard in front of a stored snapshot', () => {
  it('RUN-09 knows the machines of this version and no other', () => {
    expect(findMachine(MACHINES, 'turn', 1)).toBe(turnMachine);
    for (const [name, version] of [
      ['turn', 2],
      ['turn', 0],
      ['summary', 2],
      ['toString', 1],
    ] as const)
      expect(findMachine(MACHINES, name, version)).toBeNull();
  });

  it('RUN-09 refuses the snapshot of another machine', () => {
    const foreign = persist(initialTransition(probeMachine, PROBE_INPUT)[0]);
    const error = refusalOf(foreign);
    expect(error.code).toBe('snapshot_refused');
    expect(error.message).toContain('turn version 1');
    expect(error.message).toContain('metadata');
  });

  it.each([
    ['a state that does not exist', '{"context":{},"status":"active","value":"dreaming"}', 'dreaming'],
    ['a state inside one that has none', '{"context":{},"status":"active","value":{"stepping":"a"}}', '"a"'],
    ['no state', '{"context":{},"status":"active","value":null}', 'null'],
    ['an empty set of regions', '{"context":{},"status":"active","value":{}}', '{}'],
    ['no context', '{"context":null,"status":"active","value":"stepping"}', 'no context'],
    ['a name every object has', '{"context":{},"status":"active","value":"constructor"}', 'constructor'],
    ['text that is no JSON', '{"value":', 'not a snapshot'],
    ['JSON that is no snapshot', '["stepping"]', 'not a snapshot'],
    ['a missing status', '{"context":{},"value":"stepping"}', 'not a snapshot'],
  ])('RUN-09 refuses %s, and says what it found', (_, snapshot, found) => {
    const error = refusalOf(snapshot);
    expect(error.code).toBe('snapshot_refused');
    expect(error.message).toContain(found);
  });

  it.each(['done', 'error', 'stopped'])('RUN-09 refuses a snapshot whose status is %s', (status) => {
    const running = TurnRun.started();
    const changed = running.snapshot.replace('"status":"active"', `"status":"${status}"`);
    expect(refusalOf(changed).message).toContain(`"${status}"`);
    expect(refusalOf(TurnRun.started().step(ANSWER).snapshot).message).toContain('"done"');
  });
});

describe('a snapshot as it is stored', () => {
  it('is canonical JSON of value, context, status and output, and names no child', () => {
    const run = TurnRun.started().step(calls(2));
    expect(Object.keys(run.stored)).toEqual(['context', 'status', 'value']);
    expect(run.children.size).toBe(2);
  });

  it('comes back with a stub for each open call, so that leaving a state can stop it', () => {
    const row = { ...turnRow(TurnRun.started().snapshot), openChildren: ['step-1', 'tool-1-0'] };
    expect(Object.keys(restore(turnMachine, row).children)).toEqual(['step-1', 'tool-1-0']);
  });

  it('is stored up to 8 KiB and refused beyond, before it reaches a row', () => {
    const machine = createMachine({
      id: 'large',
      context: ({ input }) => ({ text: String(input) }),
      entry: assign({}),
    });
    const of = (letters: number) => persist(initialTransition(machine, 'x'.repeat(letters) as never)[0]);
    const frame = of(0).length;
    expect(MAX_SNAPSHOT_BYTES).toBe(8_192);
    expect(of(MAX_SNAPSHOT_BYTES - frame)).toHaveLength(MAX_SNAPSHOT_BYTES);
    expect(() => of(MAX_SNAPSHOT_BYTES - frame + 1)).toThrow(/8193 bytes .* 8192/u);
  });

  it('RUN-09 stores no snapshot of a machine that met an error it does not handle', () => {
    const machine = createMachine({ initial: 'waiting', states: { waiting: {} } });
    const [initial] = initialTransition(machine);
    expect(() => persist({ ...initial, status: 'error', error: new Error('boom') } as never)).toThrow(/boom/);
  });
});
