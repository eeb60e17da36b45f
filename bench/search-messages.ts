/** What a process that searches a transcript and the bench say to each other. */
import type { SessionRef } from '../src/db/contract.ts';

export interface SearchSettings {
  readonly databaseUrl: string;
}

/** `read`: the same records by the same statements, and nothing done with them. */
export interface SearchAsk {
  readonly type: 'search' | 'read';
  readonly ref: SessionRef;
  readonly head: string;
  readonly nextItem: number;
  readonly pattern: string;
}

export interface Searched {
  readonly ms: number;
  /** Lines that match; records, where they were only read. */
  readonly total: number;
  readonly hits: number;
  readonly complete: boolean;
  /** Resident memory of the whole process, its threads included: the most meanwhile. */
  readonly mostBytes: number;
}

export type FromSearch =
  | { readonly type: 'ready' }
  | { readonly type: 'searched'; readonly searched: Searched }
  | { readonly type: 'failed'; readonly message: string };
