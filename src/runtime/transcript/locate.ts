/**
 * Where the items of a lineage stand: which records of which session, and up to which. It is looked up in short
 * statements, and what it gives is owned by the caller: nothing is held while the records are read.
 */
import { itemEntries } from '../../context/evict/render.ts';
import type { SessionRef, Store, TranscriptTurn } from '../../db/contract.ts';
import type { ItemEntry } from '../../ledger/items.ts';
import { type BodyOf, parseBody } from '../../ledger/kinds.ts';
import { foldChecked, recordFault } from './check-record.ts';
import type { TurnRecords } from './contract.ts';

export type TranscriptStore = Pick<
  Store,
  'transcriptTurns' | 'turnRows' | 'toPlan' | 'closings' | 'records' | 'address'
>;

/** A head, as its session stands. */
export interface TranscriptPlace {
  readonly ref: SessionRef;
  readonly head: string;
  /** The number that the session gives to the next item. */
  readonly nextItem: number;
}

export interface ItemRange {
  readonly from: number;
  readonly to: number;
}

export interface LocatedTurn {
  readonly session: string;
  /** Its UUID. */
  readonly turn: string;
  readonly number: number;
  /** Its last record; null for all of a turn that is closed. */
  readonly toSeq: number | null;
  /** Its items that will not change. Where its records cannot be read, the numbers that they could have. */
  readonly items: ItemRange;
  readonly fault: { readonly seq: number; readonly problem: string } | null;
}

export interface Located {
  /** Oldest first; those with an item to read. */
  readonly turns: readonly LocatedTurn[];
  /** The item that still grows; null at rest. */
  readonly open: number | null;
}

/** Digests that the session's own link names, by session and record. */
export type LinkedDigests = ReadonlyMap<string, ReadonlyMap<number, string>>;

/** A fork says what it goes on from in its third record. */
const LINK_SEQ = 3;

/** The turns that hold `wanted` items, by number; all turns for null. */
export async function locate(
  store: TranscriptStore,
  { ref, head, nextItem }: TranscriptPlace,
  wanted: readonly number[] | null,
): Promise<Located> {
  const found = await store.transcriptTurns(ref, head, rangeOf(wanted));
  const all = wanted === null || wanted.some((item) => !found.some((turn) => holds(turn, item)));
  const turns = all ? found : found.filter(({ items }) => items !== null);
  const located: LocatedTurn[] = [];
  let open: number | null = null;
  for (const [place, turn] of turns.entries()) {
    if (turn.items !== null) {
      located.push({ ...turn, items: turn.items, fault: null });
      continue;
    }
    const stands = await standing(store, ref.tenant, turn);
    if (stands.fault !== null) {
      const before = located.at(-1)?.items.to ?? 0;
      const items = { from: before + 1, to: (turns[place + 1]?.items?.from ?? nextItem) - 1 };
      located.push({ ...turn, items, fault: stands.fault });
      continue;
    }
    open = stands.open ?? open;
    const settled = stands.entries.filter(({ item }) => item !== stands.open);
    const [first, last] = [settled[0], settled.at(-1)];
    if (first !== undefined && last !== undefined)
      located.push({
        ...turn,
        toSeq: stands.lastSeq,
        items: { from: first.item, to: last.item },
        fault: null,
      });
  }
  return { turns: located, open };
}

export type Standing =
  | {
      readonly fault: null;
      readonly entries: readonly ItemEntry[];
      readonly imported: boolean;
      /** null where the turn has ended, here or for this lineage. */
      readonly open: number | null;
      readonly lastSeq: number;
    }
  | { readonly fault: NonNullable<LocatedTurn['fault']> };

/** The items of a turn that no closing tells: one that runs, or that was cut off where a fork left it. */
export async function standing(
  store: Pick<Store, 'turnRows'>,
  tenant: string,
  { session, turn, toSeq }: Pick<TranscriptTurn, 'session' | 'turn' | 'toSeq'>,
): Promise<Standing> {
  const records = await store.turnRows({ tenant, session }, turn, toSeq);
  const checked = foldChecked({ session, turn, records });
  if (!checked.ok) return { fault: { seq: checked.seq, problem: checked.problem } };
  const entries = itemEntries(checked.turn);
  const runs = toSeq === null && !records.some(({ kind }) => kind === 'turn-closed');
  return {
    fault: null,
    entries,
    imported: checked.turn.imported,
    open: runs ? (entries.at(-1)?.item ?? null) : null,
    lastSeq: records.at(-1)?.seq ?? 0,
  };
}

/** The records of one turn: one short statement. */
export async function recordsOf(
  store: Pick<Store, 'turnRows'>,
  tenant: string,
  { session, turn, toSeq }: Pick<LocatedTurn, 'session' | 'turn' | 'toSeq'>,
  linked: LinkedDigests,
): Promise<TurnRecords> {
  const records = await store.turnRows({ tenant, session }, turn, toSeq);
  const expected = linked.get(session);
  return { session, turn, records, ...(expected === undefined ? {} : { expected }) };
}

/** Of every part of its lineage a fork names the last record by its digest. */
export async function linkedDigests(
  store: Pick<Store, 'records'>,
  ref: SessionRef,
  turns: readonly Pick<LocatedTurn, 'session'>[],
): Promise<LinkedDigests> {
  const digests = new Map<string, Map<number, string>>();
  if (turns.every(({ session }) => session === ref.session)) return digests;
  for await (const record of store.records(ref, { after: LINK_SEQ - 1, to: LINK_SEQ })) {
    // Where the link itself was altered, the records still have digests of their own.
    if (record.kind !== 'inherited' || record.body === null || recordFault(record, ref.session) !== null)
      continue;
    const { segments }: BodyOf<'inherited'> = parseBody('inherited', JSON.parse(record.body));
    for (const { session, toSeq, digest } of segments) {
      const named = digests.get(session) ?? new Map<number, string>();
      digests.set(session, named.set(toSeq, digest));
    }
  }
  return digests;
}

function holds({ items }: TranscriptTurn, item: number): boolean {
  return items !== null && items.from <= item && item <= items.to;
}

function rangeOf(wanted: readonly number[] | null): ItemRange | null {
  if (wanted === null) return null;
  let [from, to] = [Number.POSITIVE_INFINITY, 0];
  for (const item of wanted) {
    from = Math.min(from, item);
    to = Math.max(to, item);
  }
  return { from, to };
}
