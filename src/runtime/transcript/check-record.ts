/**
 * Whether stored records are the ones that were written. Digests are compared before anything is parsed: a row that
 * was exchanged for another may hold perfectly good JSON, and parsing it first would name another fault, or none.
 */
import { blake3Hex, envelopeDigest } from '../../ledger/chain.ts';
import { TurnwrightError } from '../../ledger/errors.ts';
import { type BodyOf, classOf, isKnownKind, parseBody, type RecordKind } from '../../ledger/kinds.ts';
import { foldTurn, type RecordView, type TurnView } from '../../ledger/view.ts';
import type { TranscriptRow, TurnRecords } from './contract.ts';

/** What is said of a record whose content was taken away on purpose: nothing is wrong with it. */
export const ERASED = 'its content was erased';

/** Kinds that items are made of and weighed by, and the one that tells which there are. The others are compared with their digests and not read. */
const EXPOSED_KINDS: ReadonlySet<string> = new Set([
  'turn-accepted',
  'turn-context',
  'steering',
  'turn-steered',
  'assistant-message',
  'tool-result',
  'evidence-body',
  'nudge',
  'statement',
  'pressure-told',
  'turn-closed',
] satisfies readonly RecordKind[]);

export type CheckedTurn =
  | {
      readonly ok: true;
      readonly turn: TurnView;
      /** Whole results by evidence id. */
      readonly bodies: ReadonlyMap<string, string>;
    }
  | ({ readonly ok: false } & RecordFault);

/** `seq` is 0 where no single record is at fault. */
interface RecordFault {
  readonly seq: number;
  readonly problem: string;
}

/** Why a row is not the record that was written, or cannot be read; null for a good one. `expected` is its digest as known from elsewhere. */
export function recordFault(row: TranscriptRow, session: string, expected?: string): string | null {
  if (row.body !== null && blake3Hex(row.body) !== row.bodyDigest) {
    return 'its body is not the one that was recorded: the digests differ';
  }
  if (envelopeDigest({ ...row, session }) !== row.digest) {
    return 'its envelope is not the one that was recorded: the digests differ';
  }
  if (expected !== undefined && row.digest !== expected) {
    return 'it is not the record that was pointed at: the digests differ';
  }
  if (isKnownKind(row.kind) ? row.class !== classOf(row.kind) : row.class === 'protocol') {
    return `it is of the kind "${row.kind}" and the class "${row.class}", which this version does not know together`;
  }
  return row.body === null && EXPOSED_KINDS.has(row.kind) ? ERASED : null;
}

/** Compares every record of the turn, then parses and folds those that its items are made of. */
export function foldChecked(turn: TurnRecords): CheckedTurn {
  const fault = firstFault(turn);
  if (fault !== null) return { ok: false, ...fault };
  const views: RecordView[] = [];
  const bodies = new Map<string, string>();
  for (const row of turn.records) {
    if (!EXPOSED_KINDS.has(row.kind) || row.body === null) continue;
    const read = readBody(row.kind as RecordKind, row.body);
    if (!read.ok) return { ok: false, seq: row.seq, problem: read.problem };
    if (row.kind === 'evidence-body') {
      const { evidence, content } = read.body as BodyOf<'evidence-body'>;
      bodies.set(evidence, content);
    } else views.push({ ...row, body: read.body });
  }
  return folded(views, bodies);
}

function firstFault({ session, turn, records, expected }: TurnRecords): RecordFault | null {
  let before: TranscriptRow | undefined;
  for (const row of records) {
    const problem =
      recordFault(row, session, expected?.get(row.seq)) ??
      (row.turnId === turn ? null : 'it belongs to another turn') ??
      (follows(row, before) ? null : 'it does not follow the record before it');
    if (problem !== null) return { seq: row.seq, problem };
    before = row;
  }
  return null;
}

/** Records of other turns may stand between two; only neighbours name each other. */
function follows(row: TranscriptRow, before: TranscriptRow | undefined): boolean {
  if (before === undefined || row.seq > before.seq + 1) return true;
  return row.seq === before.seq + 1 && row.prevDigest === before.digest;
}

function readBody(kind: RecordKind, body: string) {
  try {
    return { ok: true as const, body: parseBody(kind, JSON.parse(body)) };
  } catch (error) {
    const found = error instanceof SyntaxError ? `is no JSON: ${error.message}` : 'does not fit its kind';
    return { ok: false as const, problem: `its body ${found}` };
  }
}

function folded(views: readonly RecordView[], bodies: ReadonlyMap<string, string>): CheckedTurn {
  if (views.length === 0) return { ok: false, seq: 0, problem: 'none of its records is here' };
  try {
    const turn = foldTurn(views);
    const missing = missingBody(turn, bodies);
    if (missing === null) return { ok: true, turn, bodies };
    return { ok: false, seq: 0, problem: `the record that holds the whole of ${missing} is not here` };
  } catch (error) {
    if (!(error instanceof TurnwrightError)) throw error;
    return { ok: false, seq: Number(error.details?.seq ?? 0), problem: error.message };
  }
}

function missingBody({ steps }: TurnView, bodies: ReadonlyMap<string, string>): string | null {
  for (const { results } of steps) {
    for (const { windowed, evidence } of results.values()) {
      if (windowed && evidence !== null && !bodies.has(evidence)) return evidence;
    }
  }
  return null;
}
