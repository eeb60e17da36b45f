import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MACHINES } from '../../../src/machines/registry.ts';
import { TURN_MACHINE, TURN_VERSION } from '../../../src/machines/turn.ts';
import { awaitedBy, type PastEvent } from '../../../src/runtime/awaited.ts';
import { ANSWER, calls, EMPTY, type Fact, PACKET_WANTED, TurnRun } from '../machines/turn-run.ts';

const TURN = { machine: TURN_MACHINE, version: TURN_VERSION };
const HOUR_MS = 3_600_000;

/** Events an hour apart, each under the id the runtime gives it. */
function pastOf(turn: TurnRun): readonly PastEvent[] {
  return turn.history.map(({ event }, index) => ({
    id: idOf(JSON.parse(event) as { readonly type: string }, index),
    event,
    revision: index + 1,
    receivedMs: index * HOUR_MS,
  }));
}

function idOf({ type }: { readonly type: string }, index: number): string {
  const child = /^xstate\.(?:done|error)\.actor\.(.*)$/u.exec(type)?.[1];
  if (child !== undefined) return child;
  return type === 'turn.waited' ? `timer.waited.${index}` : `event.${index}`;
}

const awaited = (turn: TurnRun) => awaitedBy(MACHINES, TURN, pastOf(turn));

describe('what a turn waits for, by its events', () => {
  it('RUN-11 is the very calls and timers that stand open, after any history', () => {
    const fact = fc.constantFrom<Fact>(EMPTY, PACKET_WANTED, calls(1), calls(3), calls(2, 1), ANSWER);
    const choice = fc.record({ fact, at: fc.nat({ max: 9 }), fails: fc.constantFrom(false, false, true) });
    const seen = { calls: 0, timers: 0, waiting: 0 };
    fc.assert(
      fc.property(fc.array(choice, { minLength: 1, maxLength: 20 }), (choices) => {
        const turn = TurnRun.started();
        for (const { fact: next, at, fails } of choices) {
          const child = [...turn.children][at % Math.max(1, turn.children.size)];
          if (turn.state === 'waiting') turn.send({ type: 'turn.approve' });
          else if (fails && child !== undefined && !child.startsWith('step-')) turn.failed(child);
          else if (child?.startsWith('step-') === true) turn.done(child, next);
          else if (child?.startsWith('summary-') === true) turn.summarised();
          else if (child !== undefined) turn.done(child);
          if (turn.ended) break;
          const found = awaited(turn);
          expect(found?.snapshot).toBe(turn.snapshot);
          expect(found?.calls.map((call) => call.child).sort()).toEqual([...turn.children].sort());
          expect(found?.timers.map(({ timer }) => timer).sort()).toEqual([...turn.timers.keys()].sort());
          seen.calls += turn.children.size;
          seen.timers += turn.timers.size;
          seen.waiting += turn.state === 'waiting' ? 1 : 0;
        }
      }),
    );
    for (const [what, count] of Object.entries(seen)) expect([what, count > 10]).toEqual([what, true]);
  });

  it('RUN-11 gives a call back with its pool and input, and a timer with its first due time', () => {
    const turn = TurnRun.started({ deadlineMs: 5_000 }).step(calls(1, 1));
    expect(turn.state).toBe('waiting');
    const waiting = awaited(turn);
    expect(waiting?.calls).toEqual([]);
    const due = Object.fromEntries((waiting?.timers ?? []).map(({ timer, dueMs }) => [timer, dueMs]));
    // The start was the second event, the reply of the step the third; while others are waited for no deadline runs.
    expect(due).toEqual({ waited: 2 * HOUR_MS + 24 * HOUR_MS });
    expect(waiting?.timers.find(({ timer }) => timer === 'waited')).toMatchObject({
      event: '{"type":"turn.waited"}',
      revision: 3,
    });
    turn.send({ type: 'turn.approve' });
    const tooling = awaited(turn);
    expect(tooling?.calls).toMatchObject([{ child: 'tool-1-0', src: 'tool', pool: 'tool' }]);
    expect(JSON.parse(tooling?.calls[0]?.input ?? '')).toMatchObject({ step: 1, index: 0, denied: false });
    expect(tooling?.timers.map(({ timer }) => timer)).toEqual(['deadline']);
  });

  it('RUN-11 is nothing for a machine nobody knows and for no events, and a throw for events that lead nowhere', () => {
    const turn = TurnRun.started();
    expect(awaitedBy(MACHINES, { machine: TURN_MACHINE, version: 99 }, pastOf(turn))).toBeNull();
    expect(awaitedBy(MACHINES, TURN, [])).toBeNull();
    const [first, ...rest] = pastOf(turn);
    const broken = rest.map((past) => ({ ...past, event: '{' }));
    expect(() => awaitedBy(MACHINES, TURN, first === undefined ? [] : [first, ...broken])).toThrow();
  });
});
