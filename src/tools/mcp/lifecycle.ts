/**
 * Whether one server runs, as this process has it. States and what leads from one to another:
 *
 *   stopped   demand → starting
 *   starting  it came up → ready; it did not → resting; every demand waits for the same start
 *   ready     unused for `idleMs` → stopping; connection lost → stopped, or resting if it never answered
 *   resting   demand before its time → refused with the reason; after it → starting
 *   stopping  its process has ended → stopped; a demand waits for that
 *   closed    final, from every state by `close()`; a demand is refused
 *
 * So a server runs at most once a process, and nothing runs before the first demand. A command that does
 * not come up is tried again on demand only, each time after twice the rest, until an answer ends the count.
 */
import type { Clock } from '../../ledger/clock.ts';
import { abortable, deadlineIn } from './abortable.ts';
import type { Connection, ConnectionEvents } from './connection.ts';
import { McpFailure } from './failure.ts';

/** Long enough that a broken command costs nothing, short enough for a server that is being mended. */
const FIRST_REST_MS = 1_000;
const LONGEST_REST_MS = 60_000;

type State =
  | { readonly kind: 'stopped' }
  | { readonly kind: 'starting'; readonly started: Promise<void>; readonly abort: AbortController }
  | { readonly kind: 'ready'; readonly connection: Connection; readonly answered: boolean }
  | { readonly kind: 'resting'; readonly untilMs: number; readonly reason: string }
  | { readonly kind: 'stopping'; readonly done: Promise<void> }
  | { readonly kind: 'closed' };

export interface LifecycleOptions {
  readonly idleMs: number;
  /** Of a start. */
  readonly timeoutMs: number;
  readonly clock: Pick<Clock, 'monotonicMs' | 'after'>;
  /** @throws McpFailure when it does not come up, or the signal's reason. */
  readonly connect: (events: Pick<ConnectionEvents, 'onClosed'>, signal: AbortSignal) => Promise<Connection>;
}

export class Lifecycle {
  readonly #options: LifecycleOptions;
  #state: State = { kind: 'stopped' };
  #users = 0;
  #failedStarts = 0;
  #cancelIdle: () => void = () => {};
  #closing: Promise<void> | null = null;

  constructor(options: LifecycleOptions) {
    this.#options = options;
  }

  /** Gives `work` the running server, started if need be, and keeps it running meanwhile. @throws McpFailure */
  async use<Result>(signal: AbortSignal, work: (connection: Connection) => Promise<Result>): Promise<Result> {
    this.#users += 1;
    this.#cancelIdle();
    try {
      return await work(await this.#connection(signal));
    } finally {
      this.#users -= 1;
      this.#idleIfUnused();
    }
  }

  /** A server that answers is not one that fails to come up. */
  answered(connection: Connection): void {
    this.#failedStarts = 0;
    if (this.#has(connection)) this.#state = { kind: 'ready', connection, answered: true };
  }

  /** Whatever runs on it ends; resolves when its process has ended. */
  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #connection(signal: AbortSignal): Promise<Connection> {
    for (;;) {
      const state = this.#state;
      switch (state.kind) {
        case 'ready':
          return state.connection;
        case 'closed':
          throw new McpFailure('it is not started any more, as this process stops');
        case 'resting':
          this.#refuseWhileResting(state);
          this.#start();
          break;
        case 'stopped':
          this.#start();
          break;
        case 'starting':
          await abortable(state.started, signal);
          break;
        case 'stopping':
          await abortable(state.done, signal);
          break;
      }
    }
  }

  #refuseWhileResting({ untilMs, reason }: Extract<State, { kind: 'resting' }>): void {
    const leftMs = untilMs - this.#options.clock.monotonicMs();
    if (leftMs <= 0) return;
    throw new McpFailure(`${reason}; it can be tried again in ${Math.ceil(leftMs / 1_000)} s`);
  }

  #start(): void {
    const abort = new AbortController();
    const started = this.#open(abort);
    // Those who wait for it hear of its failure; with nobody waiting it must not end the process.
    started.catch(() => {});
    this.#state = { kind: 'starting', started, abort };
  }

  async #open(abort: AbortController): Promise<void> {
    const { connect, clock, timeoutMs } = this.#options;
    const deadline = deadlineIn(timeoutMs, clock);
    const signal = AbortSignal.any([abort.signal, deadline.signal]);
    try {
      let opened: Connection | null = null;
      const onClosed = (): void => this.#lost(opened);
      opened = await connect({ onClosed }, signal);
      if (abort.signal.aborted) await opened.close();
      else this.#opened(opened);
    } catch (error) {
      if (abort.signal.aborted) return;
      const late = `it did not come up within ${timeoutMs} ms`;
      const reason = error instanceof McpFailure ? error.message : deadline.signal.aborted ? late : null;
      this.#rest(reason ?? 'it could not be started');
      throw new McpFailure(reason ?? 'it could not be started');
    } finally {
      deadline.cancel();
    }
  }

  #opened(connection: Connection): void {
    if (!connection.isOpen) throw new McpFailure('it ended as soon as it had come up');
    this.#state = { kind: 'ready', connection, answered: false };
    this.#idleIfUnused();
  }

  #lost(connection: Connection | null): void {
    const state = this.#state;
    if (state.kind !== 'ready' || connection === null || !this.#has(connection)) return;
    this.#cancelIdle();
    if (state.answered) this.#state = { kind: 'stopped' };
    else this.#rest('it ended before it had answered anything');
  }

  #rest(reason: string): void {
    const restMs = Math.min(FIRST_REST_MS * 2 ** this.#failedStarts, LONGEST_REST_MS);
    this.#failedStarts += 1;
    this.#state = { kind: 'resting', untilMs: this.#options.clock.monotonicMs() + restMs, reason };
  }

  #idleIfUnused(): void {
    this.#cancelIdle();
    if (this.#users > 0 || this.#state.kind !== 'ready') return;
    this.#cancelIdle = this.#options.clock.after(this.#options.idleMs, () => this.#stop());
  }

  #stop(): void {
    if (this.#state.kind !== 'ready') return;
    const { connection } = this.#state;
    const done = connection.close().finally(() => {
      if (this.#state.kind === 'stopping') this.#state = { kind: 'stopped' };
    });
    this.#state = { kind: 'stopping', done };
  }

  #has(connection: Connection): boolean {
    return this.#state.kind === 'ready' && this.#state.connection === connection;
  }

  async #end(): Promise<void> {
    const last = this.#state;
    this.#state = { kind: 'closed' };
    this.#cancelIdle();
    if (last.kind === 'ready') await last.connection.close();
    if (last.kind === 'stopping') await last.done;
    if (last.kind === 'starting') {
      last.abort.abort(new McpFailure('it is not started any more, as this process stops'));
      await last.started.catch(() => {});
    }
  }
}
