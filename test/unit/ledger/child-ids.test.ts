import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CallPlace, childIds } from '../../../src/ledger/child-ids.ts';

const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/u;
const TIME_CHARS = 13;

const place: fc.Arbitrary<CallPlace> = fc.record({
  tenant: fc.uuid(),
  session: fc.uuid(),
  turn: fc.uuid({ version: 7 }),
  step: fc.integer({ min: 1, max: 400 }),
  index: fc.integer({ min: 0, max: 31 }),
});

describe('the ids of what a call begins', () => {
  it('LIN-04 are the same for the same call, UUIDv7s of the time of its turn, and all different', () => {
    fc.assert(
      fc.property(place, (call) => {
        const ids = childIds(call);
        expect(childIds({ ...call })).toEqual(ids);
        const all = [ids.session, ids.head, ids.turn];
        for (const id of all) {
          expect(id).toMatch(UUID_V7);
          expect(id.slice(0, TIME_CHARS)).toBe(call.turn.slice(0, TIME_CHARS));
        }
        expect(new Set([...all, call.turn, call.session]).size).toBe(5);
      }),
    );
  });

  it('LIN-04 differ with every part of where the call stands', () => {
    const moved = fc.constantFrom('tenant', 'session', 'turn', 'step', 'index');
    const seen: Record<string, number> = {};
    fc.assert(
      fc.property(place, place, moved, (call, other, part) => {
        fc.pre(call[part] !== other[part]);
        seen[part] = (seen[part] ?? 0) + 1;
        const [ids, others] = [childIds(call), childIds({ ...call, [part]: other[part] })];
        for (const what of ['session', 'head', 'turn'] as const) expect(others[what]).not.toBe(ids[what]);
      }),
      { numRuns: 500 },
    );
    console.log('parts that differed', seen);
    expect(Object.keys(seen)).toHaveLength(5);
    for (const count of Object.values(seen)) expect(count).toBeGreaterThanOrEqual(5);
  });
});
