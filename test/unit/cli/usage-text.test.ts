import { describe, expect, it } from 'vitest';
import { usageAnswer } from '../../../src/api/usage-answers.ts';
import { usageText } from '../../../src/cli/usage-text.ts';
import { addCounts, NO_USAGE, type UsageCounts } from '../../../src/ledger/usage.ts';

const PLAIN = { bold: (text: string) => text, dim: (text: string) => text };

function text(rows: readonly (Partial<UsageCounts> & { readonly key: string })[], more = false): string {
  const whole = rows.map((row) => ({ ...NO_USAGE, ...row }));
  const { key: _, ...total } = whole.reduce((sum, row) => ({ key: '', ...addCounts(sum, row) }), {
    ...NO_USAGE,
    key: '',
  });
  return usageText(usageAnswer('leg', { rows: whole, more, total }), PLAIN);
}

const cellsOf = (line: string | undefined) => (line ?? '').trim().split(/ {2,}/u);

describe('CST-01 usage as a table', () => {
  const rows = [
    {
      key: 'dear',
      calls: 1_200,
      inputTokens: 1_000_000,
      outputTokens: 9,
      microUsd: 2_000_001,
      priced: 1_200,
    },
    { key: 'free', calls: 2, inputTokens: 5, cacheReadTokens: 3, unpriced: 2 },
  ];

  it('CST-01 has a row for each, then the total, with dollars to the last digit', () => {
    const [head, dear, free, total] = text(rows).split('\n');
    expect(cellsOf(head)).toEqual(['Leg', 'Calls', 'Fresh', 'Cached', 'Written', 'Reply', 'Hits', 'Cost']);
    expect(cellsOf(dear)).toEqual(['dear', '1,200', '1,000,000', '0', '0', '9', '-', '$2.000001']);
    expect(cellsOf(free)).toEqual(['free', '2', '5', '3', '0', '0', '-', '-', 'unpriced, 2 unpriced']);
    expect(cellsOf(total)).toEqual([
      'total',
      '1,202',
      '1,000,005',
      '3',
      '0',
      '9',
      '-',
      '$2.000001',
      'partial, 2 unpriced',
    ]);
  });

  it('CST-02 tells how often each layer of the response cache answered', () => {
    const hits = { looked: 4, cached: 3, processLooked: 4, processHits: 1, storeLooked: 3, storeHits: 2 };
    const told = text([{ key: 'dear', calls: 4, priced: 4, ...hits }]);
    expect(told).toContain('75 %');
    expect(told).toContain('response cache: 3 of 4 requests (process 1 of 4, store 2 of 3)');
    expect(text(rows)).not.toContain('response cache');
  });

  it('CST-01 says that rows are missing, and that nothing was called', () => {
    expect(text(rows, true)).toMatch(/\n… .*the total counts them\ntotal /u);
    expect(text([])).toBe('No call to a model was made there.');
  });
});
