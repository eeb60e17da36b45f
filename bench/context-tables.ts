/** The tables of what a plan costs and of what a long session still knows. */
import { BYTES_PER_MB, count, one, signed, two } from './cells.ts';
import type { PlanRow } from './plan.ts';
import type { RecallRow } from './recall.ts';
import type { Table } from './tables.ts';

export function planTable(rows: readonly PlanRow[]): Table {
  return {
    title: 'A plan over the rows it is made of',
    target: '1,000 turns at most 5 ms, 10,000 at most 30 ms; memory flat',
    method:
      'One session; plans of five kinds of directive with the index in memory, in alternation with selecting the rows of the same turns from PostgreSQL, which is the floor. Cold: the index read and planned anew. Milliseconds, medians.',
    head: [
      'turns',
      'plan',
      'p95',
      'floor',
      'plan over floor',
      'cold',
      'cold over floor',
      'index MB',
      'heap growth MB',
    ],
    rows: rows.map((row) => [
      count(row.turns),
      `**${two(row.plan.medianMs)}**`,
      two(row.plan.p95Ms),
      two(row.floorMs),
      `**${two(row.ratio)} ×**`,
      two(row.coldMs),
      `${two(row.coldRatio)} ×`,
      one(row.indexBytes / BYTES_PER_MB),
      signed(row.heapGrowthBytes / BYTES_PER_MB),
    ]),
    notes: [],
  };
}

export function recallTable(rows: readonly RecallRow[]): Table {
  const part = ({ answered, of }: RecallRow['said']): string => `${answered} of ${of}`;
  return {
    title: 'A fact of turn 3, asked for in turn 200',
    target: 'at least 95 of 100 sessions, within two steps beyond the first',
    method:
      'The simulator over HTTP, with a horizon of 13,000 tokens in a window of 32,768. Turns 1 to 199 are written by the functions of the runtime into a store in memory, turn 200 runs. "Recall alone" plans without looking at words, so that only the tool can find the turn. Full history and truncation are assemblers of the bench.',
    head: [
      'policy',
      'answered',
      'said by the user',
      'found by a tool',
      'refused',
      'extra steps, most',
      'prompt tokens, median',
    ],
    rows: rows.map((row) => [
      row.policy,
      `**${row.answered} of ${row.sessions}**`,
      part(row.said),
      part(row.found),
      `${row.refused}`,
      `${row.extraStepsMost}`,
      count(Math.round(row.promptTokensMedian)),
    ]),
    notes: [],
  };
}
