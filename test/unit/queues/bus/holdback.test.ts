import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Holdback } from '../../../../src/queues/bus/holdback.ts';
import type { DeltaFrame } from '../../../../src/queues/bus.ts';

const OPEN_MS = 100;

function frame(n: number): DeltaFrame {
  return { id: `1.0.${n}`, type: 'step.delta', data: null };
}

describe('holdback', () => {
  it('holds what nobody watches and hands it over when someone does', () => {
    const holdback = new Holdback(OPEN_MS);
    expect(holdback.offer('t', [frame(1), frame(2)], 0)).toEqual([]);
    expect(holdback.open('t', 10)).toEqual([frame(1), frame(2)]);
    expect(holdback.open('t', 11)).toEqual([]);
    expect(holdback.offer('t', [frame(3)], 12)).toEqual([frame(3)]);
  });

  it('holds again when announcements stop', () => {
    const holdback = new Holdback(OPEN_MS);
    holdback.open('t', 0);
    expect(holdback.offer('t', [frame(1)], OPEN_MS - 1)).toEqual([frame(1)]);
    expect(holdback.offer('t', [frame(2)], OPEN_MS)).toEqual([]);
    expect(holdback.open('t', OPEN_MS + 1)).toEqual([frame(2)]);
  });

  it('keeps turns apart, and forgets the one whose frames are durable', () => {
    const holdback = new Holdback(OPEN_MS);
    holdback.offer('a', [frame(1)], 0);
    holdback.offer('b', [frame(2)], 0);
    holdback.forget('a');
    expect([holdback.open('a', 1), holdback.open('b', 1)]).toEqual([[], [frame(2)]]);
  });

  it('keeps the newest frames of a turn, and drops the turn longest without a word first', () => {
    const holdback = new Holdback(OPEN_MS, { perTurn: 3, total: 5 });
    holdback.offer('a', [frame(1), frame(2)], 0);
    holdback.offer('b', [frame(1), frame(2), frame(3), frame(4)], 0);
    holdback.offer('a', [frame(3)], 0);
    expect(holdback.open('b', 1)).toEqual([]);
    expect(holdback.open('a', 1)).toEqual([frame(1), frame(2), frame(3)]);
  });

  it('lets every frame out once and in order, whenever it is watched, within its bounds', () => {
    const step = fc.record({
      count: fc.integer({ min: 0, max: 4 }),
      open: fc.boolean(),
      waitMs: fc.nat(150),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const holdback = new Holdback(OPEN_MS);
        const [given, out]: [DeltaFrame[], DeltaFrame[]] = [[], []];
        let nowMs = 1;
        for (const { count, open, waitMs } of steps) {
          nowMs += waitMs;
          const frames = Array.from({ length: count }, (_, n) => frame(given.length + n));
          given.push(...frames);
          if (open) out.push(...holdback.open('t', nowMs));
          out.push(...holdback.offer('t', frames, nowMs));
        }
        out.push(...holdback.open('t', nowMs));
        expect(out).toEqual(given);
      }),
    );
  });
});
