/** What a deep checkpoint is read from and put into. */
import type { CheckpointEvent, CheckpointRecord } from '../ledger/checkpoint.ts';
import type { SessionRef } from './contract.ts';

/** A session as far as a checkpoint holds it. */
export interface CheckpointPart {
  readonly session: string;
  /** Its records from the first one; `digest` is that of the last. */
  readonly records: number;
  readonly digest: string;
}

export interface CheckpointOutline {
  /** A turn that is accepted or runs; null at rest. */
  readonly openTurn: string | null;
  /** Itself last. `records` is null where a session that it goes on from has no such record. */
  readonly parts: readonly (CheckpointPart | { readonly session: string; readonly records: null })[];
}

/** What stands of a session: listed where it can be used; records alone are what a broken import left. */
export interface Standing {
  readonly listed: boolean;
  readonly records: number | null;
}

/** Lines on their way into a tenant. What stands already stays as it is. */
export interface CheckpointInserts {
  standing(session: string): Promise<Standing>;
  /** null where there is no such record. */
  digestAt(session: string, seq: number): Promise<string | null>;
  records(session: string, records: readonly CheckpointRecord[]): Promise<void>;
  events(session: string, events: readonly CheckpointEvent[]): Promise<void>;
}

export interface CheckpointStore {
  /** null where there is no such session. */
  outline(ref: SessionRef): Promise<CheckpointOutline | null>;
  /** The first `records` of them, in order, a page at a time. */
  records(ref: SessionRef, records: number): AsyncIterable<Omit<CheckpointRecord, 'type' | 'session'>>;
  /** Those of turns that the first `records` closed. */
  events(ref: SessionRef, records: number): AsyncIterable<Omit<CheckpointEvent, 'type'>>;
  /** All that `work` puts in, or nothing. */
  taking<T>(tenant: string, work: (inserts: CheckpointInserts) => Promise<T>): Promise<T>;
}
