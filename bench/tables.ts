/** Each result as tables, one for every target: for the terminal as text, for the page as Markdown. */
import { backtrackTable } from './backtrack.ts';
import type { CancelRow } from './cancel.ts';
import { BYTES_PER_MB, count, megabytes, one, ranged, signed, times, two, whole } from './cells.ts';
import { planTable, recallTable } from './context-tables.ts';
import type { Checkpoint, GrowthRow } from './growth.ts';
import type { OverheadResult } from './overhead.ts';
import type { PeerRow } from './peers.ts';
import { probeTable } from './probe.ts';
import { probingTables } from './probing.ts';
import { readingTable } from './reading.ts';
import type { BenchName, Results } from './results.ts';
import type { ThroughputRow } from './throughput.ts';
import { transcriptTable } from './transcript.ts';

const BYTES_PER_KB = 1_024;
/** Tables of the ledger named with their share of a turn; the rest is next to nothing. */
const SHOWN_TABLES = 6;

export interface Table {
  readonly title: string;
  /** What is aimed at. */
  readonly target: string;
  /** How it is measured. */
  readonly method: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly notes: readonly string[];
}

const TABLES: { readonly [Name in BenchName]: (results: Results[Name]) => readonly Table[] } = {
  overhead: (results) => [overheadTable(results)],
  throughput: (rows) => [throughputTable(rows)],
  growth: (rows) => [growthTable(rows), diskTable(rows), memoryTable(rows)],
  cancel: (rows) => [cancelTable(rows)],
  plan: (rows) => [planTable(rows)],
  recall: (rows) => [recallTable(rows)],
  transcript: (rows) => [transcriptTable(rows)],
  backtrack: (rows) => [backtrackTable(rows)],
  reading: (rows) => [readingTable(rows)],
  probe: (rows) => [probeTable(rows)],
  probing: (result) => probingTables(result),
  peers: (rows) => [peersTable(rows)],
};

export function tablesOf<Name extends BenchName>(name: Name, results: Results[Name]): readonly Table[] {
  return TABLES[name](results);
}

function overheadTable(results: readonly OverheadResult[]): Table {
  return {
    title: 'Engine overhead of a standard turn, one session',
    target: 'on Redis at most 4 × the floor; goal 2 ×',
    method:
      'Its floor: six durable single-row commits, five that may be lost, five queue trips from add to handler, measured in alternation with the turns. Milliseconds, medians.',
    head: ['queue', 'next call', 'commit', 'claim', 'trip', 'floor', 'turn', 'turn over floor'],
    rows: results.map(({ backend, startHere, parts, floorMs, turnMs, ratio }) => [
      backend,
      startHere ? 'started here' : 'queued',
      ...[parts.commit, parts.claim, parts.trip, floorMs, turnMs].map(two),
      times(ratio),
    ]),
    notes: [],
  };
}

function throughputTable(rows: readonly ThroughputRow[]): Table {
  return {
    title: 'Standard turns a second',
    target: 'at 16 sessions on Redis at least the best peer of equal promise, see the peers; goal 2 ×',
    method:
      'A producer and worker processes beside it, each session asking anew when its last turn ended. The floor: what six durable commits, five claims and five trips a turn allow, each at its full rate with 16 in flight, in alternation. CPU is that of Node alone.',
    head: [
      'queue',
      'sessions',
      'workers',
      'turns/s',
      'floor, turns/s',
      'floor over turns',
      'p50 ms',
      'p95 ms',
      'worker CPU ms a turn',
      'producer CPU ms a turn',
    ],
    rows: rows.map((row) => [
      row.backend,
      `${row.sessions}`,
      `${row.processes}`,
      ranged(row.turnsPerSecond, whole),
      whole(row.floorPerSecond),
      times(row.ratio),
      whole(row.p50Ms),
      whole(row.p95Ms),
      one(row.workerCpuMsPerTurn),
      one(row.producerCpuMsPerTurn),
    ]),
    notes: [],
  };
}

function growthTable(rows: readonly GrowthRow[]): Table {
  return {
    title: 'A late turn against turn 5',
    target: 'turn 5,000 at most 1.2 × turn 5; goal 1.05 ×',
    method:
      'One session; at each checkpoint its last 20 turns in alternation with turns 3 to 7 of young sessions, medians.',
    head: ['queue', 'window', 'at turn', 'late ms', 'young ms', 'late over young'],
    rows: rows.flatMap((row) =>
      row.checkpoints.map(({ turn, lateMs, youngMs, ratio }) => [
        row.backend,
        count(row.windowTokens),
        count(turn),
        two(lateMs),
        two(youngMs),
        `**${two(ratio)} ×**`,
      ]),
    ),
    notes: [],
  };
}

