import { describe, expect, it } from 'vitest';
import type { ItemRow } from '../../../../src/context/evict/contract.ts';
import { explainItems, roomOf } from '../../../../src/context/evict/explain.ts';
import { isDue, isPressed } from '../../../../src/context/evict/gauge.ts';
import { historyBytes, piecesOf } from '../../../../src/context/evict/pieces.ts';

const row = (item: number): ItemRow => ({
  item,
  role: item % 2 === 1 ? 'user' : 'assistant',
  kind: 'own',
  turn: Math.ceil(item / 2),
  label: '',
  bytes: 100 + item,
});

describe('what requests carry, in words', () => {
  it('EVT-05 takes neighbours together, names who evicted, and weighs what the pieces weigh', () => {
    const items = [1, 2, 3, 4, 7, 8, 9].map(row);
    const evictions = [
      { from: 3, to: 4, note: 'a', author: 'model' as const },
      { from: 8, to: 8, note: null, author: 'operator' as const },
    ];
    const runs = explainItems({ items, evictions });
    expect(runs.map(({ bytes: _, ...run }) => run)).toEqual([
      { from: 1, to: 2, fidelity: 'verbatim', reason: 'carried as it was recorded' },
      { from: 3, to: 4, fidelity: 'residue', reason: 'evicted by the model' },
      { from: 7, to: 7, fidelity: 'verbatim', reason: 'carried as it was recorded' },
      { from: 8, to: 8, fidelity: 'residue', reason: 'evicted by the operator' },
      { from: 9, to: 9, fidelity: 'verbatim', reason: 'carried as it was recorded' },
    ]);
    expect(runs.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(
      historyBytes(piecesOf({ items, evictions })),
    );
    expect(explainItems({ items: [], evictions: [] })).toEqual([]);
  });

  it.each([8_192, 65_536, 109_227, 200_000, 1_000_000])(
    'EVT-01 EVT-04 names the least that reaches each line of %d tokens',
    (limit) => {
      const { dueFrom, pressureFrom } = roomOf({ unit: 'tokens', used: 1, limit }, limit);
      const at = (used: number) => ({ unit: 'tokens', used, limit }) as const;
      expect([isDue(at(dueFrom)), isDue(at(dueFrom - 1))]).toEqual([true, false]);
      expect([isPressed(at(pressureFrom)), isPressed(at(pressureFrom - 1))]).toEqual([true, false]);
    },
  );

  it('EVT-01 weighs bytes where no window is known, and says when nothing was measured', () => {
    const room = roomOf({ unit: 'bytes', used: 9 }, null);
    expect(room).toMatchObject({
      unit: 'bytes',
      used: 9,
      limit: null,
      pressureFrom: 384_000,
      dueFrom: 512_000,
    });
    expect(roomOf({ unit: 'stale' }, 200_000)).toMatchObject({
      unit: 'tokens',
      used: null,
      dueFrom: 170_001,
      pressureFrom: 140_001,
    });
  });
});
