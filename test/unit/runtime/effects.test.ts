import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CALL_POLICY, CALL_SOURCES, isCallSource, retryDelayMs } from '../../../src/runtime/calls.ts';
import { readEffects } from '../../../src/runtime/effects.ts';
import { calls, TurnRun } from '../machines/turn-run.ts';

describe('reading the actions of a transition', () => {
  it('finds in a life of a turn only what the runtime can do, each call on a pool', () => {
    const run = TurnRun.started().step(calls(1, 1));
    expect(run.effects.map(({ kind }) => kind)).toEqual(['record', 'clear-timer', 'timer']);
    run.send({ type: 'turn.approve' });
    expect(run.effects).toEqual([
      { kind: 'clear-timer', timer: 'waited' },
      {
        kind: 'record',
        draft: { kind: 'turn-decided', body: { for: 'approval', decision: 'approve' } },
      },
      {
        kind: 'spawn',
        child: 'tool-1-0',
        src: 'tool',
        input: { step: 1, index: 0, denied: false, decided: null, again: false },
      },
      { kind: 'timer', timer: 'deadline', event: { type: 'turn.deadline' }, delayMs: 60_000 },
    ]);
  });

  it('refuses an action it has no meaning for, by name', () => {
    expect(() => readEffects([{ type: 'xstate.log' }])).toThrow(/xstate\.log/u);
  });
});

describe('the policy of side calls', () => {
  it('names a pool and a number of attempts for every source a machine may ask for', () => {
    expect(Object.keys(CALL_POLICY).sort()).toEqual([...CALL_SOURCES].sort());
    for (const src of CALL_SOURCES) expect(CALL_POLICY[src].maxAttempts).toBeGreaterThanOrEqual(1);
    expect(isCallSource('toString')).toBe(false);
  });

  it('RUN-08 never tries a tool again by itself', () => {
    expect(CALL_POLICY.tool.maxAttempts).toBe(1);
  });

  it('backs off within bounds that double, never under what the provider asked for', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...CALL_SOURCES),
        fc.integer({ min: 1, max: 40 }),
        fc.option(fc.nat({ max: 600_000 }), { nil: undefined }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (src, attempt, retryAfterMs, random) => {
          const full = Math.min(60_000, CALL_POLICY[src].firstDelayMs * 2 ** (attempt - 1));
          const delayMs = retryDelayMs(src, attempt, retryAfterMs, random);
          expect(delayMs).toBeGreaterThanOrEqual(Math.floor(Math.max(full / 2, retryAfterMs ?? 0)));
          expect(delayMs).toBeLessThanOrEqual(Math.ceil(Math.max(full, retryAfterMs ?? 0)));
        },
      ),
    );
  });
});
