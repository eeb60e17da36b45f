import { describe, expect, it } from 'vitest';
import type { Eviction, ItemRow } from '../../../../src/context/evict/contract.ts';
import { historyBytes, piecesOf } from '../../../../src/context/evict/pieces.ts';
import { residueBytes, residueText } from '../../../../src/context/evict/residue.ts';
import { leaving, spelled, tableOf } from './tables.ts';

const shown = (items: string, left: readonly { from: number; to: number }[]): string =>
  spelled(piecesOf(tableOf(items, { left })));

describe('the pieces of a head', () => {
  it('EVT-02 are its items, and a residue where each span left', () => {
    expect(shown('P1 a1 P1 a1 P1 a1', [])).toBe('#1 #2 #3 #4 #5 #6');
    expect(shown('P1 a1 P1 a1 P1 a1', [{ from: 3, to: 4 }])).toBe('#1 #2 #3–#4 #5 #6');
    expect(shown('P1 a1', [{ from: 1, to: 2 }])).toBe('#1–#2');
    expect(shown('', [])).toBe('');
  });

  it('EVT-03 one residue stands for a span and all that it swallowed', () => {
    const left = [
      { from: 2, to: 2 },
      { from: 4, to: 5 },
      { from: 2, to: 5 },
      { from: 6, to: 6 },
    ];
    expect(shown('P1 a1 P1 a1 a1 P1 a1', left)).toBe('#1 #2–#5 #6–#6 #7');
    expect(shown('P1 a1 P1 a1 a1 P1 a1', left.toReversed())).toBe('#1 #2–#5 #6–#6 #7');
  });

  it('EVT-03 stand the same where the items that left are not told, and where numbers have gaps', () => {
    const { items } = tableOf('P1 a1 P1 a1 P1 a1');
    const resident = items.filter(({ item }) => item > 4);
    const evictions = [leaving({ from: 1, to: 2 }), leaving({ from: 1, to: 4 })];
    expect(spelled(piecesOf({ items: resident, evictions }))).toBe('#1–#4 #5 #6');
    const gapped = items.filter(({ item }) => item !== 2 && item !== 5);
    expect(spelled(piecesOf({ items: gapped, evictions: [leaving({ from: 3, to: 4 })] }))).toBe(
      '#1 #3–#4 #6',
    );
  });

  it('EVT-03 are weighed as they are sent, residues included', () => {
    const pieces = piecesOf(tableOf('P10 a20 P1 a2', { left: [{ from: 1, to: 2 }] }));
    expect(historyBytes(pieces)).toBe(3_000 + residueBytes({ from: 1, to: 2, note: null }));
  });

  it('EVT-03 fault 4: a residue says what its own record says, whatever comes after it', () => {
    const noted = leaving({ from: 1, to: 2 }, 'first');
    const later = [noted, leaving({ from: 5, to: 6 }, 'second')];
    const texts = (items: string, evictions: readonly Eviction[]) =>
      piecesOf({ ...tableOf(items), evictions }).flatMap((piece) =>
        piece.kind === 'residue' ? [residueText(piece.eviction)] : [],
      );
    const [before] = texts('P1 a1 P1 a1', [noted]);
    const both = texts('P1 a1 P1 a1 P1 a1 P1 a1 a1', later);
    expect(both).toEqual([before, expect.stringContaining('"second"')]);
    expect(both[0]).toContain('"first"');
    const wider = texts('P1 a1 P1 a1 P1 a1 P1 a1', [...later, leaving({ from: 1, to: 6 })]);
    expect(wider).toEqual([residueText({ from: 1, to: 6, note: null })]);
  });

  it('EVT-02 are found in one walk: 40,000 items and 10,000 spans', () => {
    const items = Array.from(
      { length: 40_000 },
      (_, at): ItemRow => ({
        item: at,
        role: at % 4 === 0 ? 'user' : 'assistant',
        kind: 'own',
        turn: at,
        label: '',
        bytes: 1,
      }),
    );
    const nested = Array.from({ length: 5_000 }, (_, at) => leaving({ from: 0, to: 4 * at + 3 }));
    const apart = Array.from({ length: 5_000 }, (_, at) =>
      leaving({ from: 20_001 + 4 * at, to: 20_002 + 4 * at }),
    );
    const started = performance.now();
    const pieces = piecesOf({ items, evictions: [...nested, ...apart] });
    expect(pieces.filter(({ kind }) => kind === 'residue')).toHaveLength(1 + 5_000);
    expect(pieces.filter(({ kind }) => kind === 'item')).toHaveLength(20_000 - 10_000);
    expect(performance.now() - started).toBeLessThan(3_000);
  });
});
