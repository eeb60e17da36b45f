/** What a run did and found, as one object and as text. */
import type { Backend } from '../support/stack-contract.ts';
import type { Fault } from './faults.ts';
import { repeatedCalls, type Violation, type Witnesses } from './oracle.ts';
import type { Asked } from './producer.ts';
import type { StoredSession } from './read-ledger.ts';
import { ONCE_TOOL } from './tools.ts';

export interface Spread {
  readonly p50Ms: number;
  readonly p95Ms: number;
  readonly maxMs: number;
}

export interface FaultFigures {
  readonly kind: string;
  readonly count: number;
  /** Dealt, and not done: another fault stood in its way. */
  readonly missed: number;
  /** From the fault to the next turn that a producer saw end; null where none did. */
  readonly nextEnd: Spread | null;
  /** From the fault until every turn that was open when it struck had ended. */
  readonly openEnded: Spread | null;
}

export interface ChaosReport {
  readonly backend: Backend;
  readonly seed: number;
  readonly sessions: number;
  readonly seconds: number;
  readonly turns: number;
  readonly outcomes: Readonly<Record<string, number>>;
  readonly modelCalls: number;
  /** Made again after a fault that may have hit them. */
  readonly repeatedCalls: number;
  /** Cut by the end of their process, as the model saw it. */
  readonly abortedCalls: number;
  readonly onceEffects: number;
  /** Of `once` calls that a fault hit: the model was told that nobody knows. */
  readonly unknownOutcomes: number;
  readonly records: number;
  readonly packets: number;
  readonly resentTurns: number;
  readonly refusedRequests: number;
  /** Processes that found what they need away as they started, and were started again. */
  readonly failedStarts: number;
  /** From the first try to the acknowledgement, whatever stood between. */
  readonly accepting: Spread | null;
  readonly faults: readonly FaultFigures[];
  readonly lost: number;
  readonly duplicates: number;
  readonly stuck: number;
  readonly wrong: number;
  readonly violations: readonly Violation[];
}

export interface ReportInput {
  readonly backend: Backend;
  readonly seed: number;
  readonly startedMs: number;
  readonly witnesses: Witnesses;
  readonly sessions: readonly StoredSession[];
  readonly missed: ReadonlyMap<string, number>;
  readonly failedStarts: number;
  readonly violations: readonly Violation[];
}

const SHOWN_VIOLATIONS = 50;

export function reportOf(input: ReportInput): ChaosReport {
  const { witnesses, violations, backend, seed } = input;
  const { log, calls, faults, effects } = witnesses;
  const count = (verdict: Violation['verdict']): number =>
    violations.filter((each) => each.verdict === verdict).length;
  const records = input.sessions.flatMap((session) => session.records);
  const outcomes: Record<string, number> = {};
  for (const { end } of log.asked) {
    const outcome = end === null ? 'open' : end.outcome;
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  }
  return {
    backend,
    seed,
    sessions: log.sessions.length,
    seconds: Math.round((Date.now() - input.startedMs) / 1_000),
    turns: log.asked.length,
    outcomes,
    modelCalls: calls.length,
    repeatedCalls: repeatedCalls({ calls, faults }).length,
    abortedCalls: calls.filter(({ outcome }) => outcome === 'aborted').length,
    onceEffects: effects.filter(({ tool }) => tool === ONCE_TOOL).length,
    unknownOutcomes: records.filter(({ body }) => body?.includes('"status":"outcome_unknown"')).length,
    records: records.length,
    packets: records.filter(({ kind }) => kind === 'packet').length,
    resentTurns: log.asked.filter(({ resentAs }) => resentAs.length > 0).length,
    refusedRequests: log.refusals.length,
    failedStarts: input.failedStarts,
    accepting: spreadOf(log.asked.map(({ sentAtMs, acceptedAtMs }) => acceptedAtMs - sentAtMs)),
    faults: figuresOf(faults, input.missed, log.asked),
    lost: count('lost'),
    duplicates: count('duplicate'),
    stuck: count('stuck'),
    wrong: count('wrong'),
    violations,
  };
}

