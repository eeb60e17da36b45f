/** What follows from what the checks found: which finding counts, and how often each may send a reply back. Pure. */
import type { CalledTools, Finding, StepFacts, Withheld } from '../checks/facts.ts';
import type { Check } from '../ledger/kinds.ts';

/** Repeats of an earlier answer in a row before the turn ends. */
const MAX_DRIFTS_IN_A_ROW = 3;
/** Times an unfinished answer goes back before it stands. */
const MAX_STOP_BLOCKS = 2;
/** Batches in a row that only repeat cards before the card is the answer. */
const MAX_IDLE_BATCHES = 3;
/** Batches in a row without a call that worked before the turn ends. */
export const MAX_FAILING_BATCHES = 3;

/** Why a turn ends on the system's words, by the check that ends it. */
const REFUSALS: Partial<Record<Check, string>> = {
  freshness: 'stale_data_refused',
  'topic-mismatch': 'topic_mismatch_refused',
  'uncited-source': 'uncited_source_refused',
  drift: 'model_drift',
  'tool-repair': 'tool_repair_exhausted',
};

/** What the checks did in this turn so far. */
export interface Judged {
  /** Checks that sent a reply back or withheld a card, each once. */
  readonly warned: readonly Check[];
  readonly driftsInARow: number;
  readonly stopBlocks: number;
  readonly idleInARow: number;
  readonly failingInARow: number;
}

export const UNJUDGED: Judged = {
  warned: [],
  driftsInARow: 0,
  stopBlocks: 0,
  idleInARow: 0,
  failingInARow: 0,
};

export type TextVerdict =
  | { readonly kind: 'stands' }
  | { readonly kind: 'redo' | 'refused'; readonly finding: Finding };

/** Of a final text: the first finding that still counts. */
export function textVerdict(facts: StepFacts | null, judged: Judged): TextVerdict {
  if (facts?.kind !== 'answer') return { kind: 'stands' };
  for (const finding of facts.findings) {
    const kind = weigh(finding.check, judged);
    if (kind !== 'passes') return { kind, finding };
  }
  return { kind: 'stands' };
}

function weigh(check: Check, { warned, driftsInARow, stopBlocks }: Judged): 'redo' | 'refused' | 'passes' {
  switch (check) {
    case 'drift':
      return driftsInARow + 1 >= MAX_DRIFTS_IN_A_ROW ? 'refused' : 'redo';
    case 'stop-gate':
      return stopBlocks < MAX_STOP_BLOCKS ? 'redo' : 'passes';
    case 'repeated-fence':
      return 'passes';
    case 'freshness':
      return warned.includes(check) ? 'refused' : 'redo';
    default:
      return warned.includes(check) ? 'passes' : 'redo';
  }
}

/** A card that was withheld before for the same fault ends the turn. */
export function refusedCard(facts: StepFacts | null, { warned }: Judged): Withheld | null {
  if (facts?.kind !== 'calls') return null;
  return facts.withheld.find(({ check }) => warned.includes(check)) ?? null;
}

export function refusalOf(check: Check): string {
  return REFUSALS[check] ?? 'refused';
}

/** The third batch in a row that shows nothing new: the card shown before is the answer. */
export function isIdleForGood(facts: StepFacts | null, { idleInARow }: Judged): boolean {
  return facts?.kind === 'calls' && facts.idle && facts.shown && idleInARow + 1 >= MAX_IDLE_BATCHES;
}

/** After a text went back. */
export function judgedText(judged: Judged, { check }: Finding): Judged {
  return {
    ...judged,
    warned: warnedOf(judged, [check]),
    driftsInARow: check === 'drift' ? judged.driftsInARow + 1 : 0,
    stopBlocks: judged.stopBlocks + (check === 'stop-gate' ? 1 : 0),
    idleInARow: 0,
  };
}

/** As a batch of calls begins. */
export function judgedCalls(judged: Judged, { withheld, idle }: CalledTools): Judged {
  return {
    ...judged,
    warned: warnedOf(
      judged,
      withheld.map(({ check }) => check),
    ),
    driftsInARow: 0,
    idleInARow: idle ? judged.idleInARow + 1 : 0,
  };
}

/** A batch of calls has settled: a row of failures grows when nothing worked, and ends when nothing failed. */
export function judgedBatch(judged: Judged, worked: number, failed: number): Judged {
  if (worked + failed === 0) return judged;
  if (failed === 0) return { ...judged, failingInARow: 0 };
  return worked > 0 ? judged : { ...judged, failingInARow: judged.failingInARow + 1 };
}

function warnedOf({ warned }: Judged, checks: readonly Check[]): readonly Check[] {
  return [...new Set([...warned, ...checks])];
}
