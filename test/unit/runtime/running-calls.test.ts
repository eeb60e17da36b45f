import { describe, expect, it } from 'vitest';
import { RunningCalls } from '../../../src/runtime/running-calls.ts';

const calls = () => new RunningCalls({ monotonicMs: () => 0 });

describe('the calls of a process that stops', () => {
  it('RUN-12 are told to end, those that were fetched and begin a moment later too', () => {
    const running = calls();
    const before = running.begin('actor', 'step-1');
    expect(before.signal.aborted).toBe(false);
    running.abortAll();
    expect(before.signal.aborted).toBe(true);
    expect(running.begin('actor', 'step-2').signal.aborted).toBe(true);
  });

  it('RUN-06 a cancellation reaches every run of the call it names, and no other', () => {
    const running = calls();
    const [one, again, other] = [
      running.begin('a', 'step-1'),
      running.begin('a', 'step-1'),
      running.begin('b', 'step-1'),
    ];
    again.end();
    running.abort('a~step-1');
    expect([one.signal.aborted, other.signal.aborted]).toEqual([true, false]);
  });
});
