import { describe, expect, it } from 'vitest';
import type { ItemTable } from '../../../../src/context/evict/contract.ts';
import { resolveSpan } from '../../../../src/context/evict/resolve.ts';
import { leaving, tableOf } from './tables.ts';

const TWO_TURNS = tableOf('P1 a1 a1 P1 a1 a1');
const RUNNING = tableOf('P1 a1 a1 P1 a1 a1', { open: 6 });

const spanOf = (table: ItemTable, from: number, to: number): string => {
  const found = resolveSpan(table, { from, to });
  return found.ok ? `#${found.span.from}–#${found.span.to}` : found.reason;
};
const refusal = (table: ItemTable, from: number, to: number): string => {
  const found = resolveSpan(table, { from, to });
  if (found.ok) throw new Error(`#${found.span.from}–#${found.span.to} was taken`);
  return found.message;
};

describe('a span that is asked for', () => {
  it('EVT-05 is taken as it was named, with its note', () => {
    expect(resolveSpan(TWO_TURNS, { from: 1, to: 3, note: 'kept: 7' })).toEqual({
      ok: true,
      span: { from: 1, to: 3 },
      note: 'kept: 7',
    });
    expect(resolveSpan(TWO_TURNS, { from: 2, to: 2, note: null })).toEqual({
      ok: true,
      span: { from: 2, to: 2 },
      note: null,
    });
  });

  it('EVT-02 EVT-05 keeps every prompt that an answer would be left without', () => {
    expect(spanOf(TWO_TURNS, 1, 2)).toBe('#2–#2');
    expect(spanOf(TWO_TURNS, 1, 4)).toBe('#1–#3');
    expect(spanOf(TWO_TURNS, 1, 5)).toBe('#1–#3');
    expect(spanOf(TWO_TURNS, 2, 4)).toBe('#2–#3');
    expect(spanOf(TWO_TURNS, 4, 6)).toBe('#4–#6');
    expect(spanOf(RUNNING, 4, 5)).toBe('#5–#5');
  });

  it('EVT-05 may be the whole context at rest', () => {
    expect(spanOf(TWO_TURNS, 1, 6)).toBe('#1–#6');
  });

  it('EVT-03 swallows every residue that it touches', () => {
    const left = [
      { from: 2, to: 3 },
      { from: 4, to: 6 },
    ];
    const table = tableOf('P1 a1 a1 P1 a1 a1 P1 a1', { left });
    expect(spanOf(table, 1, 5)).toBe('#1–#6');
    expect(spanOf(table, 5, 8)).toBe('#4–#8');
    expect(spanOf(table, 7, 8)).toBe('#7–#8');
  });

  it('EVT-05 is refused where a number was never given out: it tells the highest, or that there is none', () => {
    expect(refusal(TWO_TURNS, 4, 9)).toBe('There is no item #9 here. The highest number is #6.');
    expect(refusal(tableOf(''), 1, 2)).toBe('There is no item #1: nothing has been recorded yet.');
    expect([spanOf(TWO_TURNS, 4, 9), spanOf(tableOf(''), 1, 2)]).toEqual(['never_recorded', 'empty']);
    // The highest may have left.
    const gone = { ...tableOf(''), evictions: [leaving({ from: 1, to: 6 })] };
    expect(refusal(gone, 7, 7)).toContain('#6');
    // Another head's number.
    const gapped = { ...TWO_TURNS, items: TWO_TURNS.items.filter(({ item }) => item !== 5) };
    expect(spanOf(gapped, 5, 6)).toBe('never_recorded');
    expect(spanOf(gapped, 4, 6)).toBe('#4–#6');
  });

  it('EVT-05 is refused where all of it has left: it tells the lowest number that is left, or that none is', () => {
    const table = { ...TWO_TURNS, evictions: [leaving({ from: 1, to: 3 })] };
    expect(refusal(table, 2, 3)).toMatch(
      /^#2–#3 left the context earlier.*The lowest item still in it is #4\.$/u,
    );
    expect(refusal({ ...table, items: table.items.slice(3) }, 2, 2)).toMatch(/^#2 left.*#4\.$/u);
    expect(refusal({ ...TWO_TURNS, evictions: [leaving({ from: 1, to: 6 })] }, 1, 6)).toContain(
      'No item is left in the context.',
    );
  });

  it('EVT-02 EVT-05 is refused where it holds residues and no item', () => {
    const evictions = [leaving({ from: 1, to: 3 }), leaving({ from: 4, to: 6 })];
    const table = { ...tableOf('P1 a1 a1 P1 a1 a1 P1'), evictions };
    expect(spanOf(table, 2, 5)).toBe('only_residues');
    expect(refusal(table, 2, 5)).toMatch(/only evicted spans.*#7\.$/u);
  });

  it('EVT-05 is refused where it holds the open item, wherever it begins', () => {
    expect([spanOf(RUNNING, 6, 6), spanOf(RUNNING, 1, 6)]).toEqual(['open', 'open']);
    expect(refusal(RUNNING, 1, 6)).toContain('Item #6 is still open');
  });

  it('EVT-05 is refused where a prompt alone was named: it tells the answers to add, and with them it goes', () => {
    expect(refusal(TWO_TURNS, 1, 1)).toContain('Prompt #1 cannot go without its answers #2–#3.');
    expect(spanOf(TWO_TURNS, 1, 3)).toBe('#1–#3');
    const table = { ...TWO_TURNS, evictions: [leaving({ from: 2, to: 2 })] };
    expect(refusal(table, 1, 1)).toContain('answers #3.');
    expect(spanOf(table, 1, 2)).toBe('survivor');
  });

  it('EVT-05 is refused where the prompt in hand was named, and told no answers that could not go', () => {
    expect(spanOf(RUNNING, 4, 4)).toBe('survivor');
    expect(refusal(RUNNING, 4, 4)).toBe(
      'Prompt #4 cannot go: its answer #6 is still open. Name items before it.',
    );
  });

  it('EVT-05 is refused where its ends are exchanged, or its note may not stand', () => {
    expect(refusal(TWO_TURNS, 3, 1)).toContain('from is #3 and to is #1');
    const noted = resolveSpan(TWO_TURNS, { from: 1, to: 3, note: 'a\nb' });
    expect(noted).toMatchObject({ ok: false, reason: 'note_lines' });
  });
});
