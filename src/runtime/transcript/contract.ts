/** What a search of the transcript is asked, what it reads, and what it answers. */
import type { PoolAddress } from '../../db/pool.ts';
import type { Clock } from '../../ledger/clock.ts';
import type { StoredRecord } from '../../ledger/verify.ts';

/** A record as it is stored; `body` is null where its content was erased. */
export type TranscriptRow = Omit<StoredRecord, 'bytes'>;

/** The records of one turn, in order of their numbers, by the session that recorded them. */
export interface TurnRecords {
  readonly session: string;
  /** Its UUID. */
  readonly turn: string;
  readonly records: readonly TranscriptRow[];
  /** Digests of records, by their numbers, where they are known from elsewhere: of a fork's link, for example. */
  readonly expected?: ReadonlyMap<number, string>;
}

export interface TurnText extends TurnRecords {
  /** Its number in the lineage. */
  readonly number: number;
  /** Its items that may be searched, both ends included: one that still grows, or is not carried, is beyond. */
  readonly items: { readonly from: number; readonly to: number };
}

/** The same turn, whose records the thread that searches reads itself. */
export interface TurnPlace extends Omit<TurnText, 'records'> {
  readonly tenant: string;
  /** Its last record for this lineage; null for all. */
  readonly toSeq: number | null;
  /** Asked for next: its records are fetched meanwhile. */
  readonly ahead: Pick<TurnPlace, 'tenant' | 'session' | 'turn' | 'toSeq'> | null;
}

export interface GrepAsked {
  /** In the syntax of RE2. */
  readonly pattern: string;
  /** null for all of them. */
  readonly items: ReadonlySet<number> | null;
  /** The newest item that may be searched; says how much was left when a search is cut short. */
  readonly newest: number;
  /** Where the thread reads the records of turns that come as places; undefined where all come with their records. */
  readonly address?: PoolAddress | undefined;
}

export interface GrepLimits {
  /** From the call on. */
  readonly deadlineMs: number;
  readonly clock: Pick<Clock, 'after'>;
  readonly signal: AbortSignal;
}

export interface GrepHit {
  readonly item: number;
  /** Number of its turn. */
  readonly turn: number;
  /** Both count from 1: the message within the item, the line within what is searched of the message. */
  readonly message: number;
  readonly line: number;
  /** At most `HIT_BYTES` bytes of the line's beginning. */
  readonly text: string;
}

/** Why the records of a turn cannot be read. `seq` is 0 where no single record is at fault. */
export interface Unreadable {
  /** The oldest item behind it that was asked for. */
  readonly item: number;
  readonly session: string;
  readonly seq: number;
  readonly problem: string;
}

export interface Skipped {
  readonly turns: number;
  readonly first: Unreadable | null;
}

interface Found {
  readonly kind: 'found';
  /** The oldest, at most `MAX_HITS`, in order of item, message and line. */
  readonly hits: readonly GrepHit[];
  /** Of every line that matches in what was searched. */
  readonly total: number;
  /** Turns that could not be read; nothing of them is in `total`. */
  readonly skipped: Skipped;
}

/** `searchedTo.item` is the last item that was searched, 0 for none. */
export type GrepAnswer =
  | (Found & { readonly complete: true })
  | (Found & {
      readonly complete: false;
      readonly searchedTo: { readonly item: number; readonly of: number };
    })
  | { readonly kind: 'bad_pattern'; readonly message: string }
  /** Only of a search that names items. */
  | { readonly kind: 'unreadable'; readonly unreadable: Unreadable };
