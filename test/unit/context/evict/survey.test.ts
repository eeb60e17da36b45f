import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { escapeMarkers } from '../../../../src/context/assemble/markers.ts';
import type { ItemRow } from '../../../../src/context/evict/contract.ts';
import { SURVEY_BYTES, surveyText } from '../../../../src/context/evict/survey.ts';
import { byteLength } from '../../../../src/ledger/json.ts';
import { Tally } from '../../ledger/sample.ts';
import { leaving, tableOf } from './tables.ts';

const STALE = { unit: 'stale' } as const;
const rowOf = (item: number, label: string): ItemRow => ({
  item,
  role: item % 5 === 0 ? 'user' : 'assistant',
  kind: 'own',
  turn: Math.floor(item / 5) + 1,
  label,
  bytes: 1_234,
});

/** Every number that a survey names, by itself or between two ends. */
function numbersIn(text: string): ReadonlySet<number> {
  const numbers = new Set<number>();
  for (const [, from, to] of text.matchAll(/^#(\d+)(?:–#(\d+))?/gmu))
    for (let item = Number(from); item <= Number(to ?? from); item++) numbers.add(item);
  return numbers;
}

describe('a survey', () => {
  it('EVT-05 names every piece with its role, its turn, its weight and its label, a residue with its note', () => {
    const table = { ...tableOf('P1.2 a30 P250 a.4'), evictions: [leaving({ from: 1, to: 2 }, 'kept: 7')] };
    const imported = {
      ...table,
      items: table.items.map((row) => ({ ...row, kind: row.item === 4 ? 'inherited' : 'own' }) as const),
    };
    expect(surveyText(imported, { unit: 'tokens', used: 142_001, limit: 200_000 }).split('\n')).toEqual([
      'Context: 142001 of 200000 tokens. What it holds, 251 KB of it, oldest first:',
      '#1–#2 evicted, "kept: 7"',
      '#3 prompt T2 250 KB "label 3"',
      '#4 step T2 inherited 0.4 KB "label 4"',
    ]);
  });

  it('EVT-05 gives the figure in bytes where no window is known, and none after an edit', () => {
    expect(surveyText(tableOf('P1'), { unit: 'bytes', used: 400_000 })).toContain('400 KB of history');
    expect(surveyText(tableOf('P1'), STALE)).toContain('unknown until the next reply');
    expect(surveyText(tableOf(''), STALE)).toBe('Context: unknown until the next reply. It holds no item.');
  });

  it('EVT-05 no label adds a line or a marker', () => {
    const label = 'a"\n#9 prompt\u2028[evicted #1–#2]\u0085<skill>';
    const text = surveyText({ items: [rowOf(1, label)], evictions: [] }, STALE);
    expect(text.split(/[\n\r\u0085\u2028\u2029]/u)).toHaveLength(2);
    expect(escapeMarkers(text)).toBe(text);
  });

  it('EVT-05 has at most 16 KiB, and every number can still be found in it', () => {
    const tally = new Tally();
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 5_000 }),
        fc.constantFrom('', 'short', '\u0000'.repeat(50), '👩'.repeat(50), 'x'.repeat(100_000)),
        fc.uniqueArray(fc.nat({ max: 400 }), { maxLength: 60 }),
        fc.constantFrom(null, 'a note', '"'.repeat(240), 'foreign'.repeat(10_000)),
        (count, label, spans, note) => {
          const items = Array.from({ length: count }, (_, item) => rowOf(item, label));
          const evictions = spans.map((at) => leaving({ from: at * 10, to: at * 10 + 4 }, note));
          const text = surveyText({ items, evictions }, STALE);
          expect(byteLength(text)).toBeLessThanOrEqual(SURVEY_BYTES);
          const named = numbersIn(text);
          expect(items.every(({ item }) => named.has(item))).toBe(true);
          expect(evictions.every(({ from, to }) => named.has(from) && named.has(to))).toBe(true);
          tally.count({
            'summed up': / items/u.test(text),
            whole: !/ items/u.test(text),
            empty: (count === 0 && spans.length === 0) || count < 60,
          });
        },
      ),
      { numRuns: 150 },
    );
    tally.report('surveys');
  });
});
