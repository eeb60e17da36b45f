/**
 * What was received, in order of arrival. A line is written as a call arrives and another as it ends, with
 * a synchronous write, so a reader sees the calls of a client, or of a simulator, that was killed.
 */
import { closeSync, openSync, writeSync } from 'node:fs';
import type { SimCall, SimOutcome } from './contract.ts';

export type CallStart = Omit<SimCall, 'n' | 'state' | 'outcome' | 'status' | 'outputTokens'>;

export interface CallEnd {
  readonly outcome: SimOutcome;
  readonly status: number | null;
  readonly outputTokens: number;
  readonly cachedTokens: number;
}

export class CallLog {
  readonly #calls: SimCall[] = [];
  #file: number | null;

  /** @param path appended to; null keeps the log in memory only. */
  constructor(path: string | null) {
    this.#file = path === null ? null : openSync(path, 'a');
  }

  open(start: CallStart): number {
    const n = this.#calls.length + 1;
    this.#put({ n, ...start, outputTokens: 0, state: 'open', outcome: null, status: null });
    return n;
  }

  /** Only the first end of a call counts. */
  end(n: number, end: CallEnd): void {
    const call = this.#calls[n - 1];
    if (call === undefined || call.state === 'ended') return;
    this.#put({ ...call, ...end, state: 'ended' });
  }

  calls(): readonly SimCall[] {
    return [...this.#calls];
  }

  close(): void {
    if (this.#file !== null) closeSync(this.#file);
    this.#file = null;
  }

  #put(call: SimCall): void {
    this.#calls[call.n - 1] = call;
    if (this.#file !== null) writeSync(this.#file, `${JSON.stringify(call)}\n`);
  }
}
