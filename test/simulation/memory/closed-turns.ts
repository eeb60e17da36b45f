/** Closed turns, as planning and the tools that look back read them. Nothing here changes a row. */
import {
  type ClosingRow,
  type IndexedTo,
  type IndexedTurnRow,
  type SessionRef,
  type StoredPacketRow,
  type TenantTurn,
  TO_PLAN_TURNS,
  type ToPlan,
} from '../../../src/db/contract.ts';
import { turnsOfHead } from './reads.ts';
import type { Tables, TurnRow } from './rows.ts';

export function toPlan(tables: Tables, ref: SessionRef, head: string, indexed: IndexedTo): ToPlan {
  return {
    after: indexed.turn,
    turns: indexedTurns(tables, ref, { head, after: indexed.turn, limit: TO_PLAN_TURNS }),
    packets: packetsAfter(tables, ref, head, indexed.packetSeq),
    reset: tables.heads.get({ ...ref, head })?.reset ?? null,
  };
}

export function indexedTurns(
  tables: Tables,
  ref: SessionRef,
  { head, after, limit }: { readonly head: string; readonly after: number; readonly limit: number },
): readonly IndexedTurnRow[] {
  return turnsOfHead(tables, ref, head)
    .filter(({ number, status }) => number > after && status === 'closed')
    .slice(0, limit)
    .map((turn) => indexedTurn(tables, turn));
}

export function closings(
  tables: Tables,
  ref: SessionRef,
  { head, from, to }: { readonly head: string; readonly from: number; readonly to: number },
): readonly ClosingRow[] {
  return turnsOfHead(tables, ref, head).flatMap(({ number, turn, closedSeq }) => {
    if (closedSeq === null || number < from || number > to) return [];
    const record = tables.records.get({ ...ref, seq: closedSeq });
    return record === undefined ? [] : [{ number, turn, body: record.body }];
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
    .sort((a, b) => (a.turn < b.turn ? 1 : -1))
    .flatMap((turn) => tenantTurn(tables, turn) ?? [])
    .slice(0, limit);
}

function indexedTurn(tables: Tables, turn: TurnRow): IndexedTurnRow {
  const { number, fullBytes, cardBytes, terms } = turn;
  if (fullBytes === null || cardBytes === null || terms === null)
    throw new Error(`turn ${turn.turn} was closed without its card`);
  const links = tables.edges
    .of(turn)
    .filter((edge) => edge.turn === turn.turn && !edge.retracted)
    .sort((a, b) => a.ordinal - b.ordinal)
    .map(({ kind, to, provenance }) => ({ kind, to, provenance }));
  return { number, fullBytes, cardBytes, terms, links };
}

function packetsAfter(
  tables: Tables,
  ref: SessionRef,
  head: string,
  after: number,
): readonly StoredPacketRow[] {
  return tables.packets
    .of(ref)
    .filter((packet) => packet.head === head && packet.seq > after)
    .sort((a, b) => a.seq - b.seq)
    .map(({ from, to, seq, bytes, quality }) => ({ from, to, seq, bytes, quality }));
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
