/** What a worker process and the bench say to each other. Times are `process.hrtime.bigint()`, one clock for all processes. */
import type { Leg } from '../src/providers/contract.ts';
import type { BenchSettings } from './settings.ts';

export interface WorkerSettings extends BenchSettings {
  /** Served by real providers, beside the instant models. */
  readonly legs: readonly Leg[];
}

export interface WorkerUsage {
  /** Of the whole process, since it began. */
  readonly cpuMs: number;
  /** Both right after a full collection, where one was asked for. */
  readonly residentBytes: number;
  readonly heapBytes: number;
}

export type FromWorker =
  | { readonly type: 'ready' }
  | { readonly type: 'closed'; readonly turn: string; readonly outcome: string }
  | { readonly type: 'usage'; readonly usage: WorkerUsage }
  /** A model call streams its first text, or the holding tool runs. */
  | { readonly type: 'running' }
  /** Its signal fired. */
  | { readonly type: 'aborted'; readonly atNs: bigint }
  /** It returned. */
  | { readonly type: 'returned'; readonly atNs: bigint };

export type ToWorker = { readonly type: 'usage'; readonly collect: boolean } | { readonly type: 'stop' };
