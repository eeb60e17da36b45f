/** Closed turns, as planning and the tools that look back read them. Nothing here changes a row. */
import {
  type ClosingRow,
  type EvictionRow,
  type IndexedTo,
  type IndexedTurnRow,
  type SessionRef,
  type StoredPacketRow,
  type TenantTurn,
  TO_PLAN_TURNS,
  type ToPlan,
  type TranscriptTurn,
} from '../../../src/db/contract.ts';
import { lineageOf, turnsOfLineage } from './lineage.ts';
import type { Tables, TurnRow } from './rows.ts';

export function toPlan(tables: Tables, ref: SessionRef, head: string, indexed: IndexedTo): ToPlan {
  return {
    after: indexed,
    turns: indexedTurns(tables, ref, { head, after: indexed.turn, limit: TO_PLAN_TURNS }),
    packets: packetsAfter(tables, ref, head, indexed.recordSeq),
    evictions: evictionsAfter(tables, ref, head, indexed.recordSeq),
    reset: tables.heads.get({ ...ref, head })?.reset ?? null,
  };
}

export function indexedTurns(
  tables: Tables,
  ref: SessionRef,
  { head, after, limit }: { readonly head: string; readonly after: number; readonly limit: number },
): readonly IndexedTurnRow[] {
  return turnsOfLineage(tables, ref, head)
    .filter(({ number, closedSeq, toSeq }) => number > after && closedSeq !== null && closedSeq <= toSeq)
    .slice(0, limit)
    .map((turn) => indexedTurn(tables, turn));
}

export function closings(
  tables: Tables,
  ref: SessionRef,
  { head, from, to }: { readonly head: string; readonly from: number; readonly to: number },
): readonly ClosingRow[] {
  return turnsOfLineage(tables, ref, head).flatMap((row) => {
    const { number, turn, closedSeq, toSeq } = row;
    if (closedSeq === null || closedSeq > toSeq || number < from || number > to) return [];
    const record = tables.records.get({ ...row, seq: closedSeq });
    return record === undefined ? [] : [{ session: row.session, number, turn, body: record.body }];
  });
}

export function tenantTurns(
  tables: Tables,
  ref: SessionRef,
  before: string | null,
  limit: number,
): readonly TenantTurn[] {
  return tables.turns
    .all()
    .filter(
      ({ tenant, session, status }) =>
        tenant === ref.tenant && session !== ref.session && status === 'closed',
    )
    .filter(({ turn }) => before === null || turn < before)
    .filter((turn) => turn.number >= (tables.heads.get(turn)?.firstTurn ?? Infinity))
    .sort((a, b) => (a.turn < b.turn ? 1 : -1))
    .flatMap((turn) => tenantTurn(tables, turn) ?? [])
    .slice(0, limit);
}

function indexedTurn(tables: Tables, turn: TurnRow): IndexedTurnRow {
  const { number, fullBytes, cardBytes, firstItem, lastItem, terms } = turn;
  if (fullBytes === null || cardBytes === null || terms === null)
    throw new Error(`turn ${turn.turn} was closed without its card`);
  const links = tables.edges
    .of(turn)
    .filter((edge) => edge.turn === turn.turn && !edge.retracted)
    .sort((a, b) => a.ordinal - b.ordinal)
    .map(({ kind, to, provenance }) => ({ kind, to, provenance }));
  const items = firstItem === null || lastItem === null ? null : { from: firstItem, to: lastItem };
  return { number, items, fullBytes, cardBytes, terms, links };
}

function packetsAfter(
  tables: Tables,
  ref: SessionRef,
  head: string,
  after: number,
): readonly StoredPacketRow[] {
  const oldest = Math.min(...lineageOf(tables, ref, head).map(({ firstTurn }) => firstTurn));
  return tables.packets
    .of(ref)
    .filter((packet) => packet.head === head && packet.seq > after && packet.from >= oldest)
    .sort((a, b) => a.seq - b.seq)
    .map(({ from, to, seq, bytes, quality }) => ({ from, to, seq, bytes, quality }));
}

function evictionsAfter(
  tables: Tables,
  ref: SessionRef,
  head: string,
  after: number,
): readonly EvictionRow[] {
  return lineageOf(tables, ref, head).flatMap(({ session, head: of, afterSeq, toSeq }) => {
    const isOwn = session === ref.session;
    if (!isOwn && after > 0) return [];
    return tables.evictions
      .of({ ...ref, session })
      .filter((row) => row.head === of && row.seq > Math.max(afterSeq, isOwn ? after : 0) && row.seq <= toSeq)
      .sort((a, b) => a.seq - b.seq)
      .map(({ seq, from, to, note, author }) => ({ seq: isOwn ? seq : 0, from, to, note, author }));
  });
}

export function transcriptTurns(
  tables: Tables,
  ref: SessionRef,
  head: string,
  items: { readonly from: number; readonly to: number } | null,
): readonly TranscriptTurn[] {
  return turnsOfLineage(tables, ref, head).flatMap((row): readonly TranscriptTurn[] => {
    const { session, turn, number, firstItem, lastItem, toSeq } = row;
    const ends = toSeq === Number.MAX_SAFE_INTEGER ? null : toSeq;
    if (row.status === 'accepted') return [];
    if (row.closedSeq === null || row.closedSeq > toSeq)
      return [{ session, turn, number, items: null, toSeq: ends }];
    if (firstItem === null || lastItem === null) return [];
    if (items !== null && (lastItem < items.from || firstItem > items.to)) return [];
    return [{ session, turn, number, items: { from: firstItem, to: lastItem }, toSeq: ends }];
  });
}

function tenantTurn(
  tables: Tables,
  { tenant, session, turn, number, terms, closedSeq }: TurnRow,
): TenantTurn | null {
  if (terms === null || closedSeq === null) return null;
  const closing = tables.records.get({ tenant, session, seq: closedSeq });
  if (closing === undefined) return null;
  const closedAt = `${new Date(closing.atMs).toISOString().slice(0, 19)}Z`;
  return { session, turn, number, terms, closedSeq, closedAt };
}
