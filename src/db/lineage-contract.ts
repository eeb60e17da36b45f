/** What is read of a head's lineage: turns as they were recorded, wherever that was. */
import type { SegmentRow } from './commit-contract.ts';
import type { RawRecord, SessionHead } from './contract.ts';

export interface ClosingRow {
  /** That recorded it. */
  readonly session: string;
  readonly number: number;
  readonly turn: string;
  /** Of the `turn-closed` record; null when it was erased. */
  readonly body: string | null;
}

export interface HistoryTurn {
  /** That recorded it. */
  readonly session: string;
  readonly number: number;
  readonly turn: string;
  readonly records: readonly RawRecord[];
}

/** A turn, where it was recorded first. */
export interface LineageTurn {
  readonly session: string;
  readonly turn: string;
  readonly number: number;
}

/** What a fork of a head would go on from, at one moment of the session. */
export interface ForkSource {
  readonly session: SessionHead;
  readonly config: string;
  readonly head: string;
  /** What the head itself goes on from, oldest first. */
  readonly segments: readonly SegmentRow[];
  /** The record of its newest clear; 0 for none. */
  readonly clearedSeq: number;
  /** The first turn of its own that is still carried. */
  readonly firstTurn: number;
  /** Numbers of its own turns that began since; the last may be open. null for none. */
  readonly turns: { readonly from: number; readonly to: number } | null;
  /** Of their items. */
  readonly items: { readonly from: number; readonly to: number } | null;
}

/** A turn that began, as the transcript finds it. */
export interface TranscriptTurn extends LineageTurn {
  /** Numbers of its first and last item; null while it was not closed: its records tell. */
  readonly items: { readonly from: number; readonly to: number } | null;
  /** Where its records end for this lineage: one that was open at a fork goes on elsewhere. null for no such end. */
  readonly toSeq: number | null;
}

/** A closed turn of some session of the tenant, unless it was cleared away. */
export interface TenantTurn {
  readonly session: string;
  readonly turn: string;
  readonly number: number;
  /** Base64. */
  readonly terms: string;
  /** The record that closed it. */
  readonly closedSeq: number;
  readonly closedAt: string;
}
