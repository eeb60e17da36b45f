/** The end of the demo: what each turn cost and what each pool did, for people and for programs. */

import { oneLine } from '../output.ts';
import type { Style } from '../style.ts';
import { type Column, table } from '../table.ts';
import type { TurnReport } from './conversation.ts';
import { count, duration, percent } from './figures.ts';
import type { PoolReport } from './pools.ts';

export interface DemoReport {
  readonly simulated: boolean;
  readonly provider: string;
  readonly model: string;
  readonly backend: string;
  readonly session: string;
  readonly turns: readonly TurnReport[];
  readonly pools: readonly PoolReport[];
  readonly totalMs: number;
}

const QUESTION_CHARS = 48;
const LEAST_QUESTION_CHARS = 20;
/** What the other columns of a turn's row take. */
const OTHER_COLUMNS_CHARS = 72;
const USUAL_COLUMNS = 120;
const TOOLS_CHARS = 28;

const TURN_COLUMNS: readonly Column[] = [
  { title: 'Turn', align: 'right' },
  { title: 'Question' },
  { title: 'Steps', align: 'right' },
  { title: 'Tools' },
  { title: 'Prompt', align: 'right' },
  { title: 'Cached', align: 'right' },
  { title: 'Outcome' },
  { title: 'ms', align: 'right' },
];
const POOL_COLUMNS: readonly Column[] = [
  { title: 'Pool' },
  { title: 'Jobs', align: 'right' },
  { title: 'What it changed' },
];

export function reportText(report: DemoReport, style: Style, columns = USUAL_COLUMNS): string {
  const { turns, pools } = report;
  const questionChars = Math.min(
    QUESTION_CHARS,
    Math.max(LEAST_QUESTION_CHARS, columns - OTHER_COLUMNS_CHARS),
  );
  const totals = totalsOf(report);
  const failed = pools.filter((pool) => pool.failed > 0).map((pool) => `${pool.pool} ${pool.failed}`);
  return [
    '',
    table(
      TURN_COLUMNS,
      turns.map((turn) => turnRow(turn, questionChars)),
      style.bold,
    ),
    '',
    table(
      POOL_COLUMNS,
      pools.map(({ pool, jobs, changed }) => [pool, count(jobs), changed ?? '–']),
      style.bold,
    ),
    '',
    ...(failed.length > 0 ? [`Jobs that failed: ${failed.join(', ')}.`] : []),
    `${totals.completed} of ${totals.turns} turns completed; ${count(totals.prompt_tokens)} prompt tokens, ${percent(totals.cache_read_tokens, totals.prompt_tokens)} cached; ${duration(report.totalMs)} with setting up, on ${report.backend}.`,
  ].join('\n');
}

export function reportJson(report: DemoReport): object {
  const { turns, pools, simulated, provider, model, backend, session } = report;
  return {
    simulated,
    provider,
    model,
    backend,
    session,
    turns: turns.map((turn) => ({
      id: turn.id,
      number: turn.number,
      input: turn.input,
      outcome: turn.outcome,
      reason: turn.reason,
      steps: turn.steps,
      tools: turn.tools,
      prompt_tokens: turn.promptTokens,
      cache_read_tokens: turn.cachedTokens,
      output_tokens: turn.outputTokens,
      ms: turn.ms,
      answer: turn.answer,
    })),
    pools: Object.fromEntries(
      pools.map(({ pool, jobs, failed, changed }) => [pool, { jobs, failed, changed }]),
    ),
    totals: totalsOf(report),
  };
}

function totalsOf({ turns, totalMs }: DemoReport) {
  const sum = (figure: (turn: TurnReport) => number): number =>
    turns.reduce((total, turn) => total + figure(turn), 0);
  return {
    turns: turns.length,
    completed: turns.filter((turn) => turn.outcome === 'completed').length,
    steps: sum((turn) => turn.steps),
    tool_calls: sum((turn) => turn.tools.length),
    prompt_tokens: sum((turn) => turn.promptTokens),
    cache_read_tokens: sum((turn) => turn.cachedTokens),
    output_tokens: sum((turn) => turn.outputTokens),
    ms: Math.round(totalMs),
  };
}

function turnRow(turn: TurnReport, questionChars: number): readonly string[] {
  return [
    String(turn.number),
    oneLine(turn.input, questionChars),
    String(turn.steps),
    oneLine(turn.tools.join(', '), TOOLS_CHARS),
    count(turn.promptTokens),
    percent(turn.cachedTokens, turn.promptTokens),
    turn.outcome,
    count(turn.ms),
  ];
}
