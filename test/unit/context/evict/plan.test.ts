import { describe, expect, it } from 'vitest';
import { historyBytes, piecesOf } from '../../../../src/context/evict/pieces.ts';
import { planSpan } from '../../../../src/context/evict/plan.ts';
import { spelled, tableOf, without } from './tables.ts';

describe('the span that is due', () => {
  it('EVT-02 pays the newest item and its prompt first, and what fits exactly stays', () => {
    // 600 KB: of the 300 that stay the newest and its prompt take 200, #3 the rest; #1 stays with #3.
    expect(planSpan(tableOf('P200 a100 a100 P100 a100'), 4)).toEqual({ from: 2, to: 2 });
    // A little more of the newest and #3 has no room; then nothing keeps #1.
    expect(planSpan(tableOf('P200 a100 a100 P100 a100.1'), 4)).toEqual({ from: 1, to: 3 });
  });

  it('EVT-02 fault 1: a newest item heavier than all that may stay is not taken, all before it is', () => {
    const table = tableOf('P1 a1 P1 a100');
    expect(planSpan(table, 3)).toEqual({ from: 1, to: 2 });
    expect(planSpan({ ...table, open: 4 }, 3)).toEqual({ from: 1, to: 2 });
    expect(planSpan(tableOf('P1 a1 a1 P100'), 4)).toEqual({ from: 1, to: 3 });
  });

  it('EVT-02 a lone prompt and its answer are never taken, nor is anything of an empty table', () => {
    for (const items of ['', 'P900', 'P10 a900', 'P900 a10'])
      for (const prompt of [null, 1]) expect(planSpan(tableOf(items), prompt)).toBeNull();
  });

  it('EVT-02 fault 2: of one prompt and 200 steps the middle goes, the prompt and the newest stay', () => {
    const table = tableOf(`P1 ${'a1 '.repeat(200).trim()}`, { open: 201 });
    // 201 KB: of the 100.5 that stay two are paid, 98 more steps fit.
    expect(planSpan(table, 1)).toEqual({ from: 2, to: 102 });
    const heavy = tableOf(`P1 ${'a1 '.repeat(199)}a900`, { open: 201 });
    expect(planSpan(heavy, 1)).toEqual({ from: 2, to: 200 });
  });

  it('EVT-02 fault 3: a cut through a prompt takes all of its answers', () => {
    expect(planSpan(tableOf('P10 a90 P60 a40 P50 a50'), 5)).toEqual({ from: 1, to: 4 });
    expect(planSpan(tableOf('P200 a50 P50 a50'), 3)).toEqual({ from: 1, to: 2 });
  });

  it('EVT-02 fault 3: a prompt heavier than half the history goes with its answers, the residue between them too', () => {
    const table = tableOf('P900 a10 a10 P10 a10', { left: [{ from: 2, to: 2 }] });
    expect(planSpan(table, 4)).toEqual({ from: 1, to: 3 });
  });

  it('EVT-02 where a cut parts a prompt from its answers, the heavier side of that prompt goes', () => {
    expect(planSpan(tableOf('P10 a10 P10 a100 a100 a50 P10 a10'), 7)).toEqual({ from: 4, to: 5 });
    expect(planSpan(tableOf('P100 a100 P10 a90 a120 P5 a5'), 6)).toEqual({ from: 1, to: 2 });
  });

  it('EVT-02 what stands before the prompt in hand goes first, by another span what stands behind it', () => {
    const table = tableOf('P5 a5 P10 a50 a50 a50 a20', { open: 7 });
    expect(planSpan(table, 3)).toEqual({ from: 1, to: 2 });
    const once = without(table, planSpan(table, 3));
    expect(spelled(piecesOf(once))).toBe('#1–#2 #3 #4 #5 #6 #7');
    expect(planSpan(once, 3)).toEqual({ from: 4, to: 5 });
    const twice = without(once, planSpan(once, 3));
    expect(spelled(piecesOf(twice))).toBe('#1–#2 #3 #4–#5 #6 #7');
    // The residue behind the prompt is swallowed: still one span and one residue.
    expect(planSpan(twice, 3)).toEqual({ from: 4, to: 6 });
    expect(planSpan(without(twice, { from: 4, to: 6 }), 3)).toBeNull();
  });

  it('EVT-02 a prompt that is about to be sent stays, and so it does while it is the open item', () => {
    expect(planSpan(tableOf('P10 a10 P10'), 3)).toEqual({ from: 1, to: 2 });
    expect(planSpan(tableOf('P10 a10 P900', { open: 3 }), 3)).toEqual({ from: 1, to: 2 });
  });

  it('EVT-02 at rest the newest turn is cut as a running one is', () => {
    expect(planSpan(tableOf('P10 a100 a100 a10'), null)).toEqual({ from: 2, to: 3 });
    expect(planSpan(tableOf('P10 a10 P10 a100 a100 a10'), null)).toEqual({ from: 1, to: 2 });
  });

  it('EVT-02 EVT-03 residues are weighed and swallowed, and the span reaches over them', () => {
    const table = tableOf('P10 a10 P10 a10 P10 a10', { left: [{ from: 1, to: 2 }] });
    expect(planSpan(table, 5)).toEqual({ from: 1, to: 4 });
    expect(spelled(piecesOf(without(table, { from: 1, to: 4 })))).toBe('#1–#4 #5 #6');
  });

  it('EVT-02 a span that would take residues and no item is none', () => {
    const left = [
      { from: 1, to: 2 },
      { from: 3, to: 4 },
    ];
    expect(planSpan(tableOf('P10 a10 P10 a10 P10 a10', { left }), 5)).toBeNull();
  });

  it('EVT-02 fault 3: where only residues weigh more than half, the items behind the prompt in hand go', () => {
    const left = [
      { from: 1, to: 2 },
      { from: 3, to: 4 },
    ];
    expect(planSpan(tableOf('P9 a9 P9 a9 P.02 a.2 a.02', { left }), 5)).toEqual({ from: 6, to: 6 });
  });

  it('EVT-02 fault 3: where a residue alone is named as the cut, the next prompt goes with it and all of its answers', () => {
    const table = tableOf('P9 a9 P.04 a.02 a.02 P.02 a.02', { left: [{ from: 1, to: 2 }] });
    expect(planSpan(table, 6)).toEqual({ from: 1, to: 5 });
  });

  it('EVT-02 a span lighter than its residue is none', () => {
    expect(planSpan(tableOf('P.02 a.02 P.02 a.02'), 3)).toBeNull();
    expect(planSpan(tableOf('P.02 a.02 P1 a9 a9 a9'), 3)).toEqual({ from: 4, to: 5 });
  });

  it('EVT-02 halves a long history of turns', () => {
    const table = tableOf('P1 a2 a3 a4 '.repeat(100).trim());
    const cut = without(table, planSpan(table, null));
    expect(historyBytes(piecesOf(cut))).toBeLessThan(500_000 + 10_000);
    expect(historyBytes(piecesOf(cut))).toBeGreaterThan(500_000 - 10_000);
    expect(cut.evictions).toHaveLength(1);
  });
});
