/** What reading a directive costs, beside hashing the same text; both in turns. */
import { readLexically } from '../src/intent/reading.ts';
import { blake3Hex } from '../src/ledger/chain.ts';
import { byteLength } from '../src/ledger/json.ts';
import { count, ranged, two } from './cells.ts';
import { type Spread, spread } from './statistics.ts';
import type { Table } from './tables.ts';

const ROUNDS = 60;
const QUICK_ROUNDS = 12;
const WARM_UP = 4;
const LOG_LINES = 300;
const CSV_BYTES = 5_000_000;

export interface ReadingRow {
  readonly directive: string;
  readonly bytes: number;
  readonly strands: number;
  readonly readMs: Spread;
  /** blake3 of the text. */
  readonly floorMs: Spread;
  readonly ratio: number;
  readonly samples: { readonly readMs: readonly number[]; readonly floorMs: readonly number[] };
}

export function readingBench({ quick }: { readonly quick: boolean }): readonly ReadingRow[] {
  const rounds = quick ? QUICK_ROUNDS : ROUNDS;
  return Object.entries(directives()).map(([directive, text]) => {
    const readMs: number[] = [];
    const floorMs: number[] = [];
    for (let round = 0; round < WARM_UP + rounds; round++) {
      const read = timed(() => readLexically(text));
      const floor = timed(() => blake3Hex(text));
      if (round < WARM_UP) continue;
      readMs.push(read);
      floorMs.push(floor);
    }
    const [read, floor] = [spread(readMs), spread(floorMs)];
    return {
      directive,
      bytes: byteLength(text),
      strands: readLexically(text).strands?.length ?? 1,
      readMs: read,
      floorMs: floor,
      ratio: read.median / floor.median,
      samples: { readMs, floorMs },
    };
  });
}

function directives(): Readonly<Record<string, string>> {
  const log = Array.from(
    { length: LOG_LINES },
    (_, at) => `2026-01-02T03:04:${String(at % 60).padStart(2, '0')}Z ERROR pump ${at} stalled: no pressure`,
  );
  const row = (at: number): string => `${at},boat ${at},${at * 3},moored\n`;
  let csv = '';
  for (let at = 0; csv.length < CSV_BYTES; at++) csv += row(at);
  return {
    'one question': 'What is the current price of copper?',
    '300 log lines': `Why do these pumps stall?\n${log.join('\n')}`,
    'a CSV of 5 MB': `Summarise this table:\n${csv}`,
  };
}

function timed(work: () => unknown): number {
  const startedMs = performance.now();
  work();
  return performance.now() - startedMs;
}

export function readingTable(rows: readonly ReadingRow[]): Table {
  return {
    title: 'Reading a directive by its words',
    target: 'under 50 ms whatever is pasted into it; strands bounded',
    method:
      'In one process, in alternation with blake3 over the same text, which is the floor. Milliseconds, medians with their range.',
    head: ['directive', 'bytes', 'strands', 'reading', 'floor', 'reading over floor'],
    rows: rows.map(({ directive, bytes, strands, readMs, floorMs, ratio }) => [
      directive,
      count(bytes),
      `${strands}`,
      ranged(readMs, two),
      ranged(floorMs, two),
      `**${two(ratio)} ×**`,
    ]),
    notes: [],
  };
}
