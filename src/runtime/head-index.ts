/**
 * What this process knows of the closed turns of a session's head, kept in memory: enough to plan the next request
 * without reading them again. Only a memory: what it lacks a claim brings, and what changed under it (an epoch, another
 * head, a gap) is read anew. Bounded by bytes; the least recently used session goes first.
 */
import type { IndexedTurn } from '../context/plan/contract.ts';
import { TurnIndex } from '../context/relevance/turn-index.ts';
import {
  type EvictionRow,
  type IndexedTo,
  type IndexedTurnRow,
  type SessionRef,
  type Store,
  type StoredPacketRow,
  TO_PLAN_TURNS,
  type ToPlan,
} from '../db/contract.ts';
import type { ClosedTurn } from './close.ts';

const DEFAULT_LIMIT_BYTES = 128 * 1024 * 1024;
/** Turns read at a time where a claim's first ones are not all. */
const PAGE_TURNS = 2_048;
const NOTHING: IndexedTo = { turn: 0, recordSeq: 0 };

export interface HeadIndex {
  readonly turns: TurnIndex;
  /** In the order in which they were stored. */
  readonly packets: readonly StoredPacketRow[];
  /** In the order in which they were made; those of the sessions it was forked from first, as record 0. */
  readonly evictions: readonly EvictionRow[];
  /** The record of the newest reset. */
  readonly reset: number | null;
}

export interface HeadPlace {
  readonly head: string;
  readonly epoch: number;
  /** The number of the turn that is open. */
  readonly before: number;
}

interface Entry {
  readonly head: string;
  readonly epoch: number;
  readonly turns: TurnIndex;
  readonly packets: StoredPacketRow[];
  readonly evictions: EvictionRow[];
  reset: number | null;
  bytes: number;
}

export class HeadIndexes {
  readonly #store: Pick<Store, 'toPlan' | 'indexedTurns'>;
  readonly #limitBytes: number;
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  constructor(store: Pick<Store, 'toPlan' | 'indexedTurns'>, limitBytes = DEFAULT_LIMIT_BYTES) {
    this.#store = store;
    this.#limitBytes = limitBytes;
  }

  /** How far the session is known here, whatever its head: a claim brings what follows. */
  knownTo(session: string): IndexedTo {
    const entry = this.#entries.get(session);
    return entry === undefined ? NOTHING : indexedTo(entry);
  }

  /** The same from memory alone; null where it is not all here. */
  known(session: string, { head, epoch, before }: HeadPlace): HeadIndex | null {
    const entry = this.#entries.get(session);
    if (entry === undefined || entry.head !== head || entry.epoch !== epoch) return null;
    return indexedTo(entry).turn >= before - 1 ? entry : null;
  }

  /** Every closed turn of the head before turn `before`. `brought` is what a claim read past `knownTo`. */
  async get(ref: SessionRef, { head, epoch, before }: HeadPlace, brought: ToPlan | null): Promise<HeadIndex> {
    const entry = this.#entryFor(ref.session, head, epoch);
    const known = indexedTo(entry);
    const fits = brought?.after.turn === known.turn && brought.after.recordSeq === known.recordSeq;
    const { turns, packets, evictions, reset } = fits ? brought : await this.#store.toPlan(ref, head, known);
    entry.reset = reset;
    add(entry, packets, evictions);
    append(entry, turns, before);
    for (let read = turns.length, limit = TO_PLAN_TURNS; read === limit; limit = PAGE_TURNS) {
      const after = indexedTo(entry).turn;
      const more = await this.#store.indexedTurns(ref, head, after, PAGE_TURNS);
      append(entry, more, before);
      if (indexedTo(entry).turn === after) break;
      read = more.length;
    }
    this.#weigh(ref.session, entry);
    return entry;
  }

  /** A turn that this process just closed; where the one before it is not known, a later reading brings both. */
  closed(session: string, { head, indexed, evictions }: ClosedTurn): void {
    const entry = this.#entries.get(session);
    if (entry === undefined || entry.head !== head) return;
    if (indexedTo(entry).turn !== indexed.number - 1) return;
    entry.turns.append(indexed);
    add(entry, [], evictions);
    this.#weigh(session, entry);
  }

  #entryFor(session: string, head: string, epoch: number): Entry {
    const found = this.#entries.get(session);
    if (found !== undefined && found.head === head && found.epoch === epoch) return found;
    return { head, epoch, turns: new TurnIndex(), packets: [], evictions: [], reset: null, bytes: 0 };
  }

  #weigh(session: string, entry: Entry): void {
    const before = this.#entries.get(session);
    this.#bytes -= before?.bytes ?? 0;
    this.#entries.delete(session);
    entry.bytes = entry.turns.approximateBytes;
    this.#entries.set(session, entry);
    this.#bytes += entry.bytes;
    for (const [oldest, { bytes }] of this.#entries) {
      if (this.#bytes <= this.#limitBytes || oldest === session) return;
      this.#entries.delete(oldest);
      this.#bytes -= bytes;
    }
  }
}

function indexedTo({ turns, packets, evictions }: HeadIndex): IndexedTo {
  const recordSeq = Math.max(packets.at(-1)?.seq ?? 0, evictions.at(-1)?.seq ?? 0);
  return { turn: turns.count === 0 ? 0 : turns.last, recordSeq };
}

/** A turn that was cancelled while it waited closes before the one it waited for: it is indexed when its place comes. */
function append(entry: Entry, rows: readonly IndexedTurnRow[], before: number): void {
  let { turn } = indexedTo(entry);
  for (const row of rows) {
    if (row.number <= turn || row.number >= before) continue;
    entry.turns.append(indexedTurn(row));
    turn = row.number;
  }
}

function add(entry: Entry, packets: readonly StoredPacketRow[], evictions: readonly EvictionRow[]): void {
  const { recordSeq } = indexedTo(entry);
  const isKnown = entry.evictions.length > 0;
  entry.evictions.push(...evictions.filter(({ seq }) => seq > recordSeq || (seq === 0 && !isKnown)));
  entry.packets.push(...packets.filter(({ seq }) => seq > recordSeq));
}

function indexedTurn({ terms, ...row }: IndexedTurnRow): IndexedTurn {
  const bytes = Buffer.from(terms, 'base64');
  return { ...row, terms: new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength) };
}