function diskTable(rows: readonly GrowthRow[]): Table {
  return {
    title: 'Bytes on disk a turn over its content',
    target: 'at most 3 ×; goal 2 ×',
    method:
      'All turns of the run above, indexes included, after VACUUM, without WAL and the queue, closed turns folded. Content: directive, tool results, answer; none of it compressible.',
    head: ['queue', 'window', 'turns', 'content', 'on disk', 'disk over content', 'of it'],
    rows: rows.map((row) => [
      row.backend,
      count(row.windowTokens),
      count(row.turns),
      `${count(row.contentBytesPerTurn)} B`,
      `${count(Math.round(row.diskBytesPerTurn))} B`,
      `**${two(row.diskOverContent)} ×**`,
      sharesOf(row),
    ]),
    notes: [],
  };
}

function sharesOf({ disk }: GrowthRow): string {
  return Object.entries(disk.tables)
    .sort(([, a], [, b]) => b - a)
    .slice(0, SHOWN_TABLES)
    .map(([name, bytes]) => `${name} ${whole((100 * bytes) / disk.bytes)} %`)
    .join(', ');
}

function memoryTable(rows: readonly GrowthRow[]): Table {
  return {
    title: 'Memory of a worker over the long session',
    target: 'flat within 64 MB; goal 16 MB',
    method:
      'Of the worker process, at the checkpoints of the run above, after a full collection; the most is looked for between them. MB of 1,048,576 bytes.',
    head: ['queue', 'window', 'at turn', 'resident', 'heap'],
    rows: rows.flatMap((row) =>
      row.checkpoints.map(({ turn, residentBytes, heapBytes }) => [
        row.backend,
        count(row.windowTokens),
        count(turn),
        megabytes(residentBytes),
        megabytes(heapBytes),
      ]),
    ),
    notes: rows.map(
      (row) =>
        `${row.backend}, window ${count(row.windowTokens)}: resident ${megabytes(row.residentMostBytes)} MB at most, ${signed(residentGrowth(row))} MB from the first checkpoint to the last.`,
    ),
  };
}

function residentGrowth({ checkpoints }: GrowthRow): number {
  const at = (checkpoint: Checkpoint | undefined) => checkpoint?.residentBytes ?? Number.NaN;
  return (at(checkpoints.at(-1)) - at(checkpoints[0])) / BYTES_PER_MB;
}

function cancelTable(rows: readonly CancelRow[]): Table {
  return {
    title: 'Cancel to aborted call, across processes',
    target: 'p95 at most 250 ms; goal 50 ms',
    method:
      'From sending POST /v1/turns/:id/cancel to the signal in the worker process, on one monotonic clock; "returned" is the end of the cancelled function itself. Milliseconds.',
    head: ['queue', 'call', 'samples', 'p50', 'p95', 'most', 'returned, p95'],
    rows: rows.map((row) => [
      row.backend,
      row.call,
      `${row.samples.length}`,
      one(row.abortedP50Ms),
      `**${one(row.abortedP95Ms)}**`,
      one(row.abortedMostMs),
      one(row.returnedP95Ms),
    ]),
    notes: [],
  };
}

function peersTable(rows: readonly PeerRow[]): Table {
  const [first] = rows;
  const sessions = first?.sessions ?? 0;
  const turns = first?.length.turns ?? 0;
  return {
    title: 'Peers on the standard turn',
    target: 'one session no slower than DBOS, goal 0.6 ×; 16 sessions at least as many turns, goal 2 ×',
    method:
      'Round by round in alternation on one PostgreSQL server, a database each, the first round dropped; medians and ranges. Young sessions in every round.',
    head: [
      'runtime',
      'one session, ms',
      `${sessions} sessions, turns/s`,
      'CPU ms a turn',
      'turn 5, ms',
      `turn ${turns}, ms`,
      'KB on disk a turn',
    ],
    rows: rows.map((row) => [
      row.name,
      ranged(row.oneSessionMs, one),
      ranged(row.turnsPerSecond, whole),
      one(row.cpuMsPerTurn),
      one(row.length.youngMs),
      one(row.length.lateMs),
      one(row.length.diskBytesPerTurn / BYTES_PER_KB),
    ]),
    notes: rows.map(
      ({ name, versions, settings, turnsPerSession }) =>
        `${[name, ...versions].join(', ')}: ${settings}; ${turnsPerSession} turns a session.`,
    ),
  };
}

export function asText({ title, target, head, rows, notes }: Table): string {
  const lines = [head, ...rows.map((row) => row.map((cell) => cell.replaceAll('**', '')))];
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]?.length ?? 0)));
  const padded = lines.map((line) =>
    line.map((cell, column) =>
      column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
    ),
  );
  return [
    `${title} (${target})`,
    ...padded.map((line) => `  ${line.join('  ')}`.trimEnd()),
    ...notes.map((note) => `  ${note}`),
  ].join('\n');
}

export function asMarkdown({ title, target, method, head, rows, notes }: Table): string {
  return [
    `## ${title}`,
    `Target: ${target}.`,
    method,
    [head, head.map(() => '---'), ...rows].map((line) => `| ${line.join(' | ')} |`).join('\n'),
    ...(notes.length === 0 ? [] : [notes.map((note) => `* ${note}`).join('\n')]),
  ].join('\n\n');
}
