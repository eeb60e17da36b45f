/** How full a window is that nobody stated. */
import { expect, it } from 'vitest';
import { residueBytes } from '../../../src/context/evict/residue.ts';
import { type HeadItems, measureOf } from '../../../src/runtime/head-items.ts';

const ROW = { role: 'assistant', kind: 'own', turn: 1, label: '', bytes: 300_000 } as const;

it('EVT-01 fault 10: what left the requests weighs no more, so that one eviction does not bring the next', () => {
  const eviction = { from: 1, to: 2, note: null, author: 'harness' } as const;
  const items: HeadItems = {
    table: { items: [1, 2, 3].map((item) => ({ ...ROW, item })), evictions: [eviction], open: null },
    pieceOf: () => ({ messages: [], bytes: 0, digest: '' }),
    before: null,
    editedSeq: 9,
  };
  const used = ROW.bytes + residueBytes(eviction);
  expect(measureOf(items, null, { leg: 'any', limit: null })).toEqual({ unit: 'bytes', used });
});