/** Nothing lost, nothing twice, nothing stuck, and nothing else that must not be. */
export function holds({ violations }: ChaosReport): boolean {
  return violations.length === 0;
}

function figuresOf(
  faults: readonly Fault[],
  missed: ReadonlyMap<string, number>,
  asked: readonly Asked[],
): readonly FaultFigures[] {
  const ends = asked.flatMap(({ end }) => (end === null ? [] : [end.atMs])).sort((a, b) => a - b);
  const kinds = [...new Set([...faults.map(({ kind }) => kind), ...missed.keys()])].sort();
  return kinds.map((kind) => {
    const struck = faults.filter((fault) => fault.kind === kind);
    return {
      kind,
      count: struck.length,
      missed: missed.get(kind) ?? 0,
      nextEnd: spreadOf(
        struck.flatMap(({ fromMs }) =>
          sinceFault(
            ends.find((atMs) => atMs > fromMs),
            fromMs,
          ),
        ),
      ),
      openEnded: spreadOf(struck.flatMap(({ fromMs }) => sinceFault(lastOfOpen(asked, fromMs), fromMs))),
    };
  });
}

function lastOfOpen(asked: readonly Asked[], atMs: number): number | undefined {
  const ends = asked.flatMap(({ acceptedAtMs, end }) =>
    acceptedAtMs <= atMs && end !== null && end.atMs > atMs ? [end.atMs] : [],
  );
  return ends.length === 0 ? undefined : Math.max(...ends);
}

function sinceFault(atMs: number | undefined, fromMs: number): readonly number[] {
  return atMs === undefined ? [] : [atMs - fromMs];
}

function spreadOf(samples: readonly number[]): Spread | null {
  const sorted = [...samples].sort((a, b) => a - b);
  const at = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return sorted.length === 0 ? null : { p50Ms: at(0.5), p95Ms: at(0.95), maxMs: at(1) };
}

export function textOf(report: ChaosReport): string {
  const { outcomes, violations } = report;
  const ended = Object.entries(outcomes).map(([outcome, count]) => `${count} ${outcome}`);
  const rows = report.faults.map(({ kind, count, missed, nextEnd, openEnded }) => [
    kind,
    String(count),
    String(missed),
    shown(nextEnd),
    shown(openEnded),
  ]);
  return [
    `Chaos on ${report.backend}, seed ${report.seed}: ${report.sessions} sessions for ${report.seconds} s. The model is SIMULATED.`,
    `${report.turns} turns: ${ended.join(', ')}. ${report.resentTurns} were sent again; ${report.refusedRequests} requests were refused for a while; ${report.failedStarts} processes failed to start at first.`,
    `${report.modelCalls} model calls: ${report.abortedCalls} cut off, ${report.repeatedCalls} made again. ${report.onceEffects} runs of a once tool, ${report.unknownOutcomes} of unknown outcome.`,
    `${report.records} records, ${report.packets} of them packets.`,
    `Accepting a turn: p50 / p95 / max ${shown(report.accepting)} ms.`,
    '',
    ...table([
      ['fault', 'count', 'missed', 'to the next end (p50 / p95 / max ms)', 'until all open turns ended'],
      ...rows,
    ]),
    '',
    `lost ${report.lost}, duplicates ${report.duplicates}, stuck ${report.stuck}, wrong ${report.wrong}`,
    ...violations
      .slice(0, SHOWN_VIOLATIONS)
      .map(({ verdict, about, says }) => `  ${verdict}: ${about}: ${says}`),
  ].join('\n');
}

function shown(spread: Spread | null): string {
  return spread === null ? '-' : `${spread.p50Ms} / ${spread.p95Ms} / ${spread.maxMs}`;
}

function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  return rows.map((row) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  '),
  );
}
