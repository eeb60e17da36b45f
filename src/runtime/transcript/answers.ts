/** What the transcript is asked by tools and people, and what it answers. */
import type { EvictionRow } from '../../db/contract.ts';
import type { ErrorCode } from '../../ledger/errors.ts';
import type { GrepAnswer, Unreadable } from './contract.ts';
import type { TranscriptItem } from './parts.ts';
import { unreadableItem } from './refusals.ts';

/** An item as the index tells it. */
export interface IndexedItem {
  readonly item: number;
  readonly role: 'user' | 'assistant';
  readonly kind: 'own' | 'import' | 'inherited';
  /** First line of its first text, clipped; empty where it has none. */
  readonly label: string;
  /** As it weighs, or weighed, in a request. */
  readonly bytes: number;
  readonly held: 'resident' | 'evicted';
  /** Number of its turn. */
  readonly turn: number;
  /** That recorded it. */
  readonly session: string;
}

/** A turn of which the index knows no items: the record that tells them is not the one that was written. */
export interface UnlistedTurn {
  readonly turn: number;
  readonly session: string;
  /** 0 where no single record is at fault. */
  readonly seq: number;
  readonly problem: string;
}

export interface IndexPage {
  /** Items after this one. */
  readonly after: number;
  readonly limit: number;
}

export interface TranscriptIndex {
  readonly items: readonly IndexedItem[];
  /** Spans that left the requests and end in this page, in the order they were made; swallowed ones with their notes. */
  readonly evictions: readonly Omit<EvictionRow, 'seq'>[];
  readonly unlisted: readonly UnlistedTurn[];
  /** The item that is still being recorded, on whichever page it is; null at rest. */
  readonly open: number | null;
  /** The `after` of the next page; null on the last. */
  readonly next: number | null;
}

type RefusalCode = Extract<
  ErrorCode,
  'invalid_request' | 'item_not_found' | 'item_open' | 'bad_pattern' | 'record_unreadable'
>;

export interface Refused {
  readonly kind: 'refused';
  readonly code: RefusalCode;
  /** Says what was found and what may be asked instead. */
  readonly message: string;
  /** Of `record_unreadable`: which record of which session it is. */
  readonly unreadable?: Unreadable;
}

export type ReadAnswer = { readonly kind: 'read'; readonly items: readonly TranscriptItem[] } | Refused;

export type Found = Extract<GrepAnswer, { readonly kind: 'found' }>;
export type SearchAnswer = Found | Refused;

export function refused(code: Exclude<RefusalCode, 'record_unreadable'>, message: string): Refused {
  return { kind: 'refused', code, message };
}

export function refusedUnreadable(unreadable: Unreadable): Refused {
  return { kind: 'refused', code: 'record_unreadable', message: unreadableItem(unreadable), unreadable };
}
