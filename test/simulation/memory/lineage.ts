/** What a head goes on from, and the turns it carries (`turnwright.lineage` in drizzle/0002_hop.sql). */
import type { ForkSource, SessionRef } from '../../../src/db/contract.ts';
import { headOf, turnRecords, turnsOfHead } from './reads.ts';
import type { Tables, TurnRow } from './rows.ts';

export interface Part {
  readonly session: string;
  readonly head: string;
  readonly afterSeq: number;
  readonly toSeq: number;
  readonly firstTurn: number;
  readonly lastTurn: number;
}

export function lineageOf(tables: Tables, ref: SessionRef, head: string): readonly Part[] {
  const own = tables.heads.get({ ...ref, head });
  if (own === undefined) return [];
  const before = tables.segments
    .of(ref)
    .filter((row) => row.head === head)
    .sort((a, b) => a.ordinal - b.ordinal)
    .map(({ fromSession, fromHead, ...part }): Part => ({ ...part, session: fromSession, head: fromHead }));
  const { session } = ref;
  const { clearedSeq: afterSeq, firstTurn } = own;
  const last = { toSeq: Number.MAX_SAFE_INTEGER, lastTurn: Number.MAX_SAFE_INTEGER };
  return [...before, { session, head, afterSeq, firstTurn, ...last }];
}

/** As `readForkSource` (src/db/queries/read-fork-source.ts) reads it. */
export function forkSource(
  tables: Tables,
  ref: SessionRef,
  head: string | null,
  nowMs: number,
): ForkSource | null {
  const row = tables.sessions.get(ref);
  const own = row === undefined ? undefined : tables.heads.get({ ...ref, head: head ?? row.liveHead });
  if (row === undefined || own === undefined) return null;
  const { clearedSeq, firstTurn } = own;
  const began = turnsOfHead(tables, ref, own.head).filter(
    ({ number, status, firstItem }) => number >= firstTurn && (status === 'running' || firstItem !== null),
  );
  const closed = began.flatMap(({ firstItem, lastItem }) =>
    [firstItem, lastItem].filter((one) => one !== null),
  );
  const open = turnRecords(tables, ref, own.openTurn, ['turn-context', 'assistant-message']);
  const running = open.map(({ body }) => (JSON.parse(body) as { readonly item: number }).item);
  return {
    session: headOf(row, nowMs),
    config: row.config,
    head: own.head,
    segments: tables.segments
      .of(ref)
      .filter((segment) => segment.head === own.head)
      .sort((a, b) => a.ordinal - b.ordinal)
      .map(({ tenant: _, session: __, ...segment }) => segment),
    clearedSeq,
    firstTurn,
    turns: rangeOf(began.map(({ number }) => number)),
    items: rangeOf([...closed, ...running]),
  };
}

function rangeOf(numbers: readonly number[]): ForkSource['turns'] {
  return numbers.length === 0 ? null : { from: Math.min(...numbers), to: Math.max(...numbers) };
}

/** A turn of a lineage, and how far its records belong to it. */
export type LineageRow = TurnRow & { readonly toSeq: number };

/** In order of their numbers. */
export function turnsOfLineage(tables: Tables, ref: SessionRef, head: string): readonly LineageRow[] {
  return lineageOf(tables, ref, head).flatMap(({ session, head: of, toSeq, firstTurn, lastTurn }) =>
    turnsOfHead(tables, { ...ref, session }, of)
      .filter(({ number }) => firstTurn <= number && number <= lastTurn)
      .map((row) => ({ ...row, toSeq })),
  );
}
