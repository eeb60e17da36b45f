/** What calls came to, as a table. */
import type { UsageReport } from '../client/index.ts';
import { dollars } from './money.ts';
import { shown } from './output.ts';
import type { Style } from './style.ts';
import { table } from './table.ts';

type Sums = UsageReport['total'];

const PERCENT = 100;
const TITLES: Readonly<Record<UsageReport['by'], string>> = {
  session: 'Session',
  leg: 'Leg',
  purpose: 'Purpose',
  day: 'Day (UTC)',
};

export function usageText(report: UsageReport, style: Pick<Style, 'bold' | 'dim'>): string {
  const { by, rows, more, total } = report;
  if (rows.length === 0) return 'No call to a model was made there.';
  const columns = [
    { title: TITLES[by] },
    ...['Calls', 'Fresh', 'Cached', 'Written', 'Reply', 'Hits', 'Cost'].map((title) => ({
      title,
      align: 'right' as const,
    })),
    { title: '' },
  ];
  const lines = [...rows.map((row) => cells(shown(row.key), row)), cells('total', total)];
  const text = table(columns, lines, style.bold).split('\n');
  const last = text.pop() ?? '';
  return [
    ...text,
    ...(more ? [style.dim('… and rows that cost less or are older; the total counts them')] : []),
    style.bold(last),
    ...notes(total).map(style.dim),
  ].join('\n');
}

function cells(name: string, sums: Sums): readonly string[] {
  return [
    name,
    figure(sums.calls),
    figure(sums.input_tokens),
    figure(sums.cache_read_tokens),
    figure(sums.cache_write_tokens),
    figure(sums.output_tokens),
    ratio(sums.response_cache.rate),
    sums.cost_status === 'unpriced' ? '-' : dollars(sums.cost_micro_usd),
    mark(sums),
  ];
}

/** What the sum leaves out. */
function mark({ cost_status, unpriced_calls }: Sums): string {
  return cost_status === 'partial' || cost_status === 'unpriced'
    ? `${cost_status}, ${unpriced_calls} unpriced`
    : '';
}

function notes({ cost_status, response_cache: { by_layer, ...all } }: Sums): readonly string[] {
  const asked = all.hits + all.misses > 0;
  const layers = Object.entries(by_layer)
    .filter(([, { hits, misses }]) => hits + misses > 0)
    .map(([name, { hits, misses }]) => `${name} ${hits} of ${hits + misses}`);
  return [
    ...(asked
      ? [`response cache: ${all.hits} of ${all.hits + all.misses} requests (${layers.join(', ')})`]
      : []),
    ...(cost_status === 'partial' || cost_status === 'unpriced'
      ? ['partial and unpriced: state the price of those legs, and later calls are counted']
      : []),
  ];
}

function ratio(rate: number | null): string {
  return rate === null ? '-' : `${Math.round(rate * PERCENT)} %`;
}

function figure(value: number): string {
  return value.toLocaleString('en-US');
}
